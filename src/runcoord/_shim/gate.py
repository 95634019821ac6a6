"""The gate that a run's command waits at, seen from both sides.

The command is a fork of its shim up to its ``exec``. The gate is a pipe: what comes through says what to
execute; its end without the last word means that nothing is to be. Another pipe leads back, and says why
there was no ``exec``, or by its end that there was one.

Loaded before the shim forks its command, so it imports next to nothing.
"""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import NoReturn

NOT_EXECUTED = 127
"""Exit status of a command whose gate was closed, or that could not be executed."""
GO = b"go"
BEGUN = b"."
"""Said just before the exec. Without it the command was killed at the gate."""
PIECE_BYTES = 65536
"""Read from the gate at a time."""


def be_the_command(gate: int, failure: int, of_the_shim: tuple[int, ...]) -> NoReturn:
    """Wait at the gate, then execute what came through it. Says on ``failure`` why it could not.

    ``of_the_shim`` are closed at once: as long as the command held the lifeline, or the other end of its own
    gate, the end of the shim or of its coordinator could not be seen.
    """
    stage = "gate"
    try:
        os.setpgid(0, 0)
        for fd in of_the_shim:
            os.close(fd)
        order = _through_gate(gate)
        if order is not None:
            os.close(gate)
            executable, directory, argv, environment = order
            _take_signals_as_inherited()
            stage = "directory"
            os.chdir(directory)
            stage = "executable"
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            os.write(failure, BEGUN)
            os.execve(executable, argv, environment)
    except OSError as error:
        os.write(failure, f"{stage}:{error.errno or 0}".encode())
    except BaseException as error:  # noqa: BLE001 - nothing of the shim may go on in this process
        os.write(failure, f"{stage}:{type(error).__name__}".encode())
    os._exit(NOT_EXECUTED)


def _through_gate(gate: int) -> tuple[bytes, bytes, list[bytes], dict[bytes, bytes]] | None:
    """What to execute, where, how it is called, and its environment; ``None`` when the gate was closed."""
    pieces = []
    while piece := os.read(gate, PIECE_BYTES):
        pieces.append(piece)
    fields = _fields(b"".join(pieces))
    if not fields or fields[-1] != GO:
        return None
    executable, directory, count = fields[0], fields[1], int(fields[2])
    argv, rest = fields[3 : 3 + count], fields[3 + count : -1]
    return executable, directory, argv, dict(zip(rest[::2], rest[1::2], strict=True))


def gate_order(executable: bytes, directory: bytes, argv: list[bytes], environment: list[bytes]) -> bytes:
    """What is sent through the gate. ``environment``: names and values in turn."""
    fields = [executable, directory, str(len(argv)).encode(), *argv, *environment, GO]
    return b"".join(b"%d:%s" % (len(field), field) for field in fields)


def _fields(data: bytes) -> list[bytes]:
    """Fields that each have their length before them; none when the data was cut."""
    found, at = [], 0
    while at < len(data):
        colon = data.find(b":", at)
        if colon < 0:
            return []
        end = colon + 1 + int(data[at:colon])
        if end > len(data):
            return []
        found.append(data[colon + 1 : end])
        at = end
    return found


def _take_signals_as_inherited() -> None:
    """As the coordinator's caller left them (``nohup`` ignores one). What Python itself ignores, and an
    ignored SIGCHLD, with which a program cannot learn how its children end, are back to normal."""
    for name in ("SIGPIPE", "SIGXFSZ", "SIGXFZ", "SIGCHLD"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
