"""Tearing down sleeping processes, against ``killpg`` and a wait for a pidfd of each.

Both kill at once. The baseline is told the pids and proves nothing; the teardown is that of a launched run:
its shim finds the members itself, looks twice that nobody is left, and sends a report of all of them.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

from measuring import Ratio, compare, timed

from runcoord._launching import ShimLauncher
from runcoord.ports import LaunchOrder

COUNTS = (10, 100, 1_000)
PROOF_SECONDS = 0.010
"""What the proof that nothing is left may take above twice the baseline."""
LIFE_SECONDS = 60
PR_SET_CHILD_SUBREAPER = 36
"""From ``linux/prctl.h``."""

#: Forks sleepers, and writes their pids into a pipe when all are there.
PARENT = f"""
import os, sys, time
pids = [os.getpid()]
for _ in range(int(sys.argv[1]) - 1):
    pid = os.fork()
    if pid == 0:
        time.sleep({LIFE_SECONDS})
        os._exit(0)
    pids.append(pid)
with open(sys.argv[2], "w") as told:
    print(*pids, file=told)
time.sleep({LIFE_SECONDS})
"""


def measure(directory: Path) -> list[Ratio]:
    """For each number of processes."""
    told = directory / "told"
    os.mkfifo(told)
    # The dead of the baseline come to us: left to init they may wait for seconds, by thousands, and each scan
    # of a teardown would read them all.
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
    return [_of(count, told) for count in COUNTS]


def _command(count: int, told: Path) -> list[str]:
    return [sys.executable, "-S", "-c", PARENT, str(count), str(told)]


def _of(count: int, told: Path) -> Ratio:
    def subject() -> float:
        cookie = os.urandom(16).hex()
        environment = {**os.environ, "RUNCOORD_COOKIE": cookie}
        order = LaunchOrder(tuple(_command(count, told)), sys.executable, "/", environment, cookie)
        tree = ShimLauncher().launch(order)
        tree.open_gate()
        assert len(told.read_text().split()) == count
        seconds = timed(lambda: tree.tear_down(0))
        report = tree.tear_down(0)
        assert report.emptied, report
        assert report.counted == count, report
        tree.close()
        return max(0.0, seconds - PROOF_SECONDS)

    def baseline() -> float:
        leader = subprocess.Popen(_command(count, told), process_group=0)
        pids = [int(pid) for pid in told.read_text().split()]
        seconds = timed(lambda: _killed(pids))
        leader.wait()
        for pid in pids[1:]:
            os.waitpid(pid, 0)
        return seconds

    return compare(f"tearing down {count:,} processes, but for 10 ms", subject, baseline, goal=2.0)


def _killed(pids: list[int]) -> None:
    pidfds = [os.pidfd_open(pid) for pid in pids]
    os.killpg(pids[0], signal.SIGKILL)
    ends = select.epoll()
    for fd in pidfds:
        ends.register(fd, select.EPOLLIN)
    left = len(pidfds)
    while left:
        for fd, _ in ends.poll():
            ends.unregister(fd)
            left -= 1
    ends.close()
    for fd in pidfds:
        os.close(fd)
