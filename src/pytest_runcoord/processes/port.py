"""The simulated table as one process sees it: the port :class:`runcoord.ports.Processes`.

Before each answer the port asks its probe whether its own process is still alive, so that a crashed
incarnation neither looks nor signals. Time passes only through the given sleeper.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_runcoord.probed_ports import Probe
from pytest_runcoord.processes.membership import claimed_by, members_among
from pytest_runcoord.processes.process import INIT, Sight, SimProcess
from pytest_runcoord.processes.table import SimTable
from runcoord.errors import InvalidRequest, ProbeFailed, ProcessGone, SignalDenied
from runcoord.ports import (
    Habitat,
    Likeness,
    Look,
    Membership,
    PinnedProcess,
    ProcessIdentity,
    Scan,
    Sighting,
    Sleeper,
    compare,
    is_pid,
    same_place,
)

SOURCE = "linux-proc"
"""Start values of the simulation are those of Linux."""
SCAN_SECONDS = 0.001
"""What a scan takes, on the world's clocks, during which somebody forked: without it a fork without end would
never meet a deadline."""


class SimProcesses:
    """The table, seen from ``own``. ``by`` is what the history calls whoever signals through this."""

    def __init__(
        self, table: SimTable, own: SimProcess, probe: Probe, sleeper: Sleeper, by: str = ""
    ) -> None:
        self.table, self.process = table, own
        self._probe, self._sleeper = probe, sleeper
        self._by = by or own.label

    # --- looking ---

    def habitat(self) -> Habitat:
        self._reach()
        place = self.process.place
        return Habitat(place.host, self.table.boot_id, place.pid_namespace, place.time_namespace, SOURCE)

    def itself(self) -> ProcessIdentity:
        """The process that looks through this."""
        self._reach()
        return self._identity(self.process, "")

    def own(self) -> frozenset[int]:
        process = self.process
        return frozenset({INIT, process.pid, process.group, process.session})

    def identify(self, pid: int, cookie: str = "") -> ProcessIdentity:
        self._reach("before-identify", pid=pid)
        if not _is_number(pid):
            raise ProcessGone(f"{pid!r:.40} is no pid", pid=repr(pid)[:40])
        process = self.table.at(self.process.place, pid)
        if process is None or process.ended:
            raise ProcessGone(f"there is no process {pid}", pid=pid)
        self._look_at(process)
        return self._identity(process, cookie)

    def open(self, identity: ProcessIdentity) -> PinnedProcess:
        self._reach("before-probe", pid=identity.pid)
        self._require_signallable(identity.pid)
        here = self.habitat()
        process = None
        if identity.handle and self.table.handles and same_place(identity.habitat, here) is Likeness.SAME:
            process = self.table.by_serial(self.process.place, int(identity.handle, 16))
        else:
            process = self.table.at(self.process.place, identity.pid)
        if process is None:
            raise ProcessGone(f"there is no process {identity.pid}", pid=identity.pid)
        self._look_at(process)
        return SimPinned(self, process, identity.cookie)

    def scan(self, members: Membership, seconds: float) -> Scan:
        self._reach("before-scan")
        table = self.table
        if table.scan_fault == Sight.HANGS:
            self._sleeper.sleep(seconds)
            return Scan(complete=False, problem="the process table could not be read in time")
        if table.scan_fault:
            return Scan(complete=False, problem=f"the process table cannot be read: {table.scan_fault}")
        everybody = table.here(self.process.place)
        forked = self._fork_behind(everybody)
        found, spared, unreadable = members_among(
            everybody,
            members,
            recorded=self._recorded(everybody, members),
            never=self.own() | {members.ancestor},
        )
        scan = Scan(
            tuple(self._sighting(each, ways) for each, ways in found.items()),
            tuple(self._sighting(each, ()) for each in spared),
            unreadable,
        )
        if forked:
            self._sleeper.sleep(SCAN_SECONDS)
        return scan

    def pin(self, members: Membership, pid: int) -> PinnedProcess | None:
        self._reach("before-pin", pid=pid)
        process = self.table.at(self.process.place, pid)
        if process is None or process.ended:
            return None
        everybody = self.table.here(self.process.place)
        found, _, _ = members_among(
            everybody,
            members,
            recorded=self._recorded(everybody, members),
            never=self.own() | {members.ancestor},
        )
        return SimPinned(self, process, claimed_by(members)) if process in found else None

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
            )
        return bool(forking)

    def _recorded(self, everybody: list[SimProcess], members: Membership) -> set[int]:
        found = set()
        for recorded in members.recorded:
            for process in everybody:
                if process.pid == recorded.pid and self.compare(process, recorded).likeness is Likeness.SAME:
                    found.add(process.serial)
        return found

    def _sighting(self, process: SimProcess, ways: object) -> Sighting:
        return Sighting(
            self._identity(
                process, process.cookies[-1] if process.cookies and not process.environment_closed else ""
            ),
            frozenset(ways),  # type: ignore[call-overload]
            process.state,
            process.name,
            process.parent.pid if process.parent is not None else 0,
            "uninterruptible wait" if process.unkillable else "",
        )

    # --- what pinned processes ask ---

    def compare(self, process: SimProcess, recorded: ProcessIdentity) -> Look:
        """What a process is, against a record."""
        if process.sight is not Sight.PLAIN:
            return Look(Likeness.UNKNOWN, process.ended, why=_UNSEEN[process.sight])
        found = recorded.cookie if process.belongs(recorded.cookie) else ""
        readable = not process.environment_closed and not process.ended
        seen = self._identity(process, found)
        likeness = compare(recorded, seen, cookie_read=readable)
        why = "" if likeness is not Likeness.UNKNOWN else "nothing that was read proves which process it is"
        return Look(likeness, process.ended, process.state, process.name, why)

    def _identity(self, process: SimProcess, cookie: str) -> ProcessIdentity:
        handle = f"{process.serial:016x}" if self.table.handles else ""
        shift = round(self.process.place.time_offset * 100)
        return ProcessIdentity(process.pid, process.start + shift, self.habitat(), handle, cookie)

    def send(self, process: SimProcess, number: int, way: str, claimed: str) -> str:
        """Send a signal, with the moments around it."""
        self._reach("before-signal", pid=process.pid, signal=number)
        result = self.table.send(process, number, by=self._by, way=way, claimed=claimed)
        self._reach("after-signal", pid=process.pid, signal=number)
        return result

    # --- signals and waiting ---

    def signal_group(self, leader: PinnedProcess, number: int) -> None:
        assert isinstance(leader, SimPinned)
        process = leader.process
        if process.pid in self.own():
            raise InvalidRequest(f"group {process.pid} is this process's own", pid=process.pid)
        holder = self.table.at(process.place, process.pid)
        group = [
            each for each in self.table.here(process.place) if each.group == process.pid and not each.ended
        ]
        if (holder is not None and holder is not process) or not group:
            raise ProcessGone(f"there is no group {process.pid}", pid=process.pid)
        results = {self.send(each, number, "group", leader.claimed) for each in group}
        if "sent" not in results:
            raise SignalDenied(f"no member of group {process.pid} may be signalled", pid=process.pid)

    def wait(self, pinned: Sequence[PinnedProcess], seconds: float) -> None:
        end = self.table.clock.monotonic() + seconds
        while True:
            self._reach()
            left = end - self.table.clock.monotonic()
            if left <= 0 or all(each.ended() for each in pinned):
                return
            following = self.table.until_next()
            self._sleeper.sleep(left if following is None else min(left, max(following, 0.0)))

    # --- being there at all ---

    def _reach(self, moment: str = "", **data: object) -> None:
        self._probe.reach(moment, **data)

    def _look_at(self, process: SimProcess) -> None:
        if process.sight is Sight.HANGS:
            self._probe.hang()
        if process.sight is not Sight.PLAIN:
            raise ProbeFailed(f"process {process.pid}: {_UNSEEN[process.sight]}", pid=process.pid)

    def _require_signallable(self, pid: object) -> None:
        if not is_pid(pid) or pid in self.own():
            raise InvalidRequest(
                f"{pid!r:.40} is no process that a run can have",
                remedy="Nothing is signalled; correct the record.",
                pid=repr(pid)[:40],
            )


_UNSEEN = {
    Sight.NOTHING: "its identity cannot be read",
    Sight.DENIED: "the system does not permit to look at it",
    Sight.HANGS: "looking at it does not return",
}


def _is_number(pid: object) -> bool:
    return isinstance(pid, int) and not isinstance(pid, bool) and pid > 0


class SimPinned:
    """One process of the table, held: its pid cannot come to mean another one through this."""

    def __init__(self, seen_by: SimProcesses, process: SimProcess, claimed: str) -> None:
        self._seen_by, self.process = seen_by, process
        self.claimed = claimed
        """The run that it was opened for: its cookie, where that is known."""
        self.identity = seen_by._identity(process, claimed if process.belongs(claimed) else "")

    def look(self, recorded: ProcessIdentity) -> Look:
        self._seen_by._reach("before-look", pid=self.process.pid)
        self._seen_by.table.settle()
        return self._seen_by.compare(self.process, recorded)

    def ended(self) -> bool:
        self._seen_by.table.settle()
        return self.process.ended

    def exit_status(self) -> int | None:
        self._seen_by._reach()
        return self.process.status if self.ended() and self._seen_by.table.tells_status else None

    def signal(self, number: int) -> None:
        result = self._seen_by.send(self.process, number, "pin", self.claimed)
        if result == "gone":
            raise ProcessGone(f"process {self.process.pid} has ended", pid=self.process.pid)
        if result == "denied":
            raise SignalDenied(f"process {self.process.pid} may not be signalled", pid=self.process.pid)

    def close(self) -> None:
        """Nothing is held that costs anything."""
