"""A subject as the harness drives it: whatever it does wrong becomes a fault of its own, by name.

Every subject but the reference is wrapped. What raises and is no refusal, gives nonsense, does not return or
leaves something behind ends its scenario with a :class:`SubjectFault` that says which subject and which verb;
the next one runs.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pytest_runcoord._positions import did_you_mean, nearest
from pytest_runcoord.subject import CAPABILITIES, Answer, Session, Snapshot, Subject, SubjectWorld, Timer
from pytest_runcoord.subjects.answers import Nonsense, answer_of, called, is_count, is_text, shown
from pytest_runcoord.subjects.base import Refused, SessionBase, takes
from pytest_runcoord.subjects.calling import MAX_VERB_SECONDS, VERB_SECONDS, Calls
from pytest_runcoord.subjects.leaks import Surroundings
from pytest_runcoord.subjects.misspelt import slip_of
from pytest_runcoord.subjects.seen import apart, check_snapshot
from pytest_runcoord.verbs import default_registry
from pytest_runcoord.verbs.asking import ANY_REFUSAL
from pytest_runcoord.world_errors import LEAK, SubjectFault
from runcoord.ports import Counters

if TYPE_CHECKING:
    from pytest_runcoord.subjects.coroutines import Coroutines

CLAIMS = frozenset({"claim", "claim_next"})
LEFT_OUT = frozenset({"payload", "outcome", "reason"})
"""Arguments that a verb need not take: without the capability for it nobody looks at what they say."""
OF_A_SESSION = ("close", "abandon", "timers", "counters")
OF_A_TIMER = ("next_due", "tick")


class Guarded:
    """A subject behind a guard, for one scenario. Raises :class:`SubjectFault` if it says nonsense."""

    def __init__(self, subject: Subject) -> None:
        self.inner = subject
        self.name = type(subject).__name__
        self.calls = Calls(self.name)
        self.name = self.calls.name = self._said("name", "", is_name, "a text") or self.name
        self.version = self._said("version", "", is_name, "a text of one line")
        self.capabilities = self._capabilities()
        self.announces_writes = bool(
            self._said("announces_writes", "ports" in self.capabilities, is_flag, "true or false")
        )
        self.moments = self._said("moments", None, is_names, "names of moments")
        seconds = self._said("verb_seconds", VERB_SECONDS, is_seconds, f"seconds, up to {MAX_VERB_SECONDS:g}")
        self.calls = Calls(self.name, seconds)
        if self._said("patches_time", False, is_flag, "true or false"):
            from pytest_runcoord.subjects.patched_time import PatchedTime

            self._patched: PatchedTime | None = PatchedTime()
            self.calls.time = self._patched.seen_by_the_subject
        else:
            self._patched = None
        self._before = Surroundings.now()
        self._driving: list[Coroutines] = []
        self._onlooker: Coroutines | None = None
        self._counting: dict[int, GuardedCounters] = {}

    def _said(self, name: str, otherwise: Any, right: Callable[[Any], bool], expected: str) -> Any:
        """What the subject says of itself."""
        said = self.calls.make(name, lambda: getattr(self.inner, name, otherwise))
        if not right(said):
            raise self.calls.fault(name, Nonsense(f"is {shown(said)}", expected))
        return said

    def _capabilities(self) -> frozenset[str]:
        said = self._said("capabilities", None, is_names, "names of capabilities")
        if said is None:
            raise self.calls.fault("capabilities", Nonsense("is None", "names of capabilities"))
        for each in said:
            if _misspelt(each, CAPABILITIES):
                raise self.calls.fault(
                    "capabilities",
                    Nonsense(
                        f"has {each!r}, which is none", "capabilities", did_you_mean(each, CAPABILITIES)
                    ),
                )
        self._require_spelling(getattr(self.inner, "session", None))
        return frozenset(said)

    def _require_spelling(self, session: Any) -> None:
        """Raises for a method or an argument of a session that is nearly one that it needs."""
        wrong = slip_of(session) if isinstance(session, type) else None
        if wrong is not None:
            raise self.calls.fault("session", wrong)

    # --- as a subject ---

    def open(self, owner: str, world: SubjectWorld) -> Session:
        if self._patched is not None:
            self._patched.begin(world)
        opened = self.calls.make("open", lambda: self.inner.open(owner, world), self.refused)
        session = GuardedSession(self, opened, owner, world)
        lacks = [each for each in OF_A_SESSION if not callable(getattr(opened, each, None))]
        if lacks:
            wrong = Nonsense(
                f"gave {shown(opened)}, which has no {' and no '.join(lacks)}",
                "a session",
                "Let its class be a SessionBase, which has these.",
            )
            raise self.calls.fault("open", wrong)
        try:
            self._require_spelling(type(opened))
            session.start_up()
        except BaseException:
            with suppress(SubjectFault):
                session.abandon()  # nobody else knows of it
            raise
        return session

    def refusal(self, error: BaseException) -> str | None:
        if isinstance(error, SubjectFault):
            return None
        if isinstance(error, Refused):
            code: Any = error.code
        else:
            code = self.calls.make("refusal", lambda: self.inner.refusal(error))
        if code is None:
            return None
        known = default_registry().refusals
        if not isinstance(code, str) or code == ANY_REFUSAL or _misspelt(code, known):
            wrong = Nonsense(
                f"gave {shown(code)} for {shown(error)}, which is no refusal",
                "the name of a refusal, or nothing",
                did_you_mean(code, known.keys() - {ANY_REFUSAL}) if isinstance(code, str) else "",
            )
            raise self.calls.fault("refusal", wrong)
        return str(code)

    def refused(self, error: BaseException) -> BaseException | None:
        """What to raise for an error that is a refusal: itself, if an ``except Exception`` sees it."""
        code = self.refusal(error)
        if code is None or isinstance(error, Exception):
            return None if code is None else error
        return Refused(code, f"{type(error).__name__}: {error}")

    def snapshot(self, world: SubjectWorld) -> Snapshot:
        seen: Snapshot = self.calls.make("snapshot", lambda: self._looked(world))
        return seen

    def _looked(self, world: SubjectWorld) -> Snapshot:
        seen = self._settled("snapshot", world, self.inner.snapshot(world))
        return apart(check_snapshot(seen))

    def finish(self, world: SubjectWorld) -> None:
        finish: Callable[[SubjectWorld], Any] = self.inner.finish
        self.calls.make("finish", lambda: self._settled("finish", world, finish(world)))

    def _settled(self, what: str, world: SubjectWorld, gave: Any) -> Any:
        """What a call gave that belongs to no session; a coroutine is driven to its end."""
        if not inspect.isawaitable(gave):
            return gave
        if self._onlooker is None:
            self._onlooker = self.driving(world, "onlooker")
        return self._onlooker.drive(what, gave)

    # --- around it ---

    def driving(self, world: SubjectWorld, owner: str) -> Coroutines:
        """What drives the coroutines of one session."""
        from pytest_runcoord.subjects.coroutines import Coroutines  # and asyncio with it

        made = Coroutines(world, owner)
        self._driving.append(made)
        return made

    def counting(self, counters: Any) -> Counters:
        """Counters behind a guard; always the same for the same ones."""
        if isinstance(counters, Counters):
            return counters
        known = self._counting.get(id(counters))
        if known is None:
            known = self._counting[id(counters)] = GuardedCounters(self.calls, counters)
        return known  # type: ignore[return-value]  # as far as the world reads them

    def over(self) -> None:
        """The verdict is made. Raises :class:`SubjectFault` for what is left; processes that are left end."""
        try:
            for each in self._driving:  # threads of an executor that is idle end here
                self.calls.make(LEAK, each.dispose)
            self.calls.make(LEAK, self._before.end)
        finally:
            if self._patched is not None:
                self._patched.end()


def _misspelt(word: str, known: Collection[str]) -> bool:
    """Whether it is nearly one of those known. Others may be those of a project's own words."""
    return word not in known and (not word or nearest(word, known) is not None)


