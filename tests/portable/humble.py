"""The reference, made out to be a coordinator that can do less, and says less of what it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pytest_runcoord.reference import Reference, ReferenceSession
from pytest_runcoord.subject import Answer, EventSeen, RunSeen, Session, Snapshot, SubjectWorld

SHOWN: dict[str, dict[str, Any]] = {
    "epochs": {"epoch": 0},
    "owners": {"owner": ""},
    "results": {"result": ""},
    "errors": {"error": ""},
    "bounds": {"result_truncated": False, "sizes": {}},
    "late-completion": {"late": False},
    "progress": {"progress": ""},
    "groups": {"group": ""},
    "retry": {"retry_of": "", "line": "", "inputs": None, "retried_as": ""},
    "automatic-retry": {"interruptions": 0},
    "outbox": {"destination": ""},
}
"""What a run looks like where a capability is lacking. When a claim ends is shown wherever it does."""
SILENT = ("submit", "stop", "complete", "recover", "startup", "deliver", "finish", "retry")
"""Verbs that answer with nothing, without ``reports``."""


class Humble:
    """Lacks everything that is not in ``capabilities``: verbs, fields of snapshots, words of answers."""

    name = "humble"

    def __init__(self, *capabilities: str) -> None:
        self.capabilities = frozenset(capabilities)
        self._whole = Reference()
        self.announces_writes = True  # which is a matter of speed alone

    def open(self, owner: str, world: SubjectWorld) -> Session:
        return HumbleSession(self._whole.open(owner, world), self.capabilities)  # type: ignore[return-value]

    def refusal(self, error: BaseException) -> str | None:
        return self._whole.refusal(error)

    def finish(self, world: SubjectWorld) -> None:
        self._whole.finish(world)

    def snapshot(self, world: SubjectWorld) -> Snapshot:
        seen = self._whole.snapshot(world)
        hidden: dict[str, Any] = {}
        for capability, fields in SHOWN.items():
            if capability not in self.capabilities:
                hidden |= fields
        runs = {name: replace(run, **hidden) for name, run in seen.runs.items()}
        if "starting" not in self.capabilities:
            runs = {name: _begun(run) for name, run in runs.items()}
        return Snapshot(runs, self._events(seen), None, seen.bad, seen.refused)

    def _events(self, seen: Snapshot) -> dict[str, EventSeen]:
        if "outbox" not in self.capabilities:
            return {}
        events = seen.events
        if "attempts" not in self.capabilities:
            events = {name: replace(event, attempt=0) for name, event in events.items()}
        if "event-bodies" not in self.capabilities:
            events = {name: replace(event, body="") for name, event in events.items()}
        return events


def _begun(run: RunSeen) -> RunSeen:
    return replace(run, state="running") if run.state == "claimed" else run


class HumbleSession:
    """Passes verbs on; where claiming is starting, a claim begins the work."""

    def __init__(self, whole: ReferenceSession, able: frozenset[str]) -> None:
        self._whole, self._able = whole, able

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._whole, name)
        return self._silent(found) if name in SILENT and "reports" not in self._able else found

    @staticmethod
    def _silent(verb: Callable[..., Answer]) -> Callable[..., Answer]:
        def asked(*args: Any, **named: Any) -> Answer:
            answer = verb(*args, **named)
            return Answer(
                {name: answer.values[name] for name in ("run",) if name in answer.values}, answer.handle
            )

        return asked

    def claim(self, run: str, lease: float | None = None) -> Answer:
        return self._given(self._whole.claim(run, lease))

    def claim_next(self, lease: float | None = None) -> Answer:
        return self._given(self._whole.claim_next(lease))

    def _given(self, answer: Answer) -> Answer:
        if answer.handle is not None and "starting" not in self._able:
            self._whole.start(answer.handle)
        if "epochs" not in self._able:
            return Answer({"run": answer.values["run"]}, answer.handle)
        return answer

    def start(self, lease: Any) -> Answer:
        return self._whole.start(lease) if "starting" in self._able else Answer({})
