"""A subject out of process: any program that speaks the verbs as JSON lines over standard input and output.

Each incarnation is a process of its own, and one more is asked for snapshots. A crash is SIGKILL to the
process of that incarnation. The lines are described by the tables of ``program_protocol``.
"""

from __future__ import annotations

import shlex
import signal
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pytest_runcoord.subject import Answer, EventSeen, RunSeen, Snapshot, SubjectWorld, Timer
from pytest_runcoord.subjects.conversation import Command, Conversation
from pytest_runcoord.subjects.program_errors import ProgramFault, ProgramRefusal
from pytest_runcoord.subjects.program_protocol import SENDING, capabilities
from pytest_runcoord.subjects.program_verbs import OWN_VERB, verb_named
from runcoord.ports import Counters, Deadline

PREFIX = "program:"
"""What a subject's name begins with, where the rest is the command line of a program."""
KEPT = "conversations with the program"
"""Where a scenario's world keeps the processes that were not let go of yet."""
ONLOOKER = "conversation with the program that looks"
"""Where it keeps the one for snapshots."""


class NoCommand(ValueError):
    """There is no command line of a program, or none that can be understood."""


@dataclass(frozen=True)
class Introduction:
    """What a program says of itself: the same each time that it is started."""

    name: str
    version: str
    capabilities: frozenset[str]
    moments: frozenset[str]
    counts: bool

    @classmethod
    def of(cls, hello: Mapping[str, Any]) -> Introduction:
        able = set(hello["capabilities"])
        moments = set(hello.get("moments", ()))
        if "outbox" in able:
            moments |= set(SENDING)
        able |= {"moments"} if moments else set()
        able |= {"counters"} if hello.get("counts") else set()
        version = f"{hello['name']} {hello['version']}" if hello.get("version") else ""
        return cls(hello["name"], version, frozenset(able), frozenset(moments), bool(hello.get("counts")))


class ProgramSubject:
    """A program as a subject.

    ``command`` are its words, as for ``subprocess``: no shell reads them. It is started in ``directory`` (the
    current one when none is given), with this process's environment. ``name``, ``version``, ``capabilities``
    and ``moments`` are what it says of itself, for which it is started once when they are first asked for. A
    program that does not even do that is a fault at every ``open``. ``told`` is told of every line, and who
    wrote it: ``asked`` or ``answered``.
    """

    announces_writes = False
    patches_time = False

    def __init__(
        self,
        command: Iterable[str],
        directory: Path | None = None,
        told: Callable[[str, bytes], None] | None = None,
    ) -> None:
        words = tuple(command)
        if not words:
            raise NoCommand("the command line of the program is empty")
        self.command = Command(words, Path(directory or Path.cwd()).absolute(), told)
        self.last_words: list[str] = []
        """What processes of the last scenario had said at the end of their standard error."""
        self._known: Introduction | ProgramFault | None = None

    @property
    def name(self) -> str:
        known = self.introduction()
        return str(self.command) if isinstance(known, ProgramFault) else known.name

    @property
    def version(self) -> str:
        known = self.introduction()
        return "" if isinstance(known, ProgramFault) else known.version

    @property
    def capabilities(self) -> frozenset[str]:
        """All that a program can have, where it does not say: nothing is skipped, and the fault is seen."""
        known = self.introduction()
        return frozenset(capabilities()) if isinstance(known, ProgramFault) else known.capabilities

    @property
    def moments(self) -> frozenset[str] | None:
        """The moments that it announces; ``None`` where it does not say."""
        known = self.introduction()
        return None if isinstance(known, ProgramFault) else known.moments

    def introduction(self) -> Introduction | ProgramFault:
        """What it says of itself, or what is wrong with that."""
        if self._known is None:
            try:
                talk = Conversation(self.command)
            except ProgramFault as fault:
                self._known = fault
            else:
                talk.let_go()
                self._known = Introduction.of(talk.hello)
        return self._known

    def open(self, owner: str, world: SubjectWorld) -> ProgramSession:
        return ProgramSession(self._begun(owner, world), world)

    def refusal(self, error: BaseException) -> str | None:
        return error.refusal if isinstance(error, ProgramRefusal) else None

    def snapshot(self, world: SubjectWorld) -> Snapshot:
        talk: Conversation | None = world.shared.get(ONLOOKER)
        if talk is None:
            talk = world.shared[ONLOOKER] = self._begun(None, world)
        seen = talk.ask(world, "snapshot", {})
        runs = {each["run_id"]: _run_seen(each) for each in seen["runs"]}
        events = {each["event_id"]: _event_seen(each) for each in seen["events"]}
        for what, rows, found in (("runs", seen["runs"], runs), ("events", seen["events"], events)):
            if len(found) != len(rows):
                raise talk.fault("snapshot", f"has two {what} with the same id in a snapshot")
        return Snapshot(runs, events, world.shared.get("rows_written"))

    def finish(self, world: SubjectWorld) -> None:
        world.shared.pop(ONLOOKER, None)
        talks: list[Conversation] = world.shared.pop(KEPT, [])
        for talk in talks:
            talk.let_go()
        self.last_words = [line for talk in talks for line in talk.child.tail.lines()]

    def _begun(self, owner: str | None, world: SubjectWorld) -> Conversation:
        """A process of it that was asked to open."""
        known = self.introduction()
        if isinstance(known, ProgramFault):
            raise known.again()
        talk = Conversation(self.command)
        world.shared.setdefault(KEPT, []).append(talk)
        if Introduction.of(talk.hello) != known:
            raise talk.fault("hello", "says other things of itself than when it was first started")
        destinations = None if world.destinations is None else sorted(world.destinations)
        directory = str(world.directory)
        args = {"directory": directory, "owner": owner, "destinations": destinations}
        talk.ask(world, "open", args | {"settings": dict(world.settings)})
        return talk


