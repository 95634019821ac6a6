"""The edges that processes are behind: the table of processes, and the launching of a run's tree.

Public through :mod:`runcoord.ports`.
"""

from __future__ import annotations

from collections.abc import Sequence

from runcoord._core.identity import Habitat, ProcessIdentity
from runcoord._core.launch_order import LaunchOrder as LaunchOrder
from runcoord._core.looks import Guarantees, Look
from runcoord._core.teardown import Membership, Scan, TeardownReport
from runcoord._core.values import value

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object  # what follows says what is expected, and is not asked for at run time


class PinnedProcess(Protocol):
    """One process held so that its pid cannot come to mean another one for whoever signals through this.

    It is what it was when it was opened: signals go to that process or to nobody. Close it when done. Where a
    system cannot hold processes (:attr:`Guarantees.pinned`), the check is repeated before the signal.
    """

    @property
    def identity(self) -> ProcessIdentity:
        """What was read of the pinned process itself (not the record that it was opened for)."""

    def look(self, recorded: ProcessIdentity) -> Look:
        """Compare it with a record, reading while it is pinned. Raises
        :class:`~runcoord.errors.ProbeFailed`."""

    def ended(self) -> bool:
        """Whether it has ended. A zombie has, unless other threads of it run. Never blocks. Where nothing is
        held, raises :class:`~runcoord.errors.ProbeFailed` when it cannot be read any more."""

    def exit_status(self) -> int | None:
        """How it ended, in the form of ``Popen.returncode``, where the system tells somebody who is not its
        parent; else ``None``."""

    def signal(self, number: int) -> None:
        """Send a signal to exactly this process.

        Raises :class:`~runcoord.errors.ProcessGone` when it has ended and is reaped (a zombie takes it in
        silence), :class:`~runcoord.errors.SignalDenied` when the system does not permit it, and
        :class:`~runcoord.errors.InvalidRequest` when it is one of :meth:`Processes.own`.
        """

    def close(self) -> None: ...


class Processes(Protocol):
    """The table of processes of one machine, seen from one process.

    Every look may fail: :class:`~runcoord.errors.ProbeFailed` says that something could not be read, and
    proves nothing.
    """

    def habitat(self) -> Habitat:
        """Where this process lives; pids and start values mean something only within it."""

    def guarantees(self) -> Guarantees:
        """What can be promised here."""

    def itself(self) -> ProcessIdentity:
        """The identity of the process that holds the table; without a cookie."""

    def own(self) -> frozenset[int]:
        """Pids, groups and sessions that must never be signalled from here: this process, its group, its
        session, init."""

    def identify(self, pid: int, cookie: str = "") -> ProcessIdentity:
        """Read the identity of a living process, to record it. ``cookie`` is put into it as given.

        Raises :class:`~runcoord.errors.ProcessGone`, also for a zombie,
        :class:`~runcoord.errors.ProbeFailed`, and :class:`~runcoord.errors.InvalidRequest` for what is no pid
        of a process that can be meant.
        """

    def open(self, identity: ProcessIdentity) -> PinnedProcess:
        """Pin whoever has the recorded pid now; :meth:`PinnedProcess.look` then tells whether this is the
        recorded process. One of :meth:`own` can be looked at too, but not signalled.

        Raises :class:`~runcoord.errors.ProcessGone` when the recorded process has ended for certain (there is
        no such pid; the machine was started anew since), :class:`~runcoord.errors.ProbeFailed` when nothing
        can be told (another host, namespace or source; nothing can be read; no more handles), and
        :class:`~runcoord.errors.InvalidRequest` for what is no pid of a process that can be meant.
        """

    def scan(self, members: Membership, seconds: float) -> Scan:
        """One pass over the table for the living members of a run; bounded by ``seconds``. A zombie is no
        member, its living children are. Never raises for one process that cannot be read.

        Never members: those of :meth:`own`. Raises :class:`~runcoord.errors.InvalidRequest` for clues that
        are no numbers of a run: 1, negative ones, our own group, and our own session unless we lead it.
        """

    def pin(self, members: Membership, pid: int) -> PinnedProcess | None:
        """Pin one member that a scan saw, and check through the pin that it still is one. ``None`` when it is
        gone, or no member any more, or handed over.

        Raises :class:`~runcoord.errors.ProbeFailed` when the system has no more handles to give, and
        :class:`~runcoord.errors.InvalidRequest` for one of :meth:`own`, and like :meth:`scan`.
        """

    def signal_group(self, leader: PinnedProcess, number: int) -> None:
        """Send a signal to the whole process group that ``leader`` leads, in one step against which no fork
        helps; through the pin, so that a number used anew is never meant. Raises like
        :meth:`PinnedProcess.signal`, and :class:`~runcoord.errors.ProbeFailed` where the system cannot."""

    def wait(self, pinned: Sequence[PinnedProcess], seconds: float) -> None:
        """Wait until all of them have ended, or ``seconds`` are over; returns at once when there are none.
        May return earlier, so whoever calls looks again. Told by the system, not by asking again and again,
        wherever it can tell."""


@value
class Ending:
    """How the command itself ended, before anything else of its tree was ended."""

    status: int
    """As ``Popen.returncode``: 0 to 255, or minus the signal that ended it."""
    interrupted: bool = False
    """The terminal's interrupt key was pressed while it had the terminal."""


class Tree(Protocol):
    """A launched run: a shim, and behind its gate the first process, which executes nothing before
    :meth:`open_gate`."""

    @property
    def shim(self) -> ProcessIdentity:
        """Raises :class:`~runcoord.errors.LaunchFailed` when it could not be started; then nothing runs."""

    @property
    def leader(self) -> ProcessIdentity:
        """Raises :class:`~runcoord.errors.LaunchFailed` in the same case."""

    def open_gate(self) -> None:
        """Let the command begin. Raises :class:`~runcoord.errors.LaunchFailed` when it cannot be executed;
        then nothing of it runs."""

    def wait(self, seconds: float) -> Ending | None:
        """Wait for the command itself to end; ``None`` when it has not. It is not reaped: its numbers stay
        taken until the tree is torn down. Comes back early when the interrupt key is pressed. With the
        terminal handed on: when the command is stopped (Ctrl-Z), this process stops itself too, and
        continues the command when it is continued."""

    def interruptions(self) -> int:
        """How often the interrupt key was pressed while the command had the terminal."""

    def wake(self) -> None:
        """Let a wait that is under way, or the next one, return at once. Callable from another thread or a
        signal handler."""

    def tear_down(self, grace: float) -> TeardownReport:
        """End everything of the tree, bounded. A second time: no signal, the same report. One that an
        exception of the caller cut short goes on."""

    def hurry(self) -> None:
        """End the grace of a teardown that is under way, or to come. Callable from another thread or a signal
        handler."""

    def close(self, recorded: bool = True) -> None:
        """Let go: the shim ends. A tree that was not torn down is torn down by it. ``recorded`` says that how
        it ended is where recovery will look; else the shim writes its last words, as it does when its
        coordinator is gone."""


class Launcher(Protocol):
    """Starts trees."""

    def launch(self, order: LaunchOrder) -> Tree:
        """Begin to start the shim and the first process, gate closed; does not wait for them. Raises
        :class:`~runcoord.errors.LaunchFailed`; then nothing is running."""
