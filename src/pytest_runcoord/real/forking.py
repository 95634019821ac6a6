"""What the init of a stage forks: the processes of incarnations, and puppets."""

from __future__ import annotations

import fcntl
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from pytest_runcoord.real import puppet
from pytest_runcoord.real.child import Child
from pytest_runcoord.real.namespaces import shift_time
from pytest_runcoord.real.wire import Wire, WireClosed

PUPPET = str(Path(puppet.__file__).resolve())


def fork_incarnation(ask: dict[str, Any], files: tuple[int, ...]) -> int:
    """Start the process of an incarnation, on the given wire and file for complaints; gives its pid."""
    answer, teller = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(answer)
            if ask["shift"]:
                shift_time(ask["shift"])
                if os.fork():
                    os._exit(0)
            os.write(teller, str(os.getpid()).encode())
            os.close(teller)
            become_incarnation(ask, files)
        finally:
            os._exit(70)
    os.close(teller)
    for each in files:
        os.close(each)
    told = os.read(answer, 20)
    os.close(answer)
    return int(told or b"0")


def fork_puppet(path: str, label: str, environment: dict[str, str], wanted: int) -> int:
    """Start a puppet; where it would not have the wanted pid, it ends at once."""
    pid = os.fork()
    if pid == 0:
        try:
            reset_signals()
            os.setsid()
            if wanted in (0, os.getpid()):
                os.execve(sys.executable, command(path, label), {**os.environ, **environment})
        finally:
            os._exit(70)
    return pid


def command(path: str, label: str) -> list[str]:
    """The command line of a puppet."""
    return [sys.executable, "-I", "-S", PUPPET, path, label]


def reset_signals() -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def become_incarnation(ask: dict[str, Any], files: tuple[int, ...]) -> None:
    """In the child: its own session, streams and environment, and nothing of this init's."""
    reset_signals()
    os.setsid()
    wire, complaints = (fcntl.fcntl(each, fcntl.F_DUPFD, 10) for each in files)
    null = os.open(os.devnull, os.O_RDWR)
    for stream, target in ((0, null), (1, complaints), (2, complaints)):
        os.dup2(target, stream)
    os.closerange(3, wire)
    os.closerange(wire + 1, 1024)
    os.set_inheritable(wire, False)
    os.environ.clear()
    os.environ.update(ask["environment"])
    time.tzset()
    os.chdir(ask["directory"])
    random.seed()
    status = 0
    try:
        Child(Wire(wire, wire, None)).serve()
    except WireClosed:
        status = 1
    except BaseException:  # noqa: BLE001  the world reads what it complains about
        import traceback

        traceback.print_exc()
        status = 1
    os._exit(status)