class GuardedCounters:
    """What counts the rows of a session."""

    def __init__(self, calls: Calls, inner: Any) -> None:
        self._calls, self._inner = calls, inner

    @property
    def rows_written(self) -> int:
        def count() -> int:
            rows = self._inner.rows_written
            if not is_count(rows):
                raise Nonsense(f"gave rows_written = {shown(rows)}", "a whole number")
            return int(rows)

        rows: int = self._calls.make("counters", count)
        return rows


class GuardedSession:
    """A session behind the guard of its subject. Its verbs are those of the session."""

    def __init__(self, guard: Guarded, session: Any, owner: str, world: SubjectWorld) -> None:
        self._guard, self._session, self._owner, self._world = guard, session, owner, world
        self._calls = guard.calls
        self._coroutines: Coroutines | None = None
        self._ticking: dict[int, GuardedTimer] = {}

    def __getattr__(self, verb: str) -> Callable[..., Answer]:
        if verb.startswith("_"):
            raise AttributeError(verb)
        method = self._calls.make(verb, lambda: getattr(self._session, verb, None))
        if not callable(method):
            problem = f"failed: the session has no method {verb!r}, though its capability is claimed"
            raise self._calls.fault(
                verb, Nonsense(problem, "a method for every verb of a claimed capability")
            )

        def ask(*given: Any, **args: Any) -> Answer:
            taken = {name: args[name] for name in args if name not in LEFT_OUT or takes(method, name)}
            answer = self._ask(verb, method, given, taken)
            if args.get("payload") is not None and "payload" not in taken:
                answer.values["not_taken"] = "payload"  # the history says so; the rest are given unasked
            return answer

        return ask

    def _ask(self, verb: str, method: Any, given: tuple[Any, ...], args: Mapping[str, Any]) -> Answer:
        def call() -> Answer:
            gave = self.driven(verb, called(method, given, args))
            answer = answer_of(verb, gave, args, given[0] if given else None)
            numbered = answer.handle is None or answer.values.get("epoch") is not None
            if verb in CLAIMS and "epochs" in self._guard.capabilities and not numbered:
                raise Nonsense(
                    f"gave {shown(gave)} without an epoch, though epochs are promised",
                    "a lease with the number of its acquisition",
                    "Give it an attribute 'epoch', return Answer({'run': …, 'epoch': …}, lease), or do not "
                    "promise epochs.",
                )
            return answer

        answer: Answer = self._calls.make(verb, call, self._guard.refused)
        return answer

    def driven(self, verb: str, gave: Any) -> Any:
        """What a call gave; a coroutine is driven to its end first."""
        if not inspect.isawaitable(gave):
            return gave
        if self._coroutines is None:
            self._coroutines = self._guard.driving(self._world, self._owner)
        return self._coroutines.drive(verb, gave)

    def start_up(self) -> None:
        """Give a session whose parts need a running loop the occasion to make them."""
        method = getattr(self._session, "start_up", None)
        if callable(method):
            self._calls.make("start_up", lambda: self.driven("start_up", method()), self._guard.refused)

    def close(self) -> None:
        self._calls.make("close", lambda: self.driven("close", self._session.close()))
        if self._coroutines is not None:
            self._calls.make("close", self._coroutines.end)

    def abandon(self) -> None:
        if self._coroutines is not None:
            self._coroutines.die()
        self._calls.make("abandon", self._session.abandon)

    def pause(self) -> None:
        """The process stands still. Only a session that is a process can be told."""
        self._tell("pause")

    def resume(self) -> None:
        self._tell("resume")

    def _tell(self, what: str) -> None:
        method = getattr(self._session, what, None)
        if callable(method):
            self._calls.make(what, method)

    def timers(self) -> list[tuple[str, Timer]]:
        written = inspect.getattr_static(self._session, "timers", None) is not SessionBase.timers
        gave = self._calls.make("timers", self._session.timers) if written else []  # asked at every tick
        try:
            found = self._timers(gave)
        except Nonsense as wrong:
            raise self._calls.fault("timers", wrong) from None
        if self._coroutines is not None:
            found += self._coroutine_timers(self._coroutines)
        self._ticking = {id(each.inner): each for _, each in found}  # and no longer those that are gone
        return [(name, timer) for name, timer in found]

    def _timers(self, gave: Any) -> list[tuple[str, GuardedTimer]]:
        if not isinstance(gave, list | tuple):
            raise Nonsense(f"gave {shown(gave)}", "a list of pairs of a name and a timer")
        found: list[tuple[str, GuardedTimer]] = []
        for each in gave:
            if not (isinstance(each, list | tuple) and len(each) == 2 and is_text(each[0])):
                raise Nonsense(f"gave {shown(each)} in its list", "a pair of a name and a timer")
            name, timer = each
            lacks = [part for part in OF_A_TIMER if not callable(getattr(timer, part, None))]
            if lacks:
                raise Nonsense(f"gave {name!r} without {lacks[0]}", "a timer: next_due() and tick()")
            found.append((name, self._guarded(name, timer)))
        return found

    def _coroutine_timers(self, coroutines: Coroutines) -> list[tuple[str, GuardedTimer]]:
        return [(name, self._guarded(name, timer, ours=True)) for name, timer in coroutines.timers()]

    def _guarded(self, name: str, timer: Any, *, ours: bool = False) -> GuardedTimer:
        known = self._ticking.get(id(timer))
        if known is None:
            kind = LoopTimer if ours else GuardedTimer
            known = self._ticking[id(timer)] = kind(self, self._calls, name, timer)
        return known

    def counters(self) -> Counters | None:
        counters = self._calls.make("counters", self._session.counters)
        return None if counters is None else self._guard.counting(counters)


