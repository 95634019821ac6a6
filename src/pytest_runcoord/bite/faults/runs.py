"""Faults of how runs are accepted, how they end, and what of them is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from pytest_runcoord.bite.boundary import Asked, Boundary, FaultySession, every_run
from pytest_runcoord.bite.fault import BoundaryFault, fault
from pytest_runcoord.subject import Answer, RunSeen, Snapshot

ENDING = frozenset({"complete", "finish"})


class _LostAfterCrash(Boundary):
    """A crash takes the run along that was accepted last."""

    def __init__(self) -> None:
        super().__init__()
        self.accepted: list[str] = []
        self.lost = ""

    def call(self, asked: Asked) -> Answer:
        answer = asked.go()
        if asked.verb == "submit":
            self.accepted.append(str(answer.values["run"]))
        return answer

    def ended(self, session: FaultySession, crashed: bool) -> None:
        if crashed and self.accepted and not self.lost:
            self.lost = self.accepted[-1]
            session.subject.touch()

    def snapshot(self, seen: Snapshot) -> Snapshot:
        if self.lost not in seen.runs:
            return seen
        self.meet()
        return replace(seen, runs={name: run for name, run in seen.runs.items() if name != self.lost})


class _AcceptedTwice(Boundary):
    """A submission that is repeated becomes a second run."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: set[str] = set()
        self.again: dict[str, str] = {}

    def call(self, asked: Asked) -> Answer:
        answer = asked.go()
        if asked.verb != "submit":
            return answer
        run = str(answer.values["run"])
        if run not in self.runs:
            self.runs.add(run)
            return answer
        self.meet()
        self.again[f"{run}-again"] = run
        return Answer({**answer.values, "run": f"{run}-again", "replayed": False}, answer.handle)

    def snapshot(self, seen: Snapshot) -> Snapshot:
        copies = {
            name: RunSeen(name, "accepted", None, 0, "", None, line=name)
            for name, run in self.again.items()
            if run in seen.runs
        }
        return replace(seen, runs={**seen.runs, **copies}) if copies else seen


class _OutcomeChanges(Boundary):
    """The next verb after a run has ended turns its outcome around."""

    other: ClassVar[dict[str, str]] = {"completed": "failed"}

    def __init__(self) -> None:
        super().__init__()
        self.ended_by: dict[str, int] = {}
        self.asked = 0

    def call(self, asked: Asked) -> Answer:
        self.asked += 1
        return asked.go()

    def snapshot(self, seen: Snapshot) -> Snapshot:
        return every_run(seen, self._turned)

    def _turned(self, run: RunSeen) -> dict[str, Any]:
        if run.outcome is None or self.ended_by.setdefault(run.run_id, self.asked) == self.asked:
            return {}
        self.meet()
        return {"outcome": self.other.get(run.outcome, "completed")}


class _TwoOutcomes(Boundary):
    """Every run that ends tells of it twice, each time under another id."""

    def snapshot(self, seen: Snapshot) -> Snapshot:
        more = {
            f"{name}/again": replace(event, event_id=f"{name}/again", state="held")
            for name, event in seen.events.items()
            if event.kind == "run.finished" and event.state == "delivered"
        }
        if not more:
            return seen
        self.meet()
        return replace(seen, events={**seen.events, **more})


class _Untold(Boundary):
    """A run ends without an event."""

    def snapshot(self, seen: Snapshot) -> Snapshot:
        left = {name: event for name, event in seen.events.items() if event.kind != "run.finished"}
        if len(left) == len(seen.events):
            return seen
        self.meet()
        return replace(seen, events=left)


class _Dropped(Boundary):
    """A text with which a run ends is not passed on."""

    text: ClassVar[str]

    def call(self, asked: Asked) -> Answer:
        if asked.verb not in ENDING or not asked.args.get(self.text):
            return asked.go()
        answer = asked.go(**{self.text: ""})
        self.meet()
        return answer


class _ResultDropped(_Dropped):
    text = "result"


class _ErrorDropped(_Dropped):
    text = "error"


class _RetryWithout(Boundary):
    """A retry begins with nothing of what its run was given."""

    def snapshot(self, seen: Snapshot) -> Snapshot:
        def emptied(run: RunSeen) -> dict[str, Any]:
            if not run.retry_of or not run.inputs:
                return {}
            self.meet()
            return {"inputs": None}

        return every_run(seen, emptied)


class _Unmarked(Boundary):
    """An outcome that came after the end of its lease looks like any other."""

    def call(self, asked: Asked) -> Answer:
        answer = asked.go()
        if not answer.values.get("late"):
            return answer
        self.meet()
        return Answer({**answer.values, "late": False}, answer.handle)

    def snapshot(self, seen: Snapshot) -> Snapshot:
        return every_run(seen, lambda run: {"late": False} if run.late else {})


