"""A command that starts many processes, none of which wants to end in the same way.

``python thicket.py COUNT READY STATUS``: starts them, creates the file READY when all are there, and exits
with STATUS, or stays when that is ``stay``. Nobody lives longer than a minute.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

LIFE_SECONDS = 60


def plain() -> None:
    pass


def deaf() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def stopped() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def in_its_own_session() -> None:
    os.setsid()


def orphaned() -> None:
    os.setsid()
    if os.fork():
        os._exit(0)


def without_environment() -> None:
    orphaned()
    os.execve("/bin/sleep", ["sleep", str(LIFE_SECONDS)], {})


def under_timeout() -> None:
    os.execvp("timeout", ["timeout", str(LIFE_SECONDS), "sleep", str(LIFE_SECONDS)])


def forks_when_asked() -> None:
    def fork(number: int, frame: object) -> None:
        if os.fork() == 0:
            os.setsid()
            deaf()
            return
        os._exit(0)

    signal.signal(signal.SIGTERM, fork)


KINDS = (
    plain,
    deaf,
    stopped,
    in_its_own_session,
    orphaned,
    without_environment,
    under_timeout,
    forks_when_asked,
)


def main(count: str, ready: str, status: str) -> None:
    told, tell = os.pipe()
    for number in range(int(count)):
        if os.fork() == 0:
            os.close(told)
            kind = KINDS[number % len(KINDS)]
            os.write(tell, b".")
            kind()
            until = time.monotonic() + LIFE_SECONDS
            while (left := until - time.monotonic()) > 0:
                time.sleep(left)
            os._exit(0)
    heard = 0
    while heard < int(count):
        heard += len(os.read(told, 4096))
    Path(ready).touch()
    if status != "stay":
        os._exit(int(status))
    time.sleep(LIFE_SECONDS)


if __name__ == "__main__":
    main(*sys.argv[1:])