class ProgramSession:
    """One incarnation: one process of the program. Its verbs are those that the program says it can."""

    def __init__(self, talk: Conversation, world: SubjectWorld) -> None:
        self._talk, self._world = talk, world
        self._able = Introduction.of(talk.hello).capabilities
        self._timers: dict[str, ProgramTimer] = {}
        self._counters = Counters() if talk.hello.get("counts") else None
        self._count()

    def __getattr__(self, name: str) -> Callable[..., Answer]:
        verb = verb_named(name)
        if verb is None or not (verb.capability or verb is OWN_VERB):
            raise AttributeError(f"a program has no verb {name!r}")
        asked = verb is OWN_VERB or verb.capability in self._able
        return partial(self._ask, name) if asked else _nothing

    def _ask(self, verb: str, *given: Any, **args: Any) -> Answer:
        try:
            values = self._talk.ask(self._world, verb, args, *given)
        finally:
            self._count()
        return Answer({name: each for name, each in values.items() if name != "handle"}, values.get("handle"))

    def _count(self) -> None:
        if self._counters is not None and self._talk.rows_written is not None:
            self._counters.rows_written = self._talk.rows_written

    def timers(self) -> list[tuple[str, Timer]]:
        if self._talk.asking:
            return []  # it is in the middle of a request, and takes no other
        for name in self._talk.due:
            if name not in self._timers:
                self._timers[name] = ProgramTimer(self, name)
        return [(name or "program", self._timers[name]) for name in self._talk.due]

    def due(self, timer: str) -> float | None:
        """When a timer is due, on boottime."""
        return self._talk.due.get(timer)

    def tick(self, timer: str) -> None:
        """Its time has come. Afterwards it is due when the answer says so."""
        self._talk.due[timer] = None
        try:
            self._talk.ask(self._world, "tick", {"timer": timer} if timer else {})
        finally:
            self._count()

    def counters(self) -> Counters | None:
        return self._counters

    def pause(self) -> None:
        """SIGSTOP."""
        self._talk.child.stop()

    def resume(self) -> None:
        """SIGCONT."""
        self._talk.child.send_signal(signal.SIGCONT)

    def close(self) -> None:
        self._talk.close(self._world)

    def abandon(self) -> None:
        """It crashes: SIGKILL."""
        self._talk.kill()


class ProgramTimer:
    """One timer of a program."""

    def __init__(self, session: ProgramSession, name: str) -> None:
        self._session, self._name = session, name

    def next_due(self) -> float | None:
        return self._session.due(self._name)

    def tick(self) -> None:
        self._session.tick(self._name)


def program_subject(name: str, directory: Path) -> ProgramSubject:
    """The subject that a name such as ``program: python worker.py`` stands for; its words are split as a
    shell does it, and no shell reads them. :class:`pytest.UsageError` where there are none, or where quotes
    do not end. Relative names of files count from ``directory``."""
    import pytest

    text = name.strip().removeprefix(PREFIX).strip()
    try:
        return ProgramSubject(shlex.split(text), directory)
    except ValueError as error:
        raise pytest.UsageError(
            f"the runcoord subject {name!r} is no program: {error}. Write for example "
            "'program: python worker.py'."
        ) from error


def _nothing(*given: Any, **args: Any) -> Answer:
    """A verb that means nothing to the program: claiming is starting, where it does not say otherwise."""
    return Answer({})


def _run_seen(row: dict[str, Any]) -> RunSeen:
    return RunSeen(**row | {"lease": _deadline(row.get("lease"))})


def _event_seen(row: dict[str, Any]) -> EventSeen:
    return EventSeen(**row | {"due": _deadline(row.get("due"))})


def _deadline(said: dict[str, Any] | None) -> Deadline | None:
    if said is None:
        return None
    return Deadline(
        said["wall"], said.get("boottime", 0.0), said.get("boot_id", "") if "boottime" in said else ""
    )
