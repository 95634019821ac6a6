"""What the store knows of one run, written as a scenario: a reproduction begins with it.

A store keeps where a run is and how it came to its end, not every step on the way. What is known becomes a
step or an expectation; what is not stands as a comment where the reader has to decide. Inputs, texts and
results may hold secrets and are left out: a reproduction is passed on.
"""

from __future__ import annotations

import json

from runcoord import EventState, State
from runcoord._core.limits import MAX_LEASE_SECONDS
from runcoord._core.records import RecordedProcess, Role
from runcoord._core.values import value
from runcoord._version import __version__
from runcoord.cli.portrait import Portrait
from runcoord.cli.wording import one_line
from runcoord.ports import Event, EventKind

RUN = "r1"
"""The run's name in the scenario: real ids may hold what a name there cannot."""
DESTINATION = "chat"
MOST_ACQUISITIONS = 8
"""Owners that are written down; a run that changed hands more often is told by its last ones."""
MOST_PROCESSES = 8
"""Processes that are written down, beside a comment that counts the rest."""
MOST_NOTES = 5
"""Events of its owner that are written down."""
OF_SPEC = ("payload", "task", "agent", "conversation_key")
OF_RUN = ("result", "error", "progress", "stop_reason")
"""What may hold secrets, and does not matter for how a run goes; so may what a destination answered."""
MOST_WORDS = 80
"""Characters of a real text that a comment quotes."""


def scenario_text(seen: Portrait) -> str:
    """A scenario that runs as it is on the coordinator and ends as the store says it did.

    Passes where the store tells the whole story; where it does not, the comments say what was guessed.
    """
    story = _Story(seen)
    return "\n".join([*story.head(), *story.given(), *story.steps(), *story.expectations()]) + "\n"


@value
class _Place:
    """Where an event goes, as the scenario sets it up."""

    behaviour: str
    why: str


