"""The processes of one world: the table, where owners live, what scenarios call things by.

Nothing of it exists before something asks for it: a scenario without processes does not pay for them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from pytest_runcoord.history import History
from pytest_runcoord.incarnation import GONE, Incarnation, Life
from pytest_runcoord.probed_ports import Probe
from pytest_runcoord.processes import Place, Sight, SignalSent, SimProcess, SimProcesses, SimTable
from pytest_runcoord.promises import Promise, Promises
from pytest_runcoord.timekeeper import Timekeeper
from pytest_runcoord.world_errors import ScenarioMistake
from runcoord.ports import Bounded, Habitat, LaunchOrder, ProcessIdentity, Sleeper
from runcoord.testing import ManualClock
from runcoord.values import field, record

if TYPE_CHECKING:
    from pytest_runcoord.processes.launching import SimLauncher
    from pytest_runcoord.processes.plans import Plan
    from pytest_runcoord.processes.shim import SimShim

COOKIE_DIGITS = 32
SHARED = "shared"
"""The machine of everybody, where a scenario says so."""


class Around(Protocol):
    """What the processes need of their world."""

    clock: ManualClock
    history: History
    time: Timekeeper
    plan: Any
    owners: dict[str, Incarnation]


@record
class Seat:
    """One incarnation's own process, and its ports."""

    processes: SimProcesses
    launcher: SimLauncher


