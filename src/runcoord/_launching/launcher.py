"""Starting shims."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import subprocess
import sys

from runcoord import _shim
from runcoord._core.limits import SHIM_END_SECONDS
from runcoord._core.lineage import COOKIE_VARIABLE
from runcoord._keys import STOP_KEY, held_back
from runcoord._launching.channel import Channel
from runcoord.errors import LaunchFailed

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from socket import socketpair

    from runcoord._core.launch_order import LaunchOrder
    from runcoord._launching.terminal import Terminal
    from runcoord.ports import Processes, Tree
else:
    try:
        from _socket import socketpair  # all that is needed of it
    except ImportError:
        from socket import socketpair

START = os.path.join(os.path.dirname(_shim.__file__), "start.py")
LOWEST_DESCRIPTOR = 10
"""The socket's descriptors are not to be taken for standard streams, nor for those that shells number."""


class ShimLauncher:
    """Launches each run on a shim of its own."""

    def __init__(self, processes: Processes | None = None) -> None:
        self._processes = processes

    def launch(self, order: LaunchOrder) -> Tree:
        """See :meth:`runcoord.ports.Launcher.launch`. ``order.terminal`` changes nothing where this process
        has no controlling terminal."""
        _require_streams()
        if not sys.executable:
            raise LaunchFailed(
                "this program does not know its Python interpreter, so it cannot start the process that a run"
                " hangs on",
                remedy="Set sys.executable to the path of one.",
            )
        terminal = _terminal() if order.terminal else None
        try:
            channel, process = _started(order, "terminal" if terminal else "session")
        except OSError as error:
            if terminal is not None:
                terminal.close()
            raise LaunchFailed(
                f"the process that the run was to hang on cannot be started: {error.strerror}",
                remedy=_remedy(error.errno),
                errno=error.errno,
            ) from error
        return self._tree(order, channel, process, terminal)

    def _tree(
        self,
        order: LaunchOrder,
        channel: Channel,
        process: subprocess.Popen[bytes],
        terminal: Terminal | None,
    ) -> Tree:
        """What is needed to talk to the shim is loaded while that is starting."""
        try:
            from runcoord._launching.tree import ShimTree

            if self._processes is None:
                from runcoord._processes import open_processes

                self._processes = open_processes()
            return ShimTree(order, self._processes, channel, process, terminal)
        except BaseException:  # a signal, most likely: with its lifeline the shim ends
            channel.close()
            if terminal is not None:
                terminal.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(SHIM_END_SECONDS)
            raise


def _terminal() -> Terminal | None:
    from runcoord._launching.terminal import Terminal

    return Terminal.open()


def _remedy(number: int | None) -> str:
    if number in (errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOEXEC):
        return f"Check that the Python interpreter can be executed: {sys.executable}"
    return "Look at the limits of this process (ulimit -a)."


def _started(order: LaunchOrder, mode: str) -> tuple[Channel, subprocess.Popen[bytes]]:
    ours, theirs = socketpair()
    try:
        channel = Channel(_moved(ours.fileno()))
        try:
            far = _moved(theirs.fileno())
            try:
                command = [sys.executable, "-I", "-S", START, str(far), mode]
                with held_back(STOP_KEY):
                    process = subprocess.Popen(command, env=_environment(order), pass_fds=(far,))
            finally:
                os.close(far)
        except BaseException:
            channel.close()
            raise
    finally:
        ours.close()
        theirs.close()
    return channel, process


def _moved(end: int) -> int:
    """A copy with a number out of the way. Raises ``OSError``."""
    try:
        return fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, LOWEST_DESCRIPTOR)
    except OSError as error:
        if error.errno == errno.EINVAL:  # no number as high as that is allowed
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE)) from None
        raise


def _environment(order: LaunchOrder) -> dict[str, str]:
    """That of this process, in which the interpreter works; with the run's cookie, so that the waiting
    command, and the shim, can be told to belong to it."""
    line = order.environment.get(COOKIE_VARIABLE)
    return {**os.environ, **({COOKIE_VARIABLE: line} if line else {})}


def _require_streams() -> None:
    closed = [stream for stream in (0, 1, 2) if not _is_open(stream)]
    if closed:
        raise LaunchFailed(
            f"the standard stream {closed[0]} (of input 0, output 1 and errors 2) is closed",
            remedy="Open it, on /dev/null if it is not needed: else a file of the command takes its place.",
            stream=closed[0],
        )


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True
