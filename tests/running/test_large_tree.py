"""A large tree with everything in it that makes trees hard to end; run in full with ``-m soak``."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from running.real_runs import Place, finished, report_of, until

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="runs commands on Linux"),
]

LIFE = 50 + os.getpid() % 997 / 1000
"""Seconds. No other test has the same, so that these processes can be told by their arguments."""

#: One in six of each: plain, deaf to TERM, in a session of its own, a daemon, stopped, without environment.
#: Beside them some that run under ``timeout``, or start others when they are asked to end.
TREE = f"""
i=0
while test $i -lt $1; do
  case $((i % 6)) in
    0) sleep {LIFE} & ;;
    1) sh -c 'trap "" TERM; sleep {LIFE}' & ;;
    2) setsid sleep {LIFE} & ;;
    3) (setsid sh -c 'sleep {LIFE} & exec sleep {LIFE}' &) ;;
    4) sleep {LIFE} & kill -STOP $! ;;
    5) env -i sleep {LIFE} & ;;
  esac
  i=$((i + 1))
done
timeout {LIFE} sleep {LIFE} &
sh -c 'trap "for n in 1 2 3 4 5; do setsid sleep {LIFE} & done; exit" TERM; sleep {LIFE} & wait' &
git config core.bare true
sleep 0.5
touch ready
"""
ENDS = {
    "succeeds": ("exit 0", 120),
    "fails": ("exit 7", 7),
    "times-out": (f"sleep {LIFE}", 124),
    "is-interrupted": (f"sleep {LIFE}", 130),
}


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the same program that belongs to nobody's run."""
    process = subprocess.Popen(["sleep", str(LIFE)])
    yield process
    process.kill()
    process.wait()


def held_to_the_rule(place: Place, bystander: subprocess.Popen[bytes], end: str, number: int) -> None:
    subprocess.run(["git", "init", "-q"], cwd=place.work, check=True, timeout=60)
    script, code = ENDS[end]
    options = ["--grace", "1", "--report", "r.json"]
    if end == "times-out":
        options += ["--timeout", "4" if number < 100 else "15"]
    command = ["sh", "-c", TREE + script, "sh", str(number)]
    process = place.begin("run", *options, "--", *command)
    if end == "is-interrupted":
        until((place.work / "ready").exists)
        process.send_signal(signal.SIGINT)
    done = finished(process)
    report = report_of(place.work / "r.json")
    assert done.code == code, done.err
    assert report["teardown"]["emptied"], report["teardown"]["problems"]
    assert report["teardown"]["counted"] >= number
    assert place.alive() == {}
    assert named_like_it() == [bystander.pid], "no sleep of the tree lives, and the other one does"
    assert bystander.poll() is None
    if end != "succeeds":
        assert (
            subprocess.run(["git", "status"], cwd=place.work, capture_output=True, check=False).returncode
            == 0
        )


def named_like_it() -> list[int]:
    """Processes with exactly the bystander's arguments, whatever became of their environments."""
    wanted = f"sleep\0{LIFE}\0".encode()
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "cmdline").read_bytes() == wanted:
                found.append(int(entry.name))
    return found


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("end", ENDS)
def test_a_tree_of_many_kinds_is_gone(place: Place, bystander: subprocess.Popen[bytes], end: str) -> None:
    held_to_the_rule(place, bystander, end, 30)


@pytest.mark.soak
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("number", range(20))
@pytest.mark.parametrize("end", ENDS)
def test_a_tree_of_300_is_gone_twenty_times(
    place: Place, bystander: subprocess.Popen[bytes], end: str, number: int
) -> None:
    held_to_the_rule(place, bystander, end, 300)
