"""A subject as the harness drives it: whatever it does wrong becomes a fault of its own, by name.

Every subject but the reference is wrapped. What raises and is no refusal, gives nonsense or does not return
ends its scenario with a :class:`SubjectFault` that says which subject and which verb; the next one runs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from pytest_runcoord.subject import Answer, Session, Snapshot, Subject, SubjectWorld, Timer
from pytest_runcoord.subjects.answers import Nonsense, answer_of, shown
from pytest_runcoord.subjects.base import takes
from pytest_runcoord.world_errors import SubjectFault
from runcoord.ports import Counters

LEFT_OUT = frozenset({"payload", "outcome", "reason"})
"""Arguments that a verb need not take: without the capability for it nobody looks at what they say."""


class Guarded:
    """A subject behind a guard."""

    def __init__(self, subject: Subject) -> None:
        self.inner = subject
        self.name = str(getattr(subject, "name", "") or type(subject).__name__)
        self.version = str(getattr(subject, "version", "") or "")
        self.capabilities = frozenset(subject.capabilities)
        self.announces_writes = bool(getattr(subject, "announces_writes", "ports" in self.capabilities))

    def open(self, owner: str, world: SubjectWorld) -> Session:
        opened = self.asked("open", lambda: self.inner.open(owner, world))
        return GuardedSession(self, opened, world)

    def refusal(self, error: BaseException) -> str | None:
        if isinstance(error, SubjectFault):
            return None
        code = self.asked("refusal", lambda: self.inner.refusal(error))
        if code is not None and not isinstance(code, str):
            raise self.fault(
                "refusal", f"gave {shown(code)} for {shown(error)}", expected="a code, or nothing"
            )
        return code

    def snapshot(self, world: SubjectWorld) -> Snapshot:
        seen = self.asked("snapshot", lambda: self.inner.snapshot(world))
        if not isinstance(seen, Snapshot):
            raise self.fault("snapshot", f"gave {shown(seen)}", expected="a Snapshot")
        return seen

    def finish(self, world: SubjectWorld) -> None:
        self.asked("finish", lambda: self.inner.finish(world))

    def asked(self, verb: str, call: Callable[[], Any], *, refusals: bool = False) -> Any:
        """What a call into the subject gives. What it raises is its fault, with ``refusals`` unless that is a
        refusal."""
        try:
            return call()
        except SubjectFault:
            raise
        except Exception as error:
            if refusals and self.refusal(error) is not None:
                raise
            raise SubjectFault(verb, error, subject=self.name) from error

    def fault(self, verb: str, problem: str, *, expected: str, remedy: str = "") -> SubjectFault:
        """What the subject did wrong in a verb."""
        return SubjectFault(verb, subject=self.name, problem=problem, expected=expected, remedy=remedy)


class GuardedSession:
    """A session behind the guard of its subject. Its verbs are those of the session."""

    def __init__(self, guard: Guarded, session: Any, world: SubjectWorld) -> None:
        self._guard, self._session, self._world = guard, session, world

    def __getattr__(self, verb: str) -> Callable[..., Answer]:
        method = getattr(self._session, verb, None)
        if not callable(method):
            raise SubjectFault(
                verb,
                subject=self._guard.name,
                problem=f"the session has no method {verb!r}, though its capability is claimed",
                expected="a method for every verb of a claimed capability",
            )

        def ask(*given: Any, **args: Any) -> Answer:
            for name in LEFT_OUT & args.keys():
                if not takes(method, name):
                    del args[name]
            return self._ask(verb, method, given, args)

        return ask

    def _ask(self, verb: str, method: Any, given: tuple[Any, ...], args: Mapping[str, Any]) -> Answer:
        gave = self._guard.asked(verb, lambda: self._driven(verb, method(*given, **args)), refusals=True)
        try:
            return answer_of(verb, gave, args, given[0] if given else None)
        except Nonsense as wrong:
            raise self._guard.fault(verb, wrong.seen, expected=wrong.expected, remedy=wrong.remedy) from None

    def _driven(self, verb: str, gave: Any) -> Any:
        """What a verb gave; a coroutine is driven to its end first."""
        if not inspect.isawaitable(gave):
            return gave
        raise self._guard.fault(verb, "gave a coroutine", expected="a plain method", remedy="")

    def close(self) -> None:
        self._guard.asked("close", self._session.close)

    def abandon(self) -> None:
        self._guard.asked("abandon", self._session.abandon)

    def timers(self) -> list[tuple[str, Timer]]:
        timers: list[tuple[str, Timer]] = self._guard.asked("timers", self._session.timers)
        return timers

    def counters(self) -> Counters | None:
        counters: Counters | None = self._guard.asked("counters", self._session.counters)
        return counters
