"""What the coordinator's verbs answer: named values, never a tuple by position."""

from __future__ import annotations

from runcoord._core.model import Delivery, Event, Lease, Outcome, Run, State
from runcoord._core.values import value
from runcoord.ports import BadRow


@value
class Receipt:
    """The answer to a submission or a retry. ``replayed``: this was the first answer, given again."""

    run_id: str
    state: State
    outcome: Outcome | None
    replayed: bool


@value
class StopReceipt:
    """The answer to a stop. ``outcome`` is the run's final one if it has it (also when it had ended
    before); ``None`` while the work has yet to notice the stop."""

    run_id: str
    state: State
    outcome: Outcome | None


@value
class Renewal:
    """A renewed lease, and whether the run is to stop."""

    lease: Lease
    stop_requested: bool


@value
class Completion:
    """What was recorded. ``late``: the lease had run out, but nobody else had acquired the run.

    ``delivery`` is the first attempt to deliver the terminal event, which already belongs to this owner;
    ``None`` when its destination is not served here.
    """

    run: Run
    late: bool
    delivery: Delivery | None


@value
class RunList:
    """Runs, and the rows between them that could not be read."""

    runs: list[Run]
    bad: list[BadRow]


@value
class EventList:
    """Events, and the rows between them that could not be read."""

    events: list[Event]
    bad: list[BadRow]