class _Uncut(Boundary):
    """Texts are stored as they come, however long they are."""

    same = ("task", "agent", "conversation_key", "error", "result")
    names: ClassVar[dict[str, str]] = {**dict(zip(same, same, strict=True)), "text": "progress"}
    """Fields by the arguments that are stored in them."""

    def __init__(self) -> None:
        super().__init__()
        self.lengths: dict[str, dict[str, int]] = {}

    def call(self, asked: Asked) -> Answer:
        answer = asked.go()
        run = asked.run or answer.values.get("run")
        if isinstance(run, str):
            texts = {self.names[name]: text for name, text in asked.args.items() if name in self.names}
            found = {name: len(text) for name, text in texts.items() if text}
            self.lengths.setdefault(run, {}).update(found)
        return answer

    def snapshot(self, seen: Snapshot) -> Snapshot:
        return every_run(seen, self._as_given)

    def _as_given(self, run: RunSeen) -> dict[str, Any]:
        given = self.lengths.get(run.run_id, {})
        texts = {"error": run.error, "result": run.result, "progress": run.progress}
        stored = {**{name: len(text) for name, text in texts.items()}, **run.sizes}
        longer = {name: size for name, size in given.items() if size > stored.get(name, size)}
        if not longer:
            return {}
        self.meet()
        return {"sizes": {**run.sizes, **longer}}


class _StopIgnored(Boundary):
    """A stop is answered, and goes nowhere."""

    def call(self, asked: Asked) -> Answer:
        if asked.verb != "stop":
            return asked.go()
        run = self.look(asked.session).runs.get(asked.run or "")
        if run is None or run.outcome is not None:
            return asked.go()
        self.meet()
        return Answer({"run": run.run_id, "state": run.state, "outcome": None})


class _StoppedAsInterrupted(Boundary):
    """A run that was stopped is told of as one that was interrupted."""

    def snapshot(self, seen: Snapshot) -> Snapshot:
        def otherwise(run: RunSeen) -> dict[str, Any]:
            if run.outcome != "stopped":
                return {}
            self.meet()
            return {"outcome": "interrupted"}

        return every_run(seen, otherwise)


FAULTS: tuple[BoundaryFault, ...] = (
    fault(
        "accepted-run-lost",
        "A run that was accepted is gone after a crash.",
        _LostAfterCrash,
        needs="runs",
        words="submit crash restart",
        shows_in="crash restart crash_at",
        caught_by="nothing-lost",
    ),
    fault(
        "submission-accepted-twice",
        "A submission that is repeated becomes a second run.",
        _AcceptedTwice,
        needs="keys reports",
        words="submit reply_lost fail runs answer",
        shows_in="submit",
        caught_by="answer runs",
    ),
    fault(
        "outcome-changed",
        "The outcome of a run is another one after it was recorded.",
        _OutcomeChanges,
        needs="runs",
        words="complete deliver",
        shows_in="complete finish work_off recover startup",
        caught_by="one-outcome",
    ),
    fault(
        "two-outcomes",
        "A run that ends tells of it twice, under two ids.",
        _TwoOutcomes,
        needs="outbox",
        words="complete deliver delivered",
        shows_in="destinations",
        caught_by="one-outcome",
    ),
    fault(
        "ended-without-event",
        "A run ends, and no event says so.",
        _Untold,
        needs="outbox",
        words="complete",
        caught_by="one-outcome event events result-kept",
    ),
    fault(
        "result-dropped",
        "The result with which a run ends is not kept.",
        _ResultDropped,
        needs="results",
        words="complete",
        shows_in="result",
        caught_by="result-kept",
    ),
    fault(
        "error-text-dropped",
        "The error with which a run ends is not kept.",
        _ErrorDropped,
        needs="errors outcomes",
        words="complete finish run",
        shows_in="error",
        caught_by="result-kept",
    ),
    fault(
        "retry-loses-inputs",
        "A retry begins with nothing of what its run was given.",
        _RetryWithout,
        needs="retry",
        words="retry run",
        shows_in="retry interruption_budget",
        caught_by="nothing-lost",
    ),
    fault(
        "late-completion-unmarked",
        "An outcome that was recorded after the end of its lease looks like any other.",
        _Unmarked,
        needs="late-completion",
        words="complete advance run",
        shows_in="complete",
        caught_by="run answer",
    ),
    fault(
        "field-over-its-limit",
        "A text is stored as it comes, however long it is.",
        _Uncut,
        needs="bounds",
        words="complete submit repeat times",
        shows_in="repeat",
        caught_by="bounded-and-clean",
    ),
    fault(
        "stop-ignored",
        "A stop is answered, and goes nowhere.",
        _StopIgnored,
        needs="stop",
        words="stop crash",
        shows_in="stop",
        caught_by="stop-wins",
    ),
    fault(
        "stop-reported-as-interruption",
        "A run that was stopped is told of as one that was interrupted.",
        _StoppedAsInterrupted,
        needs="stop outcomes",
        words="stop",
        shows_in="stop",
        caught_by="stop-wins",
    ),
)
