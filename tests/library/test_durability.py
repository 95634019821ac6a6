"""The documented default against SIGKILL, and against a count of what it asks of the disk."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from runcoord import Event, Outcome, Run, State, open_coordinator
from runcoord._clock import SystemClock
from runcoord.ports import Ports

from .hooks import LONG

WORKER = Path(__file__).with_name("killed_worker.py")
LIVES = Path(__file__).with_name("one_life_after_the_other.py")
BY_LEASE = 91.0
"""Seconds that the clock of whoever recovers is ahead, so that nobody waits out a lease."""


class AheadClock(SystemClock):
    """The machine's clocks, some seconds later."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    def wall(self) -> float:
        return super().wall() + self._seconds

    def boottime(self) -> float:
        return super().boottime() + self._seconds


# --- SIGKILL --------------------------------------------------------------------------------------


def lines_until_killed(path: Path, first: int, after: int) -> list[str]:
    """Start a worker, kill it when it has said so many lines, and give all that it said."""
    worker = subprocess.Popen(
        [sys.executable, str(WORKER), str(path), str(first)],
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    said: list[str] = []
    assert worker.stdout is not None
    try:
        for line in worker.stdout:
            said.append(line)
            if len(said) == after:
                worker.kill()
        assert len(said) >= after, "the worker ended by itself"
    finally:
        worker.kill()
        worker.wait(LONG)
        worker.stdout.close()
    # A line that was cut off was not told to anybody.
    return [line.strip() for line in said if line.endswith("\n")]


def stored(path: Path) -> dict[str, Run]:
    found: dict[str, Run] = {}
    with open_coordinator(path, create=False) as coordinator:
        after = ""
        while page := coordinator.runs(after=after, limit=1_000).runs:
            found.update((run.run_id, run) for run in page)
            after = page[-1].run_id
    return found


def stored_events(path: Path) -> list[Event]:
    found: list[Event] = []
    with open_coordinator(path, create=False) as coordinator:
        while page := coordinator.events(after=found[-1].seq if found else 0, limit=1_000).events:
            found += page
    return found


def require_kept(told: set[tuple[str, str]], runs: dict[str, Run], events: list[Event]) -> None:
    """Everything that anybody was told is in the store."""
    for word, run_id in told:
        if word == "sent":
            continue
        run = runs[run_id]
        number = int(run_id[1:])
        assert run.spec.payload == json.dumps({"n": number}, separators=(",", ":"))
        if word in ("claimed", "started", "stopping", "completed"):
            assert run.epoch >= 1
        if word in ("started", "stopping"):
            assert run.started_at is not None
        if word == "stopping":
            assert run.stop_requested_at is not None
        if word in ("completed", "delivered"):
            stopped = number % 3 == 0
            assert run.outcome is (Outcome.STOPPED if stopped else Outcome.COMPLETED)
            assert run.result == f"result {number}"
    states = {event.event_id: event.state for event in events}
    assert all(states[f"{run_id}/finished"] == "delivered" for word, run_id in told if word == "delivered")


@pytest.mark.real
@pytest.mark.parametrize("kills", [4, pytest.param(12, marks=pytest.mark.soak)])
def test_kills_at_any_moment_lose_nothing_that_anybody_was_told(tmp_path: Path, kills: int) -> None:
    path, chance = tmp_path / "runs.db", random.Random(kills)
    told: set[tuple[str, str]] = set()
    lines: list[str] = []
    for round_ in range(kills):
        lines += lines_until_killed(path, 1_000 * round_, chance.randint(1, 25))
        told |= {(word, name) for word, name in (line.split() for line in lines)}
        require_kept(told, stored(path), stored_events(path))
    ahead = Ports(clock=AheadClock(BY_LEASE))
    sent: list[str] = []
    with open_coordinator(
        path, destinations={"chat": lambda m: sent.append(m.event_id)}, ports=ahead
    ) as coordinator:
        report = coordinator.recover()
        assert report.bad_count == 0
        while (lease := coordinator.claim_next()) is not None:
            coordinator.start(lease)
            coordinator.complete(lease, "completed", result=f"result {int(lease.run_id[1:])}")
        coordinator.deliver()
    runs, events = stored(path), stored_events(path)
    require_kept(told, runs, events)
    assert {run.state for run in runs.values()} == {State.FINISHED}
    assert sorted(event.event_id for event in events) == sorted(f"{run_id}/finished" for run_id in runs)
    assert {event.state.value for event in events} == {"delivered"}
    for event in events:
        assert json.loads(event.body)["outcome"] == runs[event.run_id].outcome
    # Sent at least once each, whoever sent it.
    first_sent = {line.split()[1] for line in lines if line.startswith("sent")}
    assert first_sent | set(sent) == {event.event_id for event in events}


# --- syncs ----------------------------------------------------------------------------------------


@pytest.fixture
def strace() -> str:
    found = shutil.which("strace")
    if found is None:
        pytest.skip("strace is not installed")
    probe = subprocess.run([found, "-f", "-qq", "true"], capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        pytest.skip(f"strace may not trace here: {probe.stderr.strip()}")
    return found


def syncs(strace: str, path: Path, lives: int, commits: int) -> int:
    log = path.with_suffix(".strace")
    command = [strace, "-f", "-qq", "-e", "trace=fsync,fdatasync,msync,sync_file_range", "-o", str(log)]
    worker = [sys.executable, str(LIVES), str(path), str(lives), str(commits)]
    subprocess.run([*command, *worker], check=True, timeout=4 * LONG)
    return len(re.findall(r"^\d+ +\w+\(", log.read_text(), re.MULTILINE))


@pytest.mark.soak
@pytest.mark.real
def test_a_life_asks_the_disk_as_often_as_five_bare_commits_of_one_row(strace: str, tmp_path: Path) -> None:
    bare = syncs(strace, tmp_path / "bare.db", 1, 0)
    lives = syncs(strace, tmp_path / "lives.db", 21, 0) - bare
    commits = syncs(strace, tmp_path / "commits.db", 1, 100) - bare
    assert commits > 0
    assert lives == commits, f"20 lives made {lives} syncs, 100 bare commits {commits}"
