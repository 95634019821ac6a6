"""Where no process can be seen: what can be signalled is, and the rest is said to live."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

if sys.platform != "linux":
    pytest.skip("these are the processes of Linux", allow_module_level=True)

from processes.namespaces import why_not
from processes.trees import LIFE_SECONDS
from runcoord import tear_down
from runcoord._processes import open_processes
from runcoord.ports import Membership

pytestmark = pytest.mark.real

SLEEP = f"exec sleep {LIFE_SECONDS}"
PROGRAM = """
import json, os, sys, time
from runcoord._launching import ShimLauncher
from runcoord.errors import ProbeFailed
from runcoord.ports import LaunchOrder
cookie, grace, script = sys.argv[1:]
environment = {**os.environ, "RUNCOORD_COOKIE": cookie}
order = LaunchOrder(("sh", "-c", script), "/bin/sh", os.getcwd(), environment, cookie)
tree = ShimLauncher().launch(order)
try:
    tree.leader
    seen = True
except ProbeFailed:
    seen = False
tree.open_gate()
ending = tree.wait(0.5)
began = time.monotonic()
report = tree.tear_down(float(grace))
took = time.monotonic() - began
tree.close()
status = ending and ending.status
print(json.dumps({"seen": seen, "status": status, "took": took, "report": report.document()}))
"""
#: An empty directory in the place of /proc, in a mount namespace of its own.
UNSEEN = 'mount -t tmpfs none /proc && exec "$@"'


def unseen(tmp_path: Path, grace: float, script: str) -> dict[str, Any]:
    """How a tree of this script ended, for one that cannot see processes."""
    reason = why_not(("-m",))
    if reason or os.geteuid() != 0:
        pytest.skip(reason or "mounting needs root")
    cookie = os.urandom(16).hex()
    done = subprocess.run(
        [
            "unshare",
            "-m",
            "sh",
            "-c",
            UNSEEN,
            "sh",
            sys.executable,
            "-c",
            PROGRAM,
            cookie,
            str(grace),
            script,
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
    )
    members = open_processes().scan(Membership(cookie=cookie), 5.0).members
    tear_down(open_processes(), Membership(cookie=cookie), grace=0, clock=time, sleeper=time)
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
    assert not seen["seen"], "nothing can be seen there"
    return {**seen, "left": [each.name for each in members]}


def test_the_group_of_a_command_that_has_ended_is_ended_and_nobody_left_is_proved(tmp_path: Path) -> None:
    seen = unseen(tmp_path, 20, f"sleep {LIFE_SECONDS} & exit 3")
    assert seen["status"] == 3
    assert seen["left"] == []
    assert seen["report"]["emptied"]
    assert seen["took"] < 10, "it does not wait for the grace"
    assert seen["report"]["problems"] != []


def test_a_command_that_ignores_being_asked_is_killed_after_the_grace(tmp_path: Path) -> None:
    seen = unseen(tmp_path, 0.5, f"trap '' TERM; {SLEEP}")
    assert seen["left"] == []
    assert seen["report"]["emptied"]
    assert seen["report"]["processes"][0]["fate"] == "killed"
    assert 0.5 <= seen["took"] < 10


def test_one_that_left_the_group_is_said_to_live(tmp_path: Path) -> None:
    seen = unseen(tmp_path, 0, f"(setsid sleep {LIFE_SECONDS} > /dev/null 2>&1 &); {SLEEP}")
    assert seen["left"] == ["sleep"]
    assert not seen["report"]["emptied"]
    assert seen["took"] < 8
    assert "cannot be named" in seen["report"]["problems"][-1]
