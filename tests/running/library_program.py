"""A program that runs commands through the library: ``python library_program.py STORE WHAT``."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

from runcoord import Coordinator, open_coordinator
from runcoord.errors import RuncoordError

LIFE = "45"


def interrupted(coordinator: Coordinator) -> None:
    """Ctrl-C, with a handler of Python's own."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_interrupt_when_ready, daemon=True).start()
    try:
        coordinator.run_command(["sh", "-c", f"setsid sleep {LIFE} & touch ready; sleep {LIFE}"])
    except KeyboardInterrupt:
        print("interrupted")


def _interrupt_when_ready() -> None:
    while not Path("ready").exists():
        threading.Event().wait(0.01)
    os.kill(os.getpid(), signal.SIGINT)


def children_ignored(coordinator: Coordinator) -> None:
    """A host that does not want to hear of its children."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    report = coordinator.run_command(["sh", "-c", "exit 3"])
    print(report.exit_status, report.clean, signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN)


def side_by_side(coordinator: Coordinator) -> None:
    """Four at once, in threads."""
    ended: dict[int, int] = {}

    def run(number: int) -> None:
        ended[number] = coordinator.run_command(["sh", "-c", f"sleep 0.2; exit {number}"]).exit_status

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sorted(ended.items()))


def own_children(coordinator: Coordinator) -> None:
    """A host that has a child of its own, which is not ours to reap or to signal."""
    child = os.fork()
    if child == 0:
        threading.Event().wait(0.5)
        os._exit(9)
    report = coordinator.run_command(["sh", "-c", f"sleep {LIFE} & exit 0"])
    print(report.exit_status, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), _children())


def _children() -> int:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return 0
    return 1


def refused(coordinator: Coordinator) -> None:
    for argv in (["no-such-command"], "true", []):
        try:
            coordinator.run_command(argv)
        except RuncoordError as error:
            print(error.code)


if __name__ == "__main__":
    with open_coordinator(sys.argv[1]) as opened:
        globals()[sys.argv[2]](opened)
