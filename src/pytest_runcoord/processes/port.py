"""The simulated table as one process sees it: the port :class:`runcoord.ports.Processes`.

Before each answer the port asks its probe whether its own process is still alive, so that a crashed
incarnation neither looks nor signals. Time passes only through the given sleeper.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_runcoord.probed_ports import Probe
from pytest_runcoord.processes.membership import Members, claimed_by, members_among
from pytest_runcoord.processes.pinned import UNSEEN, SimPinned, compared
from pytest_runcoord.processes.process import INIT, TICKS_PER_SECOND, Place, Sight, SimProcess
from pytest_runcoord.processes.requests import (
    require_membership,
    require_not_own,
    require_pid,
    require_signal,
)
from pytest_runcoord.processes.table import SimTable
from runcoord.errors import ProbeFailed, ProcessGone, SignalDenied
from runcoord.ports import (
    Found,
    Guarantees,
    Habitat,
    Likeness,
    Membership,
    PinnedProcess,
    ProcessIdentity,
    Scan,
    Sighting,
    Sleeper,
    same_place,
)

SOURCE = "linux-proc"
"""Start values of the simulation are those of Linux."""


def habitat_of(place: Place, boot_id: str) -> Habitat:
    """Where records say that a process lives."""
    return Habitat(place.host, boot_id, place.pid_namespace, place.time_namespace, SOURCE)


def identity_of(
    place: Place, habitat: Habitat, pid: int, start: int, serial: int, cookie: str = ""
) -> ProcessIdentity:
    """A process as those see it who live where it does; a ``serial`` of 0 is that of no handle."""
    shift = round(place.time_offset * TICKS_PER_SECOND)
    handle = f"{serial:016x}" if serial else ""
    return ProcessIdentity(pid, start + shift, habitat, handle, cookie)


class SimProcesses:
    """The table, seen from ``own``. ``by`` is what the history calls whoever signals through this."""

    def __init__(
        self, table: SimTable, own: SimProcess, probe: Probe, sleeper: Sleeper, by: str = ""
    ) -> None:
        self.table, self.process = table, own
        self._probe, self._sleeper = probe, sleeper
        self._by = by or own.label

    # --- where, and who ---

    def habitat(self) -> Habitat:
        self.reach()
        return habitat_of(self.process.place, self.table.boot_id)

    def guarantees(self) -> Guarantees:
        return Guarantees(
            platform="simulated",
            durable_handle=self.table.handles,
            pinned=True,
            group_in_one_step=True,
            ends_by_event=True,
        )

    def itself(self) -> ProcessIdentity:
        return self.identity_of(self.process)

    def own(self) -> frozenset[int]:
        process = self.process
        return frozenset({INIT, process.pid, process.group, process.session})

    # --- looking ---

    def identify(self, pid: int, cookie: str = "") -> ProcessIdentity:
        self.reach("before-identify", pid=pid)
        require_pid(pid)
        process = self.table.at(self.process.place, pid)
        if process is None or process.ended:
            raise ProcessGone(f"there is no process {pid}", pid=pid)
        self.look_at(process)
        return self.identity_of(process, cookie)

    def open(self, identity: ProcessIdentity) -> PinnedProcess:
        self.reach("before-probe", pid=identity.pid)
        require_pid(identity.pid)
        place = same_place(identity.habitat, self.habitat())
        if place is Likeness.DIFFERENT:
            raise ProcessGone(f"process {identity.pid} ended with an earlier boot", pid=identity.pid)
        if place is Likeness.UNKNOWN:
            raise ProbeFailed(f"process {identity.pid} was recorded elsewhere", pid=identity.pid)
        process = self.table.at(self.process.place, identity.pid)
        if process is None:
            raise ProcessGone(f"there is no process {identity.pid}", pid=identity.pid)
        for watcher in self.table.hold_watchers:
            watcher(process)
        self.look_at(process)
        return SimPinned(self, process, identity.cookie)

    def scan(self, members: Membership, seconds: float) -> Scan:
        self.reach("before-scan")
        require_membership(members, self.own(), self.process.pid)
        fault = self.table.scan_fault
        if fault == Sight.HANGS or seconds <= 0:
            self._sleeper.sleep(max(0.0, seconds))
            return Scan(complete=False, problem="the process table could not be read in time")
        if fault:
            return Scan(complete=False, problem=f"the process table cannot be read: {fault}")
        everybody = self.table.here(self.process.place)
        forked = self._fork_behind(everybody)
        seen = self._members(everybody, members)
        scan = Scan(
            tuple(self._sighting(each, ways, members.cookie) for each, ways in seen.found.items()),
            tuple(self._sighting(each, ways, members.cookie) for each, ways in seen.spared.items()),
            seen.unreadable,
        )
        if forked:
            self._sleeper.sleep(self.table.forked_scan_seconds)
        return scan

    def pin(self, members: Membership, pid: int) -> PinnedProcess | None:
        self.reach("before-pin", pid=pid)
        require_pid(pid)
        require_not_own(pid, self.own())
        require_membership(members, self.own(), self.process.pid)
        process = self.table.at(self.process.place, pid)
        if process is None or process.ended:
            return None
        seen = self._members(self.table.here(self.process.place), members)
        return SimPinned(self, process, claimed_by(members)) if process in seen.found else None

    def _members(self, everybody: list[SimProcess], members: Membership) -> Members:
        recorded = {each.pid: each for each in members.recorded}

        def is_recorded(process: SimProcess) -> bool:
            record = recorded.get(process.pid)
            if record is None or process.sight is not Sight.PLAIN:
                return False
            return compared(self, process, record).likeness is Likeness.SAME

        return members_among(everybody, members, is_recorded=is_recorded, never=self.own())

    def _fork_behind(self, everybody: list[SimProcess]) -> bool:
        """Processes that fork where this scan has been already."""
        forking = [each for each in everybody if each.forks_on_scan > 0 and not each.ended]
        for parent in forking:
            parent.forks_on_scan -= 1
            self.table.start(
                f"{parent.label}+{parent.forks_on_scan}",
                parent=parent,
                name=parent.name,
                forks_on_scan=parent.forks_on_scan,
                ends_on_scan=parent.ends_on_scan,
            )
            if parent.ends_on_scan:
                self.table.exit(parent)
        return bool(forking)

    def _sighting(self, process: SimProcess, ways: Iterable[Found], cookie: str) -> Sighting:
        seen = self.identity_of(process, cookie)
        return Sighting(
            ProcessIdentity(seen.pid, seen.start, seen.habitat, "", cookie),  # a scan pins nothing
            frozenset(ways),
            process.state,
            process.name,
            process.parent.pid if process.parent is not None else 0,
            "uninterruptible wait" if process.unkillable else "",
        )

    # --- what pinned processes ask ---

    def identity_of(self, process: SimProcess, cookie: str = "") -> ProcessIdentity:
        """What can be read of a process, with this cookie."""
        serial = process.serial if self.table.handles else 0
        return identity_of(self.process.place, self.habitat(), process.pid, process.start, serial, cookie)

    def look_at(self, process: SimProcess) -> None:
        """Raise ``ProbeFailed``, or hang, when that process cannot be looked at."""
        if process.sight is Sight.HANGS:
            self._probe.hang()
        if process.sight is not Sight.PLAIN:
            raise ProbeFailed(f"process {process.pid}: {UNSEEN[process.sight]}", pid=process.pid)

    def send(self, process: SimProcess, number: int, way: str, claimed: str) -> str:
        """Send a signal, with the moments around it; gives what came of it."""
        require_not_own(process.pid, self.own())
        require_signal(number)
        self.reach("before-signal", pid=process.pid, signal=number)
        result = self.table.send(process, number, by=self._by, way=way, claimed=claimed)
        self.reach("after-signal", pid=process.pid, signal=number)
        return result

    def settle(self) -> None:
        self.table.settle()

    @property
    def tells_status(self) -> bool:
        return self.table.tells_status

    # --- groups, and waiting ---

    def signal_group(self, leader: PinnedProcess, number: int) -> None:
        self.reach()
        assert isinstance(leader, SimPinned)
        process = leader.process
        require_not_own(process.pid, self.own())
        holder = self.table.at(process.place, process.pid)
        here = self.table.here(process.place)
        group = [each for each in here if each.group == process.pid]
        if (holder is not None and holder is not process) or not group:
            raise ProcessGone(f"there is no group {process.pid}", pid=process.pid)
        if number == 0:  # whether there is one
            return
        # All at once: what one of them does about it comes after everybody was signalled.
        results = [self.send(each, number, "group", leader.claimed) for each in group if not each.ended]
        if results and "sent" not in results:
            raise SignalDenied(f"no member of group {process.pid} may be signalled", pid=process.pid)

    def wait(self, pinned: Sequence[PinnedProcess], seconds: float) -> None:
        end = self.table.now() + seconds
        while any(not each.ended() for each in pinned):
            self.reach()
            left = end - self.table.now()
            if left <= 0:
                return
            following = self.table.until_next()
            self._sleeper.sleep(left if following is None else min(left, max(following, 0.0)))

    def reach(self, moment: str = "", **data: object) -> None:
        """Tell the world where its incarnation is; raises when that is dead."""
        self._probe.reach(moment, **data)
