"""What an author of a subject builds on: :class:`SubjectBase` and :class:`SessionBase`."""

from __future__ import annotations

import dis
import inspect
import math
from collections.abc import Awaitable, Collection, Mapping
from functools import cache
from typing import Any, ClassVar

from pytest_runcoord.probed_ports import ProbedDestination
from pytest_runcoord.subject import Answer, Session, Snapshot, SubjectWorld, Timer
from pytest_runcoord.subjects.answers import answer_of, is_count, is_text
from pytest_runcoord.subjects.calling import VERB_SECONDS
from runcoord import EventKind
from runcoord.errors import Happened, StoreTimeout
from runcoord.ports import Counters, Deadline, Message

CAPABILITY_METHODS: dict[str, tuple[str, ...]] = {
    "runs": ("submit", "claim", "complete"),
    "claim-next": ("claim_next",),
    "starting": ("start",),
    "leases": ("claim(lease)",),
    "renewal": ("renew",),
    "reacquire": ("reacquire",),
    "release": ("release",),
    "outcomes": ("complete(outcome)",),
    "results": ("complete(result)",),
    "errors": ("complete(error)",),
    "keys": ("submit(key)",),
    "descriptions": ("submit(task)", "submit(agent)", "submit(conversation_key)"),
    "groups": ("submit(group)", "submit(group_size)"),
    "progress": ("progress",),
    "notes": ("publish",),
    "stop": ("stop",),
    "retry": ("retry",),
    "recovery": ("recover",),
    "outbox": ("deliver", "submit(destination)"),
    "attempts": ("dispatch", "acknowledge", "postpone", "refuse"),
    "replay": ("replay",),
    "counters": ("counters",),
    "executor": ("execute", "execute_next", "effect", "finish", "hold"),
    "maintenance": ("startup",),
    "processes": ("record_process",),
    "launching": ("launch", "tear_down"),
    "supervision": ("supervise", "settle", "interrupt"),
    "import": ("import_folders", "route", "read_result"),
    "threads": ("submit_through_thread", "drain_calls"),
}
"""What a session must have for a capability, all of it: methods, and arguments that they take and read.
Methods that :class:`SessionBase` has count when they are written anew; ``claim`` is also there where
``claim_next`` is. An argument that its method never reads, as one that is there for the form, counts for
nothing; of a method that reads none at all, which is yet to be written, all count.
Capabilities that are not in this table are promises, which no method shows: ``SubjectBase.promises``."""

KINDS_OF_EVENTS = tuple(kind.value for kind in EventKind)
EXACT = 4
"""Decimals of a deadline: wall times are exact to half a microsecond, and two looks at one are to agree."""


class Refused(Exception):
    """What a verb may raise to refuse: ``code`` is a refusal that scenarios can name.

    ``happened``: ``no``, nothing was changed; ``maybe``, it is not known whether anything was, as after a
    reply that was lost.
    """

    def __init__(self, code: str, message: str = "", happened: str = "no") -> None:
        super().__init__(message or code)
        self.code = code
        self.happened = Happened(happened)


class SessionBase:
    """One incarnation of a coordinator: a process of it, as far as the scenario is concerned.

    Verbs are further methods, plain or ``async``. What is not there is a missing capability.
    """

    def __init__(self, owner: str, world: SubjectWorld) -> None:
        self.owner = owner
        self.world = world

    # These take anything, so that a verb may be written with the arguments that it needs.

    def claim(self, *args: Any, **kwargs: Any) -> Any:
        """Acquire ``run``, for ``lease`` seconds. As it is here, for a queue: by ``claim_next``, which must
        give that run.

        Raises :class:`Refused` as ``lease-held`` where nothing is next, and as ``invalid-request`` for
        another run, which stays taken: it is for scenarios that claim in the order of submission.
        """
        run = kwargs.pop("run")
        gave = self.claim_next(**kwargs)
        return _claimed_later(run, gave) if inspect.isawaitable(gave) else _claimed(run, gave)

    def claim_next(self, *args: Any, **kwargs: Any) -> Any:
        """Acquire whichever run is next; None if there is none. To be written, or there is no such verb."""
        raise NotImplementedError("neither claim nor claim_next is written")

    def start(self, *args: Any, **kwargs: Any) -> Any:
        """The work begins. Does nothing: a coordinator where claiming is starting leaves it so."""

    def close(self) -> None:
        """The owner ends in good order. Does nothing, unless it is written."""

    def abandon(self) -> None:
        """The process died: let go of files and connections without writing anything. Does nothing."""

    def timers(self) -> list[tuple[str, Timer]]:
        """Timers that run now, by name. None, unless it is written."""
        return []

    def counters(self) -> Counters | None:
        """What counts the rows that this incarnation wrote. Nothing, unless it is written."""
        return None


