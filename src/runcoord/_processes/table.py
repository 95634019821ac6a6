"""The table of processes, over whatever a system says of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from runcoord._core.identity import Habitat, Likeness, ProcessIdentity, is_pid, same_place
from runcoord._core.looks import Guarantees
from runcoord._core.teardown import Membership, Scan
from runcoord._processes import pidfd
from runcoord._processes.own import FORKS, own_numbers
from runcoord._processes.pinned import (
    AnyProcess,
    HeldProcess,
    NumberedProcess,
    Place,
    hidden,
    read_row,
    refuse_own,
    wait_for_ends,
    why_elsewhere,
)
from runcoord._processes.requests import require_group, require_membership, require_pid
from runcoord._processes.rows import Rows
from runcoord.errors import InvalidRequest, ProbeFailed, ProcessGone

TYPE_CHECKING = False  # that of typing, which is not loaded for the process that a run hangs on
if TYPE_CHECKING:
    from runcoord._process_ports import PinnedProcess
    from runcoord._processes.elders import Elders
    from runcoord._processes.proof import Proof
    from runcoord._processes.strangers import Strangers


class ProcessTable:
    """:class:`runcoord.ports.Processes`. A system fills in the last two methods."""

    platform = ""

    def __init__(self, rows: Rows, abilities: pidfd.Abilities | None) -> None:
        self._rows = rows
        self._given = abilities
        self._place: Place | None = None
        self._generation = -1
        self._unspared: Membership | None = None
        """The run of which the last scan saw everything, and nobody who was handed over."""
        self._strangers: Strangers | None = None
        self._elders: Elders | None = None

    def _read_habitat(self) -> Habitat:
        """Where we are. Raises ProbeFailed when the rows are not about the processes that we can signal."""
        raise NotImplementedError

    def _probe(self) -> pidfd.Abilities:
        """What can be done here. Raises ProbeFailed."""
        raise NotImplementedError

    def habitat(self) -> Habitat:
        """See :meth:`runcoord.ports.Processes.habitat`."""
        return self._here().habitat

    def guarantees(self) -> Guarantees:
        """See :meth:`runcoord.ports.Processes.guarantees`."""
        abilities = self._abilities()
        return Guarantees(
            platform=self.platform,
            durable_handle=abilities.durable,
            pinned=abilities.pins,
            group_in_one_step=abilities.groups,
            ends_by_event=abilities.pins,
        )

    def own(self) -> frozenset[int]:
        """See :meth:`runcoord.ports.Processes.own`."""
        return own_numbers(os.getpid())

    def itself(self) -> ProcessIdentity:
        """See :meth:`runcoord.ports.Processes.itself`."""
        return self._identify(os.getpid(), "")

    def identify(self, pid: int, cookie: str = "") -> ProcessIdentity:
        """See :meth:`runcoord.ports.Processes.identify`."""
        require_pid(pid)
        return self._identify(pid, cookie)

    def _identify(self, pid: int, cookie: str) -> ProcessIdentity:
        process = self._pin_number(pid)
        try:
            if process.ended():
                raise pidfd.gone(pid)
            seen = process.identity
            if not seen.start and process.ended():
                raise pidfd.gone(pid)
        finally:
            process.close()
        return ProcessIdentity(seen.pid, seen.start, seen.habitat, seen.handle, cookie)

    def open(self, identity: ProcessIdentity) -> PinnedProcess:
        """See :meth:`runcoord.ports.Processes.open`."""
        require_pid(identity.pid)
        here = self._here().habitat
        place = same_place(identity.habitat, here)
        if place is Likeness.DIFFERENT:
            raise ProcessGone(
                f"process {identity.pid} has ended: {why_elsewhere(identity.habitat, here)}", pid=identity.pid
            )
        if place is Likeness.UNKNOWN:
            raise ProbeFailed(
                f"nothing can be said of process {identity.pid}: {why_elsewhere(identity.habitat, here)}",
                pid=identity.pid,
            )
        return self._pin_number(identity.pid)

    def note_elders(self, members: Membership) -> Iterator[None]:
        """Note who was there before this run, so that scans for it need to read less of them; a few at each
        step, while there is nothing else to do. May be left at any step. Raises nothing."""
        from runcoord._processes.elders import Elders

        self._elders = Elders(self._rows, members, self.own())
        return self._elders.note()

    def scan(self, members: Membership, seconds: float) -> Scan:
        """See :meth:`runcoord.ports.Processes.scan`."""
        own = self.own()
        require_membership(members, own, os.getpid())
        self._unspared = None
        try:
            place = self._here()
        except ProbeFailed as error:
            return Scan(complete=False, problem=error.problem)
        # Late: who starts a run only identifies and holds two processes.
        try:
            from runcoord._processes.scan import Pass
            from runcoord._processes.strangers import Strangers
        except OSError as error:  # no descriptor is left for it
            return Scan(complete=False, problem=f"processes cannot be read: {error.strerror}")

        if self._strangers is None:
            self._strangers = Strangers()
        noted = self._elders if self._elders is not None and self._elders.members == members else None
        threads, elders = (noted.threads, noted.marks) if noted is not None else ({}, {})
        strangers = self._strangers.known(members, threads)
        look = Pass(self._rows, place.habitat, members, own, seconds, strangers, elders)
        scan = look.run(self._is_recorded)
        if scan.complete:
            self._strangers.add(look.settled())
        if scan.complete and not scan.spared:
            self._unspared = members
        return scan

    def pin(self, members: Membership, pid: int) -> PinnedProcess | None:
        """See :meth:`runcoord.ports.Processes.pin`."""
        require_pid(pid)
        own = self.own()
        refuse_own(pid, own)
        require_membership(members, own, os.getpid())
        try:
            process = self._pin_number(pid)
        except ProcessGone:
            return None
        kept = False
        try:
            row = read_row(self._rows, pid)
            proof = self._proof(members)
            # What the proof read by number is about the pinned process: it has the number still.
            kept = row is not None and proof.holds(row) and not process.ended()
            if isinstance(process, NumberedProcess):
                process.prove_again(lambda now: self._proof(members).holds(now))
        finally:
            if not kept:
                process.close()
        return process if kept else None

    def _proof(self, members: Membership) -> Proof:
        from runcoord._processes.proof import Proof

        unspared = members == self._unspared
        return Proof(self._rows, members, self.own(), self._is_recorded, unspared)

    def signal_group(self, leader: PinnedProcess, number: int) -> None:
        """See :meth:`runcoord.ports.Processes.signal_group`."""
        pid = leader.identity.pid
        require_group(pid, self.own())
        if not isinstance(leader, HeldProcess) or not self._abilities().groups:
            raise ProbeFailed(
                f"the group of process {pid} cannot be signalled through a pin here",
                remedy="Signal its members one by one.",
                pid=pid,
            )
        leader.signal_group(number)

    def wait(self, pinned: Sequence[PinnedProcess], seconds: float) -> None:
        """See :meth:`runcoord.ports.Processes.wait`."""
        wait_for_ends([_ours(each) for each in pinned], seconds)

    def _is_recorded(self, identity: ProcessIdentity) -> bool:
        """Whether the recorded process is there, proved. Raises ProbeFailed."""
        if not is_pid(identity.pid):
            return False
        try:
            process = self._pin_number(identity.pid)
        except ProcessGone:
            return False
        try:
            return process.look(identity).likeness is Likeness.SAME
        finally:
            process.close()

    def _pin_number(self, pid: int) -> AnyProcess:
        """Whoever has the number now."""
        place = self._here()
        if self._abilities().pins:
            return HeldProcess(place, pid, pidfd.pin(pid))
        row = read_row(self._rows, pid)
        if row is None:
            if self._rows.is_there(pid):
                raise hidden(self._rows, pid)
            raise pidfd.gone(pid)
        return NumberedProcess(place, row)

    def _abilities(self) -> pidfd.Abilities:
        if self._given is None:
            self._given = self._probe()
        return self._given

    def _here(self) -> Place:
        """Our habitat, read once in each process: it changes for a child alone."""
        if self._place is None or self._generation != FORKS.generation:
            self._place = Place(self._rows, self._read_habitat(), self._abilities().durable)
            self._generation = FORKS.generation
        return self._place


def _ours(process: PinnedProcess) -> AnyProcess:
    if not isinstance(process, HeldProcess | NumberedProcess):
        raise InvalidRequest(f"a {type(process).__name__} was pinned by another table")
    return process
