"""How the run of a command ended, and the exit status that says it."""

from __future__ import annotations

import enum
import signal

from runcoord._core.model import Outcome, Run
from runcoord._core.teardown import TeardownReport
from runcoord._core.values import value

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from runcoord._supervisor.git_state import GitReport
    from runcoord.ports import Ending


class Cause(enum.StrEnum):
    """Why the tree of a command was torn down."""

    ENDED = "ended"
    """The command ended by itself."""
    TIMED_OUT = "timed-out"
    STOPPED = "stopped"
    """A stop of the run was accepted, or the interrupt key was pressed."""
    INTERRUPTED = "interrupted"
    """This process was told to end, by a signal or an exception."""
    LEASE_LOST = "lease-lost"
    """Somebody else decided about the run, or may have, because it could not be renewed for too long."""
    BROKEN = "broken"
    """What the run hangs on failed: its shim is gone."""


class ExitStatus(enum.IntEnum):
    """Exit statuses of ``runcoord run`` that are not the command's own. 124 to 127 are those of ``timeout``
    and ``env``."""

    UNCLEAN = 120
    """The command succeeded, but processes of it are left or the caller's git state is not as it was."""
    STOPPED = 121
    REFUSED = 122
    TIMED_OUT = 124
    FAILED_ITSELF = 125
    NOT_EXECUTABLE = 126
    NOT_FOUND = 127


@value
class CommandReport:
    """What became of one command."""

    run: Run
    """As it is stored afterwards; as it was last known when that cannot be read."""
    cause: Cause
    ending: Ending | None = None
    """How the command itself ended. ``None`` when it was ended by the teardown, or nobody could tell."""
    signal: int = 0
    """The signal that told this process to end, if that is the cause."""
    recorded: bool = True
    """Whether its outcome is in the store through this process. If not, recovery or somebody else decides."""
    teardown: TeardownReport | None = None
    """``None`` when the teardown itself failed; ``problems`` says how."""
    git: GitReport | None = None
    """``None`` when nothing was saved: outside of a checkout, or not asked for."""
    problems: tuple[str, ...] = ()
    """What went wrong in cleaning up and recording, in the order in which it happened. Never the failure of
    the command itself, which nothing of this masks."""

    @property
    def clean(self) -> bool:
        """Nothing of the run is left and nothing is unrestored, as far as could be told."""
        emptied = self.teardown is not None and self.teardown.emptied and not self.teardown.left
        return emptied and (self.git is None or self.git.clean)

    @property
    def exit_status(self) -> int:
        """What ``runcoord run`` exits with. First what ended the command, then what went wrong afterwards."""
        if self.cause is Cause.ENDED and self.ending is not None:
            own = status_of(self.ending.status)
            if own:
                return own
            if not self.recorded:
                return ExitStatus.FAILED_ITSELF
            if self.run.outcome is not Outcome.COMPLETED:
                return ExitStatus.STOPPED
            return 0 if self.clean else ExitStatus.UNCLEAN
        if self.signal:
            return 128 + self.signal
        by_cause = {
            Cause.TIMED_OUT: ExitStatus.TIMED_OUT,
            Cause.STOPPED: ExitStatus.STOPPED,
            Cause.INTERRUPTED: 128 + signal.SIGINT,
        }
        return by_cause.get(self.cause, ExitStatus.FAILED_ITSELF)


def status_of(returncode: int) -> int:
    """The exit status of a shell for ``Popen.returncode``: 128 + n for an end by signal n."""
    return returncode if returncode >= 0 else 128 - returncode
