"""``runcoord run`` killed by SIGKILL at a named moment, then one ``runcoord recover``.

No process of the run lives, it has one outcome and one event, which is pending or visibly held; or it never
came into the store, and nothing of it was executed.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from runcoord import EventState, Outcome, State
from running.killed_runner import MOMENTS
from running.real_runs import LIFE, Place, until

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="runs commands on Linux"),
]

RUNNER = Path(__file__).with_name("killed_runner.py")
NEVER_STORED = ("before-launch", "after-launch", "before-begin", "begin-before-commit")
ENDED_BY_ITSELF = ("before-teardown", "during-teardown", "after-teardown", "finish-before-commit")

#: A tree with an escapee and one that ignores TERM.
TREE = f"""
touch executed
setsid sleep {LIFE} &
(trap 'touch asked' TERM; for _ in $(seq 1500); do sleep 0.02; done) &
(trap '' TERM; setsid env -i sleep {LIFE}) &
git config core.bare true 2>/dev/null
sleep 0.2
touch working
"""
WORKS = f"{TREE} sleep {LIFE}"
ENDS = f"{TREE} exit 7"


def killed(place: Place, moment: str) -> None:
    script = WORKS if moment in ("after-gate", "while-it-works") else ENDS
    options = ["--run-id", "r1", "--grace", "1", "--destination", "chat"]
    process = subprocess.Popen(
        [sys.executable, str(RUNNER), moment, "run", *options, "--", "sh", "-c", script],
        env=place.environment(PYTHONPATH=str(RUNNER.parents[1])),
        cwd=place.work,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, (
        f"{moment} did not come: {process.returncode} {err.decode()}"
    )


def held_to_the_rule(place: Place, moment: str) -> None:
    recovered = place("recover")
    assert recovered.code == (3 if not place.store.exists() else 0), recovered.err
    assert place.alive() == {}, "no process of the run lives after one recover"
    runs = place.runs() if place.store.exists() else []
    if moment in NEVER_STORED:
        assert runs == []
        assert not (place.work / "executed").exists()
        return
    [run] = runs
    assert run.state is State.FINISHED
    # How the command ended by itself is known to the shim, and is not lost with runcoord.
    ended = moment in (*ENDED_BY_ITSELF, "after-finish", "after-close")
    wanted = Outcome.FAILED if ended else Outcome.INTERRUPTED
    assert run.outcome is wanted
    assert run.exit_status == (7 if ended else None)
    if moment == "after-begin":
        assert not (place.work / "executed").exists()
    [event] = place.events()
    assert event.state in (EventState.PENDING, EventState.HELD)
    again = place("recover")
    assert again.code == 0
    assert [each.version for each in place.runs()] == [run.version], "a second sweep changes nothing"
    place.run("true")
    assert place.folders == [], "what was kept for recovery is removed by the next command at the latest"


@pytest.mark.parametrize("moment", MOMENTS)
def test_one_recover_ends_a_run_whose_runcoord_was_killed(place: Place, moment: str) -> None:
    killed(place, moment)
    held_to_the_rule(place, moment)


@pytest.mark.soak
@pytest.mark.parametrize("number", range(20))
@pytest.mark.parametrize("moment", MOMENTS)
def test_it_does_so_twenty_times(place: Place, moment: str, number: int) -> None:
    killed(place, moment)
    held_to_the_rule(place, moment)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("moment", ["while-it-works", "after-teardown", "finish-before-commit"])
def test_recover_puts_the_checkout_back(place: Place, moment: str) -> None:
    subprocess.run(["git", "init", "-q"], cwd=place.work, check=True, timeout=60)
    killed(place, moment)
    held_to_the_rule(place, moment)
    status = subprocess.run(["git", "status"], cwd=place.work, capture_output=True, timeout=60, check=False)
    assert status.returncode == 0
    assert place.folders == []


def test_recover_ends_what_is_left_when_the_shim_is_killed_too(place: Place) -> None:
    script = f"setsid sleep {LIFE} & (trap '' TERM; sleep {LIFE}) & touch working; sleep {LIFE}"
    # Not to pipes: what is left holds them, and nobody ends it before the sweep.
    nowhere: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = place.begin("run", "--run-id", "r1", "--grace", "1", "--", "sh", "-c", script, **nowhere)
    try:
        until((place.work / "working").exists)
        with place.coordinator() as coordinator:
            shim, _ = coordinator.processes("r1")
        assert shim.identity.pid is not None
        handle = os.pidfd_open(shim.identity.pid)
        try:
            process.kill()
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        finally:
            os.close(handle)
    finally:
        process.kill()
        process.wait()
    assert len(place.alive()) >= 3
    recovered = place("recover")
    assert recovered.code == 0, recovered.err
    assert place.alive() == {}
    assert place.only_run().outcome is Outcome.INTERRUPTED
    shown = " ".join(place("show", "r1").out.split())
    assert "none is left" not in shown
    assert "the process that the run hung on was gone, so not everybody could be seen" in shown


def test_a_run_whose_shim_was_killed_says_that_not_everybody_could_be_seen(place: Place) -> None:
    script = (
        # Its parent is the shim, whatever has begun it: when that is gone, nothing leads to it.
        f"(setsid env -i sh -c 'echo $$ > away; exec sleep {LIFE}' &); "
        "until test -s away; do sleep 0.02; done"
    )
    process = place.begin(
        "run", "--run-id", "r1", "--grace", "1", "--", "sh", "-c", f"{script}; sleep {LIFE}"
    )
    away = -1
    try:
        until((place.work / "away").exists)
        until(lambda: (place.work / "away").read_text().endswith("\n"))
        away = os.pidfd_open(int((place.work / "away").read_text()))
        with place.coordinator() as coordinator:
            shim, _ = coordinator.processes("r1")
        assert shim.identity.pid is not None
        handle = os.pidfd_open(shim.identity.pid)
        try:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        finally:
            os.close(handle)
        process.wait(timeout=60)
        assert not select.select([away], [], [], 0)[0]  # it lives, and nobody could know
        shown = place("show", "r1").out
        assert "none is left" not in shown
        assert "the process that the run hung on was gone, so not everybody could be seen" in " ".join(
            shown.split()
        )
    finally:
        if away >= 0:  # it holds the pipes that are read to their end below
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(away, signal.SIGKILL)
            os.close(away)
        process.kill()
        process.communicate()