class GuardedTimer:
    """A timer of a session."""

    def __init__(self, session: GuardedSession, calls: Calls, name: str, timer: Any) -> None:
        self._session, self._calls, self.inner = session, calls, timer
        self._what = f"the timer {name!r}"

    def next_due(self) -> float | None:
        due: float | None = self._calls.make(self._what, self._due)
        return due

    def _due(self) -> float | None:
        due = self.inner.next_due()
        if due is None or (
            isinstance(due, int | float) and not isinstance(due, bool) and not math.isnan(due)
        ):
            return due
        raise Nonsense(f"is due at {shown(due)}", "a boottime in seconds, or None")

    def tick(self) -> None:
        self._calls.make(self._what, lambda: self._session.driven(self._what, self.inner.tick()))


class LoopTimer(GuardedTimer):
    """The event loop of a session. It is the harness's own; what runs in it is the subject's."""

    def next_due(self) -> float | None:
        due: float | None = self.inner.next_due()
        return due


def is_name(value: Any) -> bool:
    return isinstance(value, str) and value.isprintable()


def is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def is_names(value: Any) -> bool:
    """A collection of texts, or none."""
    return value is None or (
        isinstance(value, frozenset | set | tuple | list | dict)
        and all(isinstance(each, str) for each in value)
    )


def is_seconds(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= MAX_VERB_SECONDS
