"""One process, held by a pidfd; or, where the system has none, known by number and start value."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable

from runcoord._core.identity import Habitat, Likeness, ProcessIdentity, compare, same_place
from runcoord._core.limits import ASK_AGAIN_SECONDS, LONGEST_WAIT_SECONDS
from runcoord._core.lineage import belongs
from runcoord._core.looks import Look
from runcoord._processes import pidfd
from runcoord._processes.own import own_numbers
from runcoord._processes.rows import CLOSED, GONE, Executing, Row, Rows
from runcoord.errors import InvalidRequest, ProbeFailed


class Place:
    """What all processes of one table share, in one process."""

    def __init__(self, rows: Rows, habitat: Habitat, durable: bool) -> None:
        self.rows = rows
        self.habitat = habitat
        self.durable = durable
        self.pid = os.getpid()

    def refuse_own(self, pid: int) -> None:
        """Raise :class:`~runcoord.errors.InvalidRequest` for what is never signalled from here. The group and
        the session are asked for anew each time: they can change."""
        refuse_own(pid, own_numbers(self.pid))


class HeldProcess:
    """Held by a pidfd: signals reach this process or nobody."""

    def __init__(self, place: Place, pid: int, fd: int) -> None:
        self._place = place
        self._pid = pid
        self._fd = fd
        self._identity: ProcessIdentity | None = None

    @property
    def fd(self) -> int:
        return self._fd

    @property
    def pid(self) -> int:
        return self._pid

    @property
    def identity(self) -> ProcessIdentity:
        if self._identity is None:
            row = self._row()
            self._identity = self._identity_with(row.start if row else 0)
        return self._identity

    def _identity_with(self, start: int) -> ProcessIdentity:
        handle = pidfd.durable_handle(self._fd) if self._place.durable else ""
        return ProcessIdentity(self._pid, start, self._place.habitat, handle)

    def _row(self) -> Row | None:
        """What ``/proc`` says of it, or ``None`` when it is reaped. Raises ProbeFailed."""
        row = read_row(self._place.rows, self._pid)
        # Read by number: it is about this process if that still has the number after the read.
        if pidfd.is_reaped(self._fd):
            return None
        if row is None:
            raise hidden(self._place.rows, self._pid)
        return row

    def look(self, recorded: ProcessIdentity) -> Look:
        """See :meth:`runcoord.ports.PinnedProcess.look`."""
        here = self._place.habitat
        place = same_place(recorded.habitat, here)
        if place is not Likeness.SAME:
            return Look(place, place is Likeness.DIFFERENT, why=why_elsewhere(recorded.habitat, here))
        if recorded.handle and self._place.durable:
            return self._look_by_handle(recorded)
        row = self._row()
        if row is None:
            # Whoever had the number has given it back, so the recorded process has ended, in any case.
            return Look(Likeness.DIFFERENT, ended=True)
        seen = self._identity_with(row.start)
        likeness, why = compare_by_cookie(self._place.rows, row, recorded, seen)
        if pidfd.is_reaped(self._fd):
            return Look(Likeness.DIFFERENT, ended=True)
        return Look(likeness, row.ended, row.state, row.name, why)

    def _look_by_handle(self, recorded: ProcessIdentity) -> Look:
        """Handles prove it. What is read by number is for people, and told only if it is about this one."""
        seen = self._identity_with(recorded.start)
        likeness = compare(recorded, seen, cookie_read=False)
        try:
            row = read_row(self._place.rows, self._pid)
        except ProbeFailed:
            row = None
        if self.ended():
            return Look(likeness, ended=True)
        return Look(likeness, False, row.state if row else "", row.name if row else "")

    def ended(self) -> bool:
        return pidfd.has_ended(self._fd)

    def exit_status(self) -> int | None:
        """See :meth:`runcoord.ports.PinnedProcess.exit_status`. Of somebody else's child the kernel tells it
        while it is a zombie to those who might trace it, and from Linux 6.15 on also later."""
        status = pidfd.exit_of(self._fd)
        if status is None and self.ended():
            try:
                status = self._place.rows.exit_code(self._pid)
            except (OSError, ValueError):
                status = None
            if pidfd.is_reaped(self._fd):
                status = pidfd.exit_of(self._fd)
        return None if status is None else os.waitstatus_to_exitcode(status)

    def signal(self, number: int) -> None:
        """See :meth:`runcoord.ports.PinnedProcess.signal`."""
        self._place.refuse_own(self._pid)
        pidfd.send(self._fd, self._pid, number)

    def signal_group(self, number: int) -> None:
        """The group that it leads."""
        self._place.refuse_own(self._pid)
        pidfd.send(self._fd, self._pid, number, pidfd.GROUP_FLAG)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class NumberedProcess:
    """For systems without pidfds: a number whose start value is read anew before each signal.

    What proved who it was, the cookie or the membership, is proved again as well. Between that and the signal
    the number may be given away: so this is said in the guarantees.
    """

    def __init__(self, place: Place, row: Row) -> None:
        self._place = place
        self._pid = row.pid
        self._start = row.start
        self._identity = ProcessIdentity(row.pid, row.start, place.habitat)
        self._proof: Callable[[Row], bool] | None = None

    def prove_again(self, proof: Callable[[Row], bool]) -> None:
        """What must still hold immediately before each signal, beside the start value."""
        self._proof = proof

    @property
    def pid(self) -> int:
        return self._pid

    @property
    def identity(self) -> ProcessIdentity:
        return self._identity

    def _row(self) -> Row | None:
        row = read_row(self._place.rows, self._pid)
        if row is None and self._place.rows.is_there(self._pid):
            raise hidden(self._place.rows, self._pid)
        return row if row is not None and row.start == self._start else None

    def look(self, recorded: ProcessIdentity) -> Look:
        """See :meth:`runcoord.ports.PinnedProcess.look`."""
        here = self._place.habitat
        place = same_place(recorded.habitat, here)
        if place is not Likeness.SAME:
            return Look(place, place is Likeness.DIFFERENT, why=why_elsewhere(recorded.habitat, here))
        row = self._row()
        if row is None:
            return Look(Likeness.DIFFERENT, ended=True)
        rows = self._place.rows
        likeness, why = compare_by_cookie(rows, row, recorded, self._identity)
        if self._row() is None:
            return Look(Likeness.DIFFERENT, ended=True)
        if likeness is Likeness.SAME:
            self.prove_again(lambda now: belongs(read_block(rows, now) or b"", recorded.cookie))
        return Look(likeness, row.ended, row.state, row.name, why)

    def ended(self) -> bool:
        row = self._row()
        return row is None or row.ended

    def exit_status(self) -> int | None:
        """Always ``None``: only its parent is told."""
        return None

    def signal(self, number: int) -> None:
        """See :meth:`runcoord.ports.PinnedProcess.signal`."""
        self._place.refuse_own(self._pid)
        row = self._row()
        if row is None:
            raise pidfd.gone(self._pid)
        if self._proof is not None and not self._proof(row):
            raise pidfd.gone(self._pid)
        try:
            self._place.rows.send(self._pid, number)
        except OSError as error:
            raise pidfd.signal_error(error, self._pid, number) from None

    def close(self) -> None:
        """Nothing is held."""


AnyProcess = HeldProcess | NumberedProcess


def compare_by_cookie(
    rows: Rows, row: Row, recorded: ProcessIdentity, seen: ProcessIdentity
) -> tuple[Likeness, str]:
    """Without durable handles: the likeness, and why it is unknown."""
    block = read_block(rows, row) if recorded.cookie else None
    if block is not None and belongs(block, recorded.cookie):
        seen = ProcessIdentity(seen.pid, seen.start, seen.habitat, seen.handle, recorded.cookie)
    likeness = compare(recorded, seen, cookie_read=block is not None)
    if likeness is not Likeness.UNKNOWN:
        return likeness, ""
    if not recorded.start or not seen.start:
        return likeness, "no start value is known"
    if not recorded.cookie:
        return likeness, "pid and start value alone prove nothing, and no handle or cookie was recorded"
    if block is None:
        return likeness, "its environment cannot be read"
    return likeness, "the cookie is not in its environment, which it may have cleared"


def why_elsewhere(recorded: Habitat, here: Habitat) -> str:
    """Which part of two habitats differs, in words."""
    if (recorded.host, recorded.source) == (here.host, here.source) and recorded.boot_id != here.boot_id:
        return "the machine was started anew since it was recorded"
    for name in ("pid_namespace", "time_namespace", "host", "source"):
        if getattr(recorded, name) != getattr(here, name):
            return f"it was recorded under another {name.replace('_', ' ')}"
    return "it is not known where it was recorded"


def read_row(rows: Rows, pid: int) -> Row | None:
    """The row, or ``None`` when there is no such process. Raises ProbeFailed."""
    try:
        return rows.row(pid)
    except ValueError:
        raise ProbeFailed(f"{rows.root}/{pid}/stat cannot be understood", pid=pid) from None
    except OSError as error:
        if error.errno in GONE:
            return None
        raise ProbeFailed(
            f"{rows.root}/{pid}/stat cannot be read: {error.strerror}",
            remedy="Look whether hidepid is set, and whether there are file descriptors left.",
            pid=pid,
        ) from None


def hidden(rows: Rows, pid: int) -> ProbeFailed:
    return ProbeFailed(
        f"{rows.root} does not show process {pid}, which is there",
        remedy="Look whether /proc is mounted with hidepid.",
        pid=pid,
    )


def read_block(rows: Rows, row: Row) -> bytes | None:
    """The environment, or ``None`` when it cannot be read. Raises ProbeFailed."""
    try:
        return rows.environment(row)
    except Executing:
        return None
    except OSError as error:
        if error.errno in GONE | CLOSED:
            return None
        raise ProbeFailed(
            f"the environment of process {row.pid} cannot be read: {error.strerror}", pid=row.pid
        ) from None


def refuse_own(pid: int, own: frozenset[int]) -> None:
    """Raise :class:`~runcoord.errors.InvalidRequest` for what is never to be signalled from here."""
    if pid in own:
        raise InvalidRequest(
            f"process {pid} is this process, or leads its group or session, or is init: it is not signalled",
            pid=pid,
        )


def wait_for_ends(processes: list[AnyProcess], seconds: float) -> None:
    """Wait until all have ended, or the time is over."""
    until = time.monotonic() + min(seconds, LONGEST_WAIT_SECONDS)
    numbered = [each for each in processes if isinstance(each, NumberedProcess)]
    held = [each.fd for each in processes if isinstance(each, HeldProcess)]
    if held:
        _wait_for_held(held, until)
    while numbered := [each for each in numbered if not _seen_to_end(each)]:
        left = until - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(left, ASK_AGAIN_SECONDS))


def _seen_to_end(process: NumberedProcess) -> bool:
    try:
        return process.ended()
    except ProbeFailed:
        return False


def _wait_for_held(held: list[int], until: float) -> None:
    poll = select.poll()
    left = set(held)
    for fd in left:
        poll.register(fd, select.POLLIN)
    while left:
        patience = until - time.monotonic()
        if patience <= 0:
            return
        for fd, _ in poll.poll(patience * 1000):
            poll.unregister(fd)
            left.discard(fd)