def _claimed(run: str, gave: Any) -> Answer:
    """What was next, if it is the run that was asked for."""
    answer = answer_of("claim_next", gave, {})
    if answer.values["run"] is None:
        raise Refused("lease-held", f"nothing can be claimed, nor can {run!r}")
    if answer.values["run"] != run:
        problem = f"{run!r} is not what is next, but {answer.values['run']!r}, which is taken now"
        raise Refused("invalid-request", problem, happened="maybe")
    return answer


async def _claimed_later(run: str, gave: Awaitable[Any]) -> Answer:
    return _claimed(run, await gave)


class SubjectBase:
    """A coordinator under test. At least ``name``, ``session`` and :meth:`snapshot` are to be written."""

    name: str = ""
    """What reports call it."""
    version: str = ""
    """Which revision of it, such as ``litequeue 0.9``; empty if that is not known."""
    session: type[Any] = SessionBase
    """The class of its sessions, made with ``owner`` and ``world``."""
    refusals: ClassVar[Mapping[type[BaseException], str]] = {}
    """Its errors that are refusals, with the harness's name for each. The most specific class counts."""
    promises: Collection[str] = ()
    """Capabilities that no method shows, such as ``epochs`` or ``interruption``."""
    verb_seconds: float = VERB_SECONDS
    """Real time that one call into it may take."""
    patches_time: bool = False
    """Whether it reads the time itself; then the world's time is given to it there."""

    @property
    def capabilities(self) -> frozenset[str]:
        """What it can be asked for: what the methods of ``session`` show, and ``promises``. A subject may set
        it otherwise."""
        if isinstance(self.promises, str):
            raise TypeError(
                f"promises is the text {self.promises!r}; one promise is written ({self.promises!r},)"
            )
        able = capabilities_of(self.session) | frozenset(self.promises)
        # Where every claim is a beginning, and what began never begins again, a lease frees nothing.
        frees = "leases" in able and ("starting" in able or "interruption" not in able)
        return able | {"expiry"} if frees else able

    def open(self, owner: str, world: SubjectWorld) -> Session:
        """Start an incarnation. ``owner`` is unique to this start."""
        opened: Session = self.session(owner, world)
        return opened

    def refusal(self, error: BaseException) -> str | None:
        """The harness's name of a refusal; ``None`` when the error is none."""
        if isinstance(error, Refused):
            return error.code
        return next((self.refusals[kind] for kind in type(error).__mro__ if kind in self.refusals), None)

    def snapshot(self, world: SubjectWorld) -> Snapshot:
        """What is durable now, read without changing anything."""
        raise NotImplementedError(f"{type(self).__name__}.snapshot is to be written")

    def finish(self, world: SubjectWorld) -> None:
        """The scenario is over: let go of what was kept for snapshots. Does nothing, unless it is written."""


def capabilities_of(session: type[Any]) -> frozenset[str]:
    """What the methods of a session make possible, by :data:`CAPABILITY_METHODS`."""
    found: Any = session
    return _capabilities_of(found)


