"""A coordinator that a test can kill: ``python coordinator_program.py UNTIL SCRIPT``.

Launches a shell script on a shim, and says ``coordinator PID`` when it has come as far as ``UNTIL``: ``gate``
(not opened), ``open``, or ``torn`` (torn down, nothing recorded yet). Then it waits for the command; with
``forked`` it first forks a process that lives on.
"""

from __future__ import annotations

import os
import sys
import time

from processes.trees import LIFE_SECONDS
from runcoord._launching import ShimLauncher
from runcoord.ports import LaunchOrder


def main(until: str, script: str) -> None:
    cookie = os.environ["COOKIE"]
    environment = {**os.environ, "RUNCOORD_COOKIE": cookie}
    order = LaunchOrder(
        ("sh", "-c", script),
        "/bin/sh",
        "/",
        environment,
        cookie,
        grace=float(os.environ.get("GRACE", "5")),
        last_words=os.environ["LAST_WORDS"],
    )
    tree = ShimLauncher().launch(order)
    assert tree.leader.pid != tree.shim.pid
    if until != "gate":
        tree.open_gate()
    if until == "torn":
        tree.wait(LIFE_SECONDS)
        tree.tear_down(0)
    with open(os.environ["EARS"], "w") as ears:
        ears.write(f"coordinator {os.getpid()}\nshim {tree.shim.pid}\n")
    if until == "open":
        tree.wait(LIFE_SECONDS)
    if until == "forked" and os.fork() == 0:  # it has a copy of everything that this process has open
        with open(os.environ["EARS"], "w") as ears:
            ears.write(f"copy {os.getpid()}\n")
        time.sleep(LIFE_SECONDS)
        os._exit(0)
    time.sleep(LIFE_SECONDS)


if __name__ == "__main__":
    main(*sys.argv[1:])
