"""A process table that exists only here: pids, parents, groups, zombies and signals as Linux has them.

It has no clock of its own. What is to happen later (a handler that takes a second, an init that reaps late)
happens when the given clock has come that far, in the order of time, before anything else is answered.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pytest_runcoord.processes.delivery import deliver, go_on
from pytest_runcoord.processes.numbers import FIRST_PID, LAST_PID, Numbers, Places, TableFull
from pytest_runcoord.processes.process import (
    INIT,
    KILL,
    TICKS_PER_SECOND,
    Ignored,
    Life,
    Place,
    SignalSent,
    SimProcess,
)
from runcoord.ports import Clock

MAX_PROCESSES = 20_000
"""Processes of one table: more is a scenario that forks without end."""
MAX_EVENTS = 200_000
"""Things that happen later, in one table."""
INIT_LABEL = "init"
FORKED_SCAN_SECONDS = 0.001
"""What a scan takes, on the world's clocks, during which somebody forked: without it a fork without end would
never meet a deadline."""
ROUNDING_SECONDS = 1e-9
"""What adding up times may lose; what is due by then is due now."""


def ticks_of(boottime: float) -> int:
    """Ticks since boot at this many seconds since boot."""
    return int(round(boottime * TICKS_PER_SECOND, 3))


class NumberTaken(Exception):
    """A pid cannot be given: a process, a group or a session has this number."""


class SimTable:
    """Processes of all places of one world.

    ``handles``: whether the kernel gives durable handles. ``tells_status``: whether it tells others than the
    parent how a process ended.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        handles: bool = True,
        tells_status: bool = True,
        pids: tuple[int, int] = (FIRST_PID, LAST_PID),
    ) -> None:
        self.clock = clock
        self.handles, self.tells_status = handles, tells_status
        self.labelled: dict[str, SimProcess] = {}
        """Scenario names of processes; a name that is used again means the newest."""
        self.everyone: list[SimProcess] = []
        """Every process of this boot but init, ended ones too, in the order of their start."""
        self.signal_watchers: list[Callable[[SignalSent], None]] = []
        self.change_watchers: list[Callable[[SimProcess], None]] = []
        self.hold_watchers: list[Callable[[SimProcess], None]] = []
        """Told of each process that somebody held for a record."""
        self.schedule_watchers: list[Callable[[float], None]] = []
        """Told in how many seconds something is to happen."""
        self.init_reaps_after: float | None = 0.0
        """Given to every init. None: it never reaps."""
        self.scan_fault: str = ""
        """What every scan meets: ``nothing``, ``denied`` or ``hangs``."""
        self.forked_scan_seconds = FORKED_SCAN_SECONDS
        self._serials = itertools.count(1)
        self._places = Places(pids)
        self._events: list[tuple[float, int, Callable[[], None], bool]] = []
        self._event_numbers = itertools.count()
        self._happening: float | None = None
        self._in_fiber = False
        self._boot = clock.boot_id()

    # --- time ---

    def settle(self) -> None:
        """Let everything happen that is due by now. After a reboot nothing is left."""
        if self.clock.boot_id() != self._boot:
            self._restart()
        if not self._events:
            return
        if self._happening is not None and not self._in_fiber:
            return  # one thing happens whole before the next one
        by = self.now() + ROUNDING_SECONDS
        while self._events and self._events[0][0] <= by:
            at, _, action, is_fiber = heapq.heappop(self._events)
            outer = self._happening, self._in_fiber
            self._happening, self._in_fiber = at, is_fiber
            try:
                action()
            finally:
                self._happening, self._in_fiber = outer

    def later(self, seconds: float, action: Callable[[], None], *, is_fiber: bool = False) -> None:
        """Do something ``seconds`` from now. Time in which the machine sleeps does not count. A stretch of a
        fiber looks at the table itself, and so sees what happens at the same time."""
        number = next(self._event_numbers)
        if number > MAX_EVENTS:
            raise TableFull(f"more than {MAX_EVENTS} things were to happen later")
        at = self.now() + seconds
        heapq.heappush(self._events, (at, number, action, is_fiber))
        for watcher in self.schedule_watchers:
            watcher(at - self.clock.monotonic())

    def until_next(self) -> float | None:
        """Seconds until the next thing happens by itself; ``None`` when nothing will."""
        self.settle()
        return self._events[0][0] - self.now() if self._events else None

    def now(self) -> float:
        """The monotonic clock at what happens now, which may be seen only later."""
        return self.clock.monotonic() if self._happening is None else self._happening

    def ticks(self) -> int:
        """Ticks since boot at this moment."""
        late = self.clock.monotonic() - self.now()
        return ticks_of(self.clock.boottime() - late)

    @property
    def boot_id(self) -> str:
        self.settle()
        return self._boot

    def _restart(self) -> None:
        self._boot = self.clock.boot_id()
        gone, self.everyone = self.everyone, []
        self._places.clear()
        self._events.clear()
        for process in gone:
            if process.life is not Life.REAPED:
                process.life, process.status = Life.REAPED, -KILL
                self.changed(process)

    # --- finding ---

    def at(self, place: Place, pid: int) -> SimProcess | None:
        """Who has a pid now, ended but not reaped ones too."""
        self.settle()
        return self._numbers(place).holders.get(pid)

    def holder(self, place: Place, pid: int) -> SimProcess | None:
        """The same, as of what has happened already: for those who are told of changes."""
        numbers = self._places.of(place)
        return None if numbers is None else numbers.holders.get(pid)

    def by_serial(self, place: Place, serial: int) -> SimProcess | None:
        """The process with a handle, unless it was reaped."""
        for process in self.here(place):
            if process.serial == serial:
                return process
        return None

    def here(self, place: Place) -> list[SimProcess]:
        """Every process of a place that was not reaped."""
        self.settle()
        return list(self._numbers(place).holders.values())

    def living(self) -> Iterator[SimProcess]:
        """Every process of every place that has not ended."""
        self.settle()
        return (process for process in self.everyone if not process.ended)

    def _numbers(self, place: Place) -> Numbers:
        found = self._places.of(place)
        if found is None:
            found = self._places.begin(place)
            self._enter(INIT, place, None, INIT_LABEL, reaps_after=self.init_reaps_after)
        return found

    def set_init_reaping(self, seconds: float | None) -> None:
        """From now on every init reaps after so long; None: never."""
        self.init_reaps_after = seconds
        for numbers in self._places.all():
            numbers.holders[INIT].reaps_after = seconds

    def init(self, place: Place) -> SimProcess:
        """The process that orphans of a place come to."""
        return self._numbers(place).holders[INIT]

    # --- starting ---

    def start(
        self,
        label: str,
        *,
        parent: SimProcess | None = None,
        place: Place | None = None,
        pid: int = 0,
        start: int | None = None,
        **more: Any,
    ) -> SimProcess:
        """A new process: a child of ``parent`` with its group, session, environment and run, or of init, in a
        session of its own. ``more`` are fields of :class:`SimProcess`.

        Raises :class:`NumberTaken` for a ``pid`` that a process, a group or a session has.
        """
        self.settle()
        if parent is not None:
            place = parent.place
        place = place or Place()
        numbers = self._numbers(place)
        if pid and numbers.taken(pid):
            holder = next(
                each for each in numbers.holders.values() if pid in (each.pid, each.group, each.session)
            )
            raise NumberTaken(f"{pid} is the number of a process, a group or a session: see {holder.label}")
        number = pid or numbers.next_free()
        if parent is None:
            more.setdefault("group", number)
            more.setdefault("session", number)
        process = self._enter(number, place, parent or numbers.holders[INIT], label, **more)
        if start is not None:
            process.start = start
        self.changed(process)
        return process

    def _enter(
        self, pid: int, place: Place, parent: SimProcess | None, label: str, **more: Any
    ) -> SimProcess:
        if len(self.everyone) >= MAX_PROCESSES:
            raise TableFull(f"more than {MAX_PROCESSES} processes were started")
        if parent is not None and parent.pid != INIT:
            more.setdefault("environment", dict(parent.environment))
            for name in ("group", "session", "run", "user"):
                more.setdefault(name, getattr(parent, name))
            ignored = {n: each for n, each in parent.dispositions.items() if isinstance(each, Ignored)}
            more.setdefault("dispositions", ignored)
        more.setdefault("group", pid)
        more.setdefault("session", pid)
        more.setdefault("name", label)
        more.setdefault("argv", (more["name"],))
        process = SimProcess(
            pid=pid,
            start=self.ticks(),
            serial=next(self._serials),
            place=place,
            parent=parent,
            label=label,
            **more,
        )
        self._numbers(place).enter(process)
        if parent is not None:
            self.everyone.append(process)
            parent.children.append(process)
            self.labelled[label] = process
        return process

    def new_session(self, process: SimProcess) -> None:
        """``setsid``: it leads a session and a group of its own. A group's leader cannot."""
        self.settle()
        if process.group == process.pid:
            raise NumberTaken(f"{process} leads a group already")
        process.session = process.group = process.pid
        self.changed(process)

    def new_group(self, process: SimProcess) -> None:
        """``setpgid(0, 0)``, as a shell does for a job and ``timeout`` for its command."""
        self.settle()
        process.group = process.pid
        self.changed(process)

    def execute(
        self, process: SimProcess, *, name: str = "", environment: Mapping[str, str] | None = None
    ) -> None:
        """It executes another program: handlers are gone, what is ignored stays ignored."""
        self.settle()
        process.dispositions = {n: d for n, d in process.dispositions.items() if isinstance(d, Ignored)}
        process.name = name or process.name
        if environment is not None:
            process.environment = dict(environment)
        self.changed(process)

    # --- ending ---

    def exit(self, process: SimProcess, status: int = 0) -> None:
        """It ends, with all of its threads; its children come to the next subreaper, or to init."""
        self.settle()
        if process.ended:
            return
        process.life, process.status = Life.ZOMBIE, status
        process.first_thread_ended = process.gate = False
        process.pending.clear()
        adopter = self._adopter(process)
        for child in list(process.children):
            self._adopt(adopter, child)
        self.changed(process)
        self._offer_to_parent(process)

    def reap(self, process: SimProcess) -> int | None:
        """Its parent has asked how it ended: nothing of it is left, its pid is free."""
        self.settle()
        if process.life is Life.ZOMBIE:
            process.life = Life.REAPED
            self._numbers(process.place).holders.pop(process.pid, None)
            if process.parent is not None and process in process.parent.children:
                process.parent.children.remove(process)
            self.changed(process)
        return process.status

    def orphan(self, process: SimProcess) -> None:
        """Its parent is gone, as after a double fork: it comes to the next subreaper, or to init."""
        self.settle()
        self._adopt(self._adopter(process), process)

    def _adopter(self, process: SimProcess) -> SimProcess:
        for above in process.line():
            if above.subreaper and not above.ended:
                return above
        return self.init(process.place)

    def _adopt(self, adopter: SimProcess, child: SimProcess) -> None:
        assert child.parent is not None
        child.parent.children.remove(child)
        child.parent = adopter
        adopter.children.append(child)
        self.changed(child)
        if child.life is Life.ZOMBIE:
            self._offer_to_parent(child)

    def _offer_to_parent(self, process: SimProcess) -> None:
        parent = process.parent
        if parent is None or parent.reaps_after is None:
            return
        if parent.reaps_after:
            self.later(parent.reaps_after, lambda: self._reap_late(process, parent))
        elif not parent.ended:
            self.reap(process)

    def _reap_late(self, process: SimProcess, parent: SimProcess) -> None:
        if process.parent is parent and not parent.ended:
            self.reap(process)

    # --- signals ---

    def send(self, process: SimProcess, number: int, *, by: str, way: str = "pin", claimed: str = "") -> str:
        """Send a signal: ``sent``, ``gone`` (it has ended) or ``denied``. Watchers are told before anything
        happens."""
        self.settle()
        if process.ended:
            result = "gone"
        else:
            result = "sent" if process.permits(number) else "denied"
        sent = SignalSent(by, process, number, result, way, claimed)
        for watcher in self.signal_watchers:
            watcher(sent)
        if result == "sent" and number:
            deliver(self, process, number)
        return result

    def send_quietly(self, process: SimProcess, number: int) -> None:
        """A signal from outside of the story: nobody is told of it."""
        self.settle()
        if not process.ended:
            deliver(self, process, number)

    def release(self, process: SimProcess) -> None:
        """An uninterruptible wait, or the wait behind a gate, is over: what is pending takes effect."""
        self.settle()
        process.unkillable = process.gate = False
        self.changed(process)
        go_on(self, process)

    # --- telling ---

    def changed(self, process: SimProcess) -> None:
        """Something of a process is not what it was."""
        for watcher in self.change_watchers:
            watcher(process)
