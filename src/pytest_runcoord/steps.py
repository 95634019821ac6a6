"""What a project needs to write words of its own: steps, expectations, ``given`` entries.

Register them in the hook ``pytest_runcoord_words``. The function of a step or an expectation is called with
a :class:`StepWorld` and the clause as it stands in the file; that of a ``given`` entry with the plan of the
world (``settings``, ``environment`` and ``choices`` may be read and changed) before there is one.

``clause.args`` has every declared argument, with its default where the file says nothing; ``clause.stated``
names those that the file states; ``clause.options`` has ``by``, ``with``, ``as`` and the like, if the word
lists them in ``options=``; ``clause.line`` is where it stands.

A step that asks the subject for something calls :meth:`StepWorld.ask`. An expectation that does not hold
raises :class:`Unmet`; a step that makes no sense here raises :class:`ScenarioMistake`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_runcoord.deadlines import seconds_left
from pytest_runcoord.history import Entry
from pytest_runcoord.incarnation import Life
from pytest_runcoord.scenario import Clause, Step
from pytest_runcoord.subject import Snapshot
from pytest_runcoord.verbs.asking import ask, ask_with
from pytest_runcoord.verbs.comparing import Unmet, compare
from pytest_runcoord.vocabulary import (
    Argument,
    Choice,
    Count,
    Duration,
    Either,
    Flag,
    Json,
    ListOf,
    Name,
    Record,
    Registry,
    Text,
)
from pytest_runcoord.world_errors import ScenarioMistake
from runcoord.ports import Deadline, Instant

if TYPE_CHECKING:
    from pytest_runcoord.world import World

__all__ = [
    "Argument",
    "Choice",
    "Clause",
    "Count",
    "Duration",
    "Either",
    "Entry",
    "Flag",
    "Json",
    "ListOf",
    "Name",
    "Record",
    "Registry",
    "ScenarioMistake",
    "StepWorld",
    "Text",
    "Unmet",
    "compare",
]


class StepWorld:
    """The world of one scenario, as a word of a project sees it."""

    def __init__(self, world: World) -> None:
        self._world = world

    # --- what is there ---

    @property
    def directory(self) -> Path:
        """The directory of this scenario, in which the subject keeps its store."""
        return self._world.directory

    @property
    def shared(self) -> dict[str, Any]:
        """What is kept between the incarnations of one scenario; a word may keep something in it too."""
        return self._world.shared

    @property
    def answers(self) -> Mapping[str, dict[str, Any]]:
        """The last answer of every verb that expectations look at, by its name."""
        return self._world.answers

    def snapshot(self) -> Snapshot:
        """What is durable now: ``runs`` and ``events`` by id."""
        return self._world.snapshot()

    def history(self) -> list[Entry]:
        """What has happened, in the order in which it ended."""
        return list(self._world.history.completed)

    def owners(self) -> list[str]:
        """The owners that run now."""
        return [each.owner for each in self._world.owners.values() if each.life is Life.ALIVE]

    # --- time ---

    def now(self) -> Instant:
        """The moment on all three clocks."""
        return self._world.instant()

    def seconds_left(self, deadline: Deadline) -> float:
        """Seconds until a deadline, by whatever clock it counts on; negative where it is over."""
        return seconds_left(deadline, self._world.instant())

    def pass_time(self, seconds: float) -> None:
        """Let time pass on all three clocks; timers of the owners fire as they fall due."""
        self._world.time.pass_time(seconds)

    # --- doing ---

    def ask(
        self, step: Step, verb: str, args: dict[str, Any] | None = None, *, acquires: str = ""
    ) -> dict[str, Any]:
        """Ask the subject for a verb: a method of its session, called with ``args`` by name.

        Who is asked is the step's ``by``, else the only owner that runs. The call is in the history, and a
        refusal is what the step's ``refused`` is compared with. With ``acquires`` (``lease``, ``delivery``)
        what it gives is kept under the step's ``as``. Gives the values of the answer.
        """
        return ask(self._world, step, verb, args, acquires=acquires)

    def ask_with(
        self, step: Step, verb: str, kind: str, args: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """The same with a handle of ``kind``: the step's ``with``, else the owner's newest on the step's run.
        The session's method is given it first."""
        return ask_with(self._world, step, verb, kind, args)

    def open(self, owner: str) -> None:
        """Start an incarnation of an owner, as the step ``open`` does."""
        self._world.open(owner)

    def crash(self, owner: str) -> None:
        """Let an owner die now, as the step ``crash`` does."""
        self._world.crash(owner)

    def run(self, step: Step) -> None:
        """Carry out a step that is an argument of this one."""
        self._world.run_step(step)

    def note(self, who: str, what: str, **data: Any) -> None:
        """Put something into the history, for reports and invariants."""
        self._world.history.add("world", who, what, **data)

    def wrote(self) -> None:
        """Say that something durable was changed past the subject, so that it is looked at again."""
        self._world.changed = True
