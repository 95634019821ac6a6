"""A process that has loaded everything already, and forks stages: namespaces that scenarios play in.

One for each process that runs scenarios, started at the first real one. It ends when the socket to that
process does, however that process ended; each stage is its child and dies with it, and with a stage, whose
init it is, everything in its namespace.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pkgutil
import select
import shutil
import signal
import socket
import sys
import time
import traceback
from types import ModuleType

import runcoord
from pytest_runcoord.real import init
from pytest_runcoord.real.namespaces import die_with_parent, enter_new, mount_own_proc
from pytest_runcoord.real.passing import Hung, put, take

END_SECONDS = 8.0
"""How long the ends of stages are waited for; whoever runs the scenarios waits for ten seconds."""
TURN_SECONDS = 1.0
"""Between two looks for stages that have ended."""


def main() -> None:
    """Serve on the descriptor that is given as the only argument."""
    here = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's key is for those who run scenarios
    os.setsid()
    _load(runcoord)
    gc.freeze()
    put(here, {"ready": True})
    left: set[str] = set()
    with contextlib.suppress(Hung):
        while True:
            _reap()
            if select.select([here], [], [], TURN_SECONDS)[0]:
                left.add(_serve(here))
    _wait_for_all()
    for directory in left - {""}:
        shutil.rmtree(directory, ignore_errors=True)


def _load(package: ModuleType) -> None:
    """Everything that is loaded late elsewhere: here each incarnation would load it anew."""
    for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not each.name.endswith(("__main__", ".start")):
            with contextlib.suppress(ImportError):  # of another system, or an option that is not there
                importlib.import_module(each.name)


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _wait_for_all() -> None:
    """Every stage ends by itself now."""
    end = time.monotonic() + END_SECONDS
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < end:
            if not os.waitpid(-1, os.WNOHANG)[0]:
                time.sleep(0.01)


def _serve(here: socket.socket) -> str:
    """Fork a stage; gives the directory that is to be removed in the end, if nobody else does."""
    packet = take(here)
    if os.fork() == 0:
        try:
            here.close()
            _keep(packet.files[0], packet.value["path"])
        finally:
            os._exit(70)
    for each in packet.files:
        os.close(each)
    scratch: str = packet.value["scratch"]
    return scratch


def _keep(control: int, path: str) -> None:
    """The parent of a stage's init, outside of its namespace: lives as long as that does."""
    end = socket.socket(fileno=control)
    die_with_parent()
    if os.getppid() == 1:
        return
    try:
        enter_new()
    except OSError as error:
        put(end, {"impossible": str(error)})
        return
    alive, lifeline = os.pipe()
    inner = os.fork()
    if inner == 0:
        try:
            os.close(lifeline)
            die_with_parent()
            if select.select([alive], [], [], 0)[0]:
                return  # it died meanwhile
            _begin(end, path)
        finally:
            os._exit(70)
    os.close(alive)
    end.close()
    os.waitpid(inner, 0)
    os._exit(0)


def _begin(end: socket.socket, path: str) -> None:
    try:
        mount_own_proc()
    except OSError as error:
        put(end, {"impossible": str(error)})
        return
    try:
        init.Init(end, path).serve()
    except Exception:  # noqa: BLE001  whoever runs the scenarios sees it on their standard error
        traceback.print_exc()


if __name__ == "__main__":
    main()
