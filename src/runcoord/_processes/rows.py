"""What a system says of its processes: one row each, and the few questions that go by number."""

from __future__ import annotations

import errno

from runcoord._core.values import record

TYPE_CHECKING = False  # that of typing, which is not loaded for the process that a run hangs on
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object  # what follows says what is expected, and is not asked for at run time

GONE = frozenset({errno.ENOENT, errno.ESRCH})
"""What reading says of a process that is not there any more, or has given its memory back."""
CLOSED = frozenset({errno.EACCES, errno.EPERM})
"""What it says of a process that is none of our business (``hidepid``, another user, not dumpable)."""


class Executing(OSError):
    """The process is in the middle of executing another program: it has no environment at this moment."""


@record
class Row:
    """One process, as the system saw it at one moment."""

    pid: int
    state: str
    """One letter, as Linux has them."""
    parent: int
    group: int
    session: int
    kernel: bool
    """It is a thread of the kernel."""
    threads: int
    start: int
    """In the unit of the habitat's source."""
    comm: bytes

    @property
    def ended(self) -> bool:
        """A zombie whose other threads have ended too. A group of threads whose first one ended is in state
        ``Z`` as well, and runs on."""
        return self.state in "ZXx" and self.threads <= 1

    @property
    def name(self) -> str:
        return self.comm.decode(errors="backslashreplace")


class Rows(Protocol):
    """Where rows come from. What is read by number is about the process that is meant only if that one is
    pinned and still there *after* the read; whoever calls sees to that."""

    @property
    def root(self) -> str:
        """What is read, for people."""

    @property
    def init(self) -> int:
        """The pid that is shown unless those of other users are hidden; 0 where there is no such."""

    def marks(self) -> dict[int, int]:
        """All numbers that are shown, each with a mark: while that is the same, the number means the same
        process. 0 where there is no such mark. Raises ``OSError``."""

    def row(self, pid: int) -> Row:
        """What the process with this number is now. Raises ``OSError``, of :data:`GONE` and :data:`CLOSED`
        too, and ``ValueError`` for what cannot be understood."""

    def environment(self, row: Row) -> bytes | None:
        """The block of the environment; ``None`` when it is closed to us. Raises :class:`Executing`, and
        ``OSError`` when the process is gone."""

    def first_block(self, pid: int) -> bytes:
        """The environment of the first thread as it is at this moment; empty when that has none just now, is
        gone, or is closed to us."""

    def exit_code(self, pid: int) -> int | None:
        """The wait status of a zombie, where the system tells it. Raises ``OSError`` or ``ValueError``."""

    def waiting_in(self, pid: int) -> str:
        """The place in the kernel where it waits; empty when the system does not tell."""

    def is_there(self, pid: int) -> bool:
        """Whether some process has the number, shown or not."""

    def send(self, pid: int, number: int) -> None:
        """Send a signal to whoever has the number. Raises ``OSError``."""