@record
class ProcessWorld:
    """See the module. ``machines`` maps owners to machines; without it each name has one of its own."""

    world: Around
    places: dict[str, Place] = field(default_factory=dict)
    """Where owners start, as steps said."""
    programs: dict[str, Plan] = field(default_factory=dict)
    """Commands that a launched tree may execute."""
    shim_names: dict[str, str] = field(default_factory=dict)
    """What scenarios call shims, by the name of the command."""
    cookies: dict[str, str] = field(default_factory=dict)
    """The run of each cookie that was given out."""
    signals: list[SignalSent] = field(default_factory=list)
    power_off: bool = False
    """The machine stops: nobody has time to react."""
    inside: dict[str, str] = field(default_factory=dict)
    """The run in which a run was started, for those that were started in one."""
    strangers_met: int = 0
    """How often somebody held a process that belongs to no run, for a record."""
    _table: SimTable | None = None
    _seats: dict[int, Seat] = field(default_factory=dict)
    _offered: dict[int, tuple[Probe, Sleeper, Bounded]] = field(default_factory=dict)
    _promises: Promises | None = None

    # --- the table ---

    @property
    def used(self) -> bool:
        """Whether there is a table at all."""
        return self._table is not None

    @property
    def table(self) -> SimTable:
        if self._table is None:
            world = self.world
            handles = world.plan.kernel_handles
            self._table = table = SimTable(world.clock, handles=handles)
            table.signal_watchers.append(self._signalled)
            table.hold_watchers.append(self._held)
            table.schedule_watchers.append(lambda seconds: world.time.alarm(max(0.0, seconds), table.settle))
            promises, self._promises = self._promises, None
            for promise in [] if promises is None else promises.keep(table):
                assert promise.process is not None
                self._seated(promise.incarnation, promise.process)
        return self._table

    def _held(self, process: SimProcess) -> None:
        if not process.run:
            self.strangers_met += 1

    def _signalled(self, sent: SignalSent) -> None:
        self.signals.append(sent)
        if not sent.number:
            return
        process = sent.process
        self.world.history.add(
            "signal",
            sent.by,
            f"{sent.signal} to {process.label}",
            sent.result,
            pid=process.pid,
            of=process.run,
            way=sent.way,
            meant=self.cookies.get(sent.claimed, ""),
            serial=process.serial,
        )

    # --- runs and their cookies ---

    def cookie_of(self, run: str) -> str:
        """The cookie of a run: always the same in one scenario and every other."""
        cookie = hashlib.sha256(run.encode()).hexdigest()[:COOKIE_DIGITS]
        self.cookies[cookie] = run
        return cookie

    def run_of(self, cookie: str) -> str:
        """See :class:`pytest_runcoord.processes.launching.Launching`."""
        return self.cookies.get(cookie, cookie)

    def label_for(self, order: LaunchOrder) -> str:
        """See :class:`pytest_runcoord.processes.launching.Launching`."""
        return self.programs[order.argv[0]].name if order.argv[0] in self.programs else order.argv[0]

    def shim_label_for(self, order: LaunchOrder) -> str:
        """See :class:`pytest_runcoord.processes.launching.Launching`."""
        label = self.label_for(order)
        return self.shim_names.get(label, f"{label}-shim")

    # --- owners ---

    def place_of(self, owner: str) -> Place:
        """Where an owner lives: each name on a machine of its own, unless the scenario says otherwise."""
        said = self.places.get(owner)
        if said is not None:
            return said
        machines: dict[str, str] | str = self.world.plan.machines
        if isinstance(machines, str):
            return Place(host=machines if machines == SHARED else f"machine of {owner}")
        named = machines.get(owner)
        everybody = set(machines.values())
        if named is None and len(everybody) == 1:
            named = next(iter(everybody))
        return Place(host=named or f"machine of {owner}")

    def offer(self, incarnation: Incarnation, probe: Probe, sleeper: Sleeper, bounded: Bounded) -> None:
        """What the ports of an incarnation are made with, should it ever use them."""
        self._offered[id(incarnation)] = probe, sleeper, bounded

    def seat(self, incarnation: Incarnation) -> Seat:
        """The process and the ports of an incarnation, made at first use."""
        table = self.table
        found = self._seats.get(id(incarnation))
        if found is None:
            place = self.place_of(incarnation.owner)
            own = table.start(incarnation.owner, place=place, environment={}, name="gateway")
            found = self._seated(incarnation, own)
        return found

    def _seated(self, incarnation: Incarnation, own: SimProcess) -> Seat:
        from pytest_runcoord.processes.launching import SimLauncher

        probe, sleeper, bounded = self._offered[id(incarnation)]
        processes = SimProcesses(self.table, own, probe, sleeper, by=incarnation.owner)
        found = self._seats[id(incarnation)] = Seat(processes, SimLauncher(self, processes, sleeper, bounded))
        return found

    def habitat(self, incarnation: Incarnation) -> Habitat:
        """Where an incarnation lives. It needs no table."""
        promise = self._promise(incarnation)
        return self.seat(incarnation).processes.habitat() if promise is None else promise.habitat

    def itself(self, incarnation: Incarnation) -> ProcessIdentity:
        """The identity of an incarnation's own process. It needs no table."""
        promise = self._promise(incarnation)
        if promise is None or self._promises is None:
            return self.seat(incarnation).processes.itself()
        return self._promises.identity(promise)

    def _promise(self, incarnation: Incarnation) -> Promise | None:
        """What an incarnation was promised, now at the latest; ``None`` where there is a table."""
        if self._table is not None:
            return None
        if self._promises is None:
            self._promises = Promises(self.world.clock, self.world.plan.kernel_handles)
        made = self._promises.made_to(incarnation)
        return made or self._promises.make(incarnation, self.place_of(incarnation.owner))

    def within_sight(self, one: Incarnation, other: Incarnation) -> bool:
        """Whether pids of one mean something to the other: one machine, and one set of namespaces."""
        return self._place(one) == self._place(other)

    def provable_deaths(self, incarnations: list[Incarnation]) -> int:
        """How many of them have ended where another one is, or was."""
        places = [self._place(each) for each in incarnations]
        return sum(
            each.life in GONE and places.count(place) > 1
            for each, place in zip(incarnations, places, strict=True)
        )

    def _place(self, incarnation: Incarnation) -> Place:
        seat = self._seats.get(id(incarnation))
        if seat is not None:
            return seat.processes.process.place
        promise = None if self._promises is None else self._promises.made_to(incarnation)
        return self.place_of(incarnation.owner) if promise is None else promise.place

    def shims(self) -> Iterable[SimShim]:
        """Every shim of this world, oldest first."""
        return (shim for seat in self._seats.values() for shim in seat.launcher.shims)

    def shim_of(self, run: str) -> SimShim:
        """The newest shim of a run."""
        found = [shim for shim in self.shims() if self.run_of(shim.order.cookie) == run]
        if not found:
            raise ScenarioMistake(f"{run} hangs on no shim", "Spawn it with 'shim: true'.")
        return found[-1]

    def died(self, incarnation: Incarnation) -> None:
        """An incarnation crashed or was closed: its process ends, and the shims that it held notice."""
        status = -9 if incarnation.life is Life.CRASHED else 0
        promise = None if self._promises is None else self._promises.made_to(incarnation)
        if promise is not None and not self.power_off:
            promise.status = status
        elif promise is not None:
            self.seat(incarnation)  # whoever lived in the boot that ends now is in the table
        seat = self._seats.get(id(incarnation))
        if seat is None or self.power_off:
            return
        self.table.exit(seat.processes.process, status)
        seat.launcher.owner_is_gone()

    def mend(self) -> None:
        """What hangs, or cannot be read for a while, can be looked at from now on. What a system does not
        permit, and what cannot be killed, stays so."""
        if self._table is None:
            return
        self._table.scan_fault = ""
        for process in self._table.everyone:
            if process.sight is Sight.HANGS:
                process.sight = Sight.PLAIN

    def end(self) -> None:
        """The scenario is over."""
        for seat in self._seats.values():
            seat.launcher.end()

    # --- names ---

    def find(self, label: str) -> SimProcess:
        """The process that the scenario calls so; an owner's own process has its name."""
        self.table.settle()
        found = self.table.labelled.get(label)
        if found is None and label in self.world.owners:
            found = self.seat(self.world.owners[label]).processes.process
        if found is None:
            raise ScenarioMistake(f"no process is called {label!r} yet", "Spawn it above this step.")
        return found

    def plant(self, plan: Plan, parent: SimProcess | None, **more: Any) -> SimProcess:
        """Start the process of a plan under ``parent``, and all below it; ``more`` is the topmost's."""
        from pytest_runcoord.processes.plans import plant

        return plant(self.table, plan, parent, **more)

    def until(self, so: Callable[[], bool]) -> None:
        """Give those who act by themselves time to bring something about: none of them does here."""

    def waiting_to_be_let_go(self, owner: str) -> frozenset[int]:
        """Pids of shims that ``owner`` has yet to tell that an outcome is recorded; simulated ones are told
        in the same moment."""
        return frozenset()

    def living_of(self, run: str) -> list[SimProcess]:
        """The processes that truly belong to a run and have not ended."""
        if self._table is None:
            return []
        return [each for each in self._table.living() if each.run == run]
