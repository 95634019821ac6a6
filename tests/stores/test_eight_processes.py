"""Eight processes work off the runs of one file: no lock error, nothing lost or done twice."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from runcoord import open_coordinator

WORKER = Path(__file__).with_name("eight_processes_worker.py")
PROCESSES = 8
PATIENCE = 120.0
"""Longest wait for one process, in seconds; then the test fails."""


def work_off(path: Path) -> list[dict[str, Any]]:
    """Start the processes, let them all begin at once, and give what each says that it did."""
    workers = [
        subprocess.Popen(
            [sys.executable, str(WORKER), str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(PROCESSES)
    ]
    try:
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        return [json.loads(worker.communicate(timeout=PATIENCE)[0]) for worker in workers]
    finally:
        for worker in workers:
            if worker.poll() is None:
                worker.kill()
            worker.communicate()


@pytest.mark.parametrize("count", [80, pytest.param(2_000, marks=pytest.mark.soak)])
def test_eight_processes_on_one_file_lose_nothing_and_meet_no_lock_error(tmp_path: Path, count: int) -> None:
    path = tmp_path / "runs.db"
    wanted = {f"r{number}" for number in range(count)}
    with open_coordinator(path) as coordinator:
        for run_id in sorted(wanted):
            coordinator.submit(run_id=run_id, destination="chat")
    said = work_off(path)
    assert [each["errors"] for each in said] == [[]] * PROCESSES
    done = Counter(run_id for each in said for run_id in each["done"])
    assert set(done) == wanted
    assert set(done.values()) == {1}, "a run was done twice"
    by = {run_id: each["owner"] for each in said for run_id in each["done"]}
    with open_coordinator(path, create=False) as coordinator:
        after, seen = "", []
        while page := coordinator.runs(after=after, limit=1_000).runs:
            seen += page
            after = page[-1].run_id
    assert {run.run_id for run in seen} == wanted
    assert {(run.outcome, run.epoch, run.late) for run in seen} == {("completed", 1, False)}
    assert {run.run_id: run.result for run in seen} == by