class _Story:
    def __init__(self, seen: Portrait) -> None:
        self._seen, self._run = seen, seen.run
        run = self._run
        self._began = run.started_at is not None
        # It began, nobody reported an outcome, and still there is one: a sweep ended it.
        self._recovered = run.outcome is not None and run.reported is None and self._began
        taken = run.epoch - self._recovered
        self._left_out = max(0, taken - MOST_ACQUISITIONS)
        self._owners = [f"gw{number}" for number in range(1, min(taken, MOST_ACQUISITIONS) + 1)]
        self._last = self._owners[-1] if self._owners else "gw1"
        self._processes = [each for each in seen.records.processes if each.role is not Role.SHIM]

    def head(self) -> list[str]:
        run = self._run
        left = [name for name in OF_SPEC if getattr(run.spec, name) not in ("", "null")]
        left += [name for name in OF_RUN if getattr(run, name)]
        left += ["reason of its event"] if (event := self._terminal()) is not None and event.reason else []
        lines = [
            f"# Written by 'runcoord show --as-scenario' ({__version__}) from what the store knows of a run.",
            "# That is where the run is, not every step on the way: what is 'guessed' here is for you to",
            "# correct. Then say in 'expect' what should have been, and it is a reproduction.",
            f"# The run: {_quoted(run.run_id)}"
            + (f", which retries {_quoted(run.retry_of)}" if run.retry_of else ""),
        ]
        if left:
            lines.append(f"# Left out, because it may be secret: {', '.join(left)}")
        state = run.outcome.value if run.outcome is not None else run.state.value
        return [
            *lines,
            "runcoord: 1",
            "scenario: reproduction",
            f"says: A run that the store has as {state}, with epoch {run.epoch}.",
        ]

    # --- what is around it ---

    def given(self) -> list[str]:
        if not self._run.spec.destination:
            return []
        place = self._place()
        why = f"  # {place.why}" if place.why else ""
        named = f"# The destination: {_quoted(self._run.spec.destination)}"
        return ["given:", f"  {named}", f"  destinations: {{{DESTINATION}: {place.behaviour}}}{why}"]

    def _place(self) -> _Place:
        event = self._terminal()
        if event is None or event.state in (EventState.DELIVERED, EventState.SENDING):
            return _Place("accepts", "")
        if event.state is EventState.HELD:
            return _Place("refuses", "guessed: why the event is held, the store says in words")
        if event.attempt:
            return _Place("down", "guessed: why an attempt failed, the store says in words")
        # A sweep delivers what it ends, unless its process serves no destinations.
        return (
            _Place("down", "guessed: nobody who serves it came by")
            if self._recovered
            else _Place("accepts", "")
        )

    def _terminal(self) -> Event | None:
        return next((each for each in self._seen.events if each.kind is EventKind.FINISHED), None)

    # --- what happened ---

    def steps(self) -> list[str]:
        run = self._run
        lines = ["steps:", "  - open: gw1", f"  - submit: {_flow(run=RUN, by='gw1', **self._submitted())}"]
        if run.retry_of:
            lines.append("  # It was made by a retry of another run; here it is submitted afresh.")
        stopped = run.stop_requested_at
        if stopped is not None and (run.started_at is None or stopped < run.started_at):
            lines += [*self._acquired(), *self._stop()]
        else:
            lines += [*self._acquired(), *self._work(), *(self._stop() if stopped is not None else ())]
        return [*lines, *self._ending()]

    def _submitted(self) -> dict[str, object]:
        spec = self._run.spec
        found: dict[str, object] = {"destination": DESTINATION} if spec.destination else {}
        if spec.interruption_budget and not self._run.retried_as:
            found["interruption_budget"] = spec.interruption_budget
        return found

    def _acquired(self) -> list[str]:
        """Every acquisition; of all but the last the store does not say whose it was, nor how it ended."""
        run, lines = self._run, []
        if self._left_out:
            lines.append(
                f"  # It was acquired {self._left_out} times more; the epochs below are lower by that."
            )
        for owner in self._owners:
            if owner != "gw1":
                lines.append(f"  - open: {owner}")
            lines.append(f"  - claim: {_flow(run=RUN, by=owner, lease=_seconds(self._lease()))}")
            if owner != self._last:
                lines.append("  # Guessed: the store does not say how this owner lost the run.")
                lines += [f"  - crash: {owner}", f"  - advance: {_seconds(self._lease() + 1)}"]
        if run.state is State.ACCEPTED and self._owners:
            lines.append(f"  - release: {_flow(run=RUN, by=self._last)}")
        return lines

    def _lease(self) -> float:
        """Long enough that it does not run out in the scenario, which has no heartbeat."""
        run = self._run
        began, ended = run.started_at, run.finished_at
        took = ended - began if began is not None and ended is not None and not run.late else 0.0
        return min(max(run.lease_seconds or 90.0, took + 60.0), float(MAX_LEASE_SECONDS))

    def _work(self) -> list[str]:
        run = self._run
        if not self._began:
            return []
        lines = [f"  - start: {_flow(run=RUN, by=self._last)}"]
        for number, process in enumerate(self._processes[:MOST_PROCESSES], 1):
            lines.append(
                f"  - spawn: {_flow(run=RUN, by=self._last, process=f'p{number}')}{_known_of(process)}"
            )
        if len(self._processes) > MOST_PROCESSES:
            lines.append(f"  # and {len(self._processes) - MOST_PROCESSES} more processes")
        if run.progress:
            lines.append(f"  - progress: {_flow(run=RUN, by=self._last)}")
        lines += [f"  - publish: {_flow(run=RUN, by=self._last)}"] * min(run.notes, MOST_NOTES)
        if run.finished_at is not None and run.started_at is not None and not run.late:
            took = min(run.finished_at - run.started_at, self._lease() - 1)
            if took >= 1:
                lines.append(f"  - advance: {_seconds(took)}")
        return lines

    def _stop(self) -> list[str]:
        return [f"  - stop: {_flow(run=RUN, by=self._last)}"]

    def _ending(self) -> list[str]:
        run, lines = self._run, []
        ender = self._last
        if run.state is not State.FINISHED:
            return ["  # It has not ended. What happens next is yours to write: crash, open, recover."]
        if run.late:
            lines.append(f"  - advance: {_seconds(self._lease() + 1)}")
        if run.reported is not None:
            lines.append(f"  - complete: {_flow(run=RUN, by=self._last, outcome=run.reported.value)}")
        elif self._began:
            ender = f"gw{len(self._owners) + 1}"
            lines += [f"  - crash: {self._last}", f"  - open: {ender}"]
            lines.append(
                "  # Guessed: its lease ran out. It may also be that its owner was proved to be gone."
            )
            lines += [f"  - advance: {_seconds(self._lease() + 1)}", f"  - recover: {_flow(by=ender)}"]
        event = self._terminal()
        if event is not None and event.state is EventState.SENDING:
            lines.append(f"  - dispatch: {_flow(run=RUN, by=ender)}  # nobody said what came of this attempt")
        elif event is not None and event.attempt:
            lines.append(f"  - deliver: {_flow(by=ender)}")
        if run.retried_as:
            lines.append(f"  # It was retried as {_quoted(run.retried_as)}.")
        return lines

    # --- how it ended ---

    def expectations(self) -> list[str]:
        run = self._run
        wanted: dict[str, object] = {"id": RUN, "state": run.state.value}
        if run.outcome is not None:
            wanted["outcome"] = run.outcome.value
        wanted["epoch"] = run.epoch - self._left_out
        if run.late:
            wanted["late"] = True
        if run.stop_requested_at is not None:
            wanted["stop_requested"] = True
        lines = ["expect:", f"  - run: {_flow(**wanted)}"]
        event = self._terminal()
        if event is not None:
            lines.append(f"  - event: {_flow(run=RUN, state=event.state.value)}")
        if event is not None and event.state is EventState.DELIVERED and self._run.spec.destination:
            lines.append(f"  - delivered: {_flow(run=RUN, to=DESTINATION, count=1)}")
        return lines


def _known_of(process: RecordedProcess) -> str:
    fate = f", {process.fate.value}" if process.fate is not None else ""
    pid = getattr(process.identity, "pid", None)
    return f"  # pid {pid}{fate}" if pid is not None else ""


def _flow(**entries: object) -> str:
    """A mapping on one line; its texts are words of the language or made here."""
    shown = {name: str(each).lower() if isinstance(each, bool) else each for name, each in entries.items()}
    return "{" + ", ".join(f"{name}: {each}" for name, each in shown.items()) + "}"


def _seconds(seconds: float) -> str:
    return f"{max(1, round(seconds))}s"


def _quoted(text: str) -> str:
    """A text of the store in a comment: on one line, short, with nothing that steers a terminal."""
    line = one_line(text)
    return json.dumps(line if len(line) <= MOST_WORDS else line[:MOST_WORDS] + "…", ensure_ascii=False)