@cache
def _capabilities_of(session: type) -> frozenset[str]:
    return frozenset(
        capability
        for capability, needed in CAPABILITY_METHODS.items()
        if all(_has(session, each) for each in needed)
    )


def _has(session: type, needed: str) -> bool:
    name, _, argument = needed.rstrip(")").partition("(")
    method = getattr(session, name, None)
    if name == "claim" and method is SessionBase.claim:  # which goes by claim_next
        return _has(session, needed.replace("claim", "claim_next", 1))
    if not callable(method) or method is getattr(SessionBase, name, None):
        return False
    return not argument or (takes(method, argument) and _reads(method, argument))


def takes(method: Any, name: str) -> bool:
    """Whether a method can be called with an argument of this name."""
    try:
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(
        each.kind is each.VAR_KEYWORD or (each.name == name and each.kind is not each.POSITIONAL_ONLY)
        for each in parameters
    )


def _reads(method: Any, name: str) -> bool:
    """Whether a method does anything with an argument that it takes; unknown is taken for yes."""
    code = getattr(inspect.unwrap(method), "__code__", None)
    if code is None:
        return True
    named = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    read = set(code.co_cellvars)  # functions inside of it read these
    for each in dis.get_instructions(code):
        if "LOAD_FAST" in each.opname:
            read.update(each.argval if isinstance(each.argval, tuple) else (each.argval,))
    return name not in named or name in read or not read.intersection(named[1:])


def deadline(world: SubjectWorld, *, wall: float | None = None, seconds: float | None = None) -> Deadline:
    """When a lease ends, for a snapshot: at a wall time, or ``seconds`` from now.

    A wall time is what most stores have; it is translated to the other clocks as they stand now, so a clock
    step moves such a lease, as it does in the coordinator itself.
    """
    clock = world.clock
    if (wall is None) == (seconds is None):
        raise TypeError("deadline() takes either wall or seconds")
    left = seconds if wall is None else wall - clock.wall()
    assert left is not None
    ends = clock.wall() + left if wall is None else wall
    return Deadline(round(ends, EXACT), round(clock.boottime() + left, EXACT), clock.boot_id())


def send(
    world: SubjectWorld,
    destination: str,
    *,
    event: str,
    run: str,
    body: str | bytes = b"",
    attempt: int = 1,
    kind: str = "run.finished",
    patience: float | None = None,
) -> None:
    """Offer an event to a destination of the scenario. That it returns means that it was accepted.

    ``event`` is the id of the event, the same in every attempt, as ``body`` must be. Raises
    :class:`~runcoord.DestinationRefused` for a refusal for good, ``TimeoutError`` after ``patience`` seconds
    of the world's time, and any other error for "not now". ``TypeError`` and ``ValueError`` say that what is
    offered is no event, which nothing has seen then.
    """
    for name, value in {"destination": destination, "event": event, "run": run, "kind": kind}.items():
        if not is_text(value):
            raise TypeError(f"send() takes a text that is Unicode as {name}, not {value!r}")
    if kind not in KINDS_OF_EVENTS:
        raise ValueError(f"send() knows no kind {kind!r}, but {', '.join(KINDS_OF_EVENTS)}")
    if not isinstance(body, str | bytes):
        raise TypeError(f"send() takes a text or bytes as body, not {body!r}")
    if not is_count(attempt) or not attempt:
        raise ValueError(f"send() counts attempts from 1, and was given {attempt!r}")
    if patience is not None and not 0 <= patience < math.inf:
        raise ValueError(f"send() cannot wait for {patience!r} s; without patience it waits for ever")
    data = body.encode() if isinstance(body, str) else body
    message = Message(event, kind, run, destination, data, attempt)
    if patience is None:
        ProbedDestination(world.probe)(message)
        return
    try:
        world.bounded.call(patience, lambda: ProbedDestination(world.probe)(message))
    except StoreTimeout as late:
        raise TimeoutError(f"{destination} did not answer within {patience:g} s") from late
