"""One real owner, killed, and one real process of its run, which recovery ends."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from runcoord import Outcome, open_coordinator
from runcoord.ports import Fate

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the table of processes is that of Linux")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


@pytest.fixture
def orphan(store: Path) -> Iterator[int]:
    """A pidfd of a process whose owner was killed."""
    script = Path(__file__).with_name("process_owner.py")
    owner = subprocess.Popen([sys.executable, str(script), str(store)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    try:
        pinned = os.pidfd_open(int(owner.stdout.readline()))
    finally:
        owner.kill()
        owner.wait(30)
        owner.stdout.close()
    try:
        yield pinned
    finally:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(pinned, signal.SIGKILL)
        os.close(pinned)


def has_ended(pinned: int, seconds: float = 0.0) -> bool:
    return bool(select.select([pinned], [], [], seconds)[0])


def test_a_killed_owner_is_proved_dead_and_the_process_of_its_run_is_ended(store: Path, orphan: int) -> None:
    assert not has_ended(orphan)
    with open_coordinator(store, destinations={"chat": lambda message: None}) as second:
        report = second.startup()

        assert has_ended(orphan, 10.0)
        assert (report.proved_dead, report.interrupted, report.killed, report.survived) == (1, 1, 1, 0)
        assert second.run("r1").outcome is Outcome.INTERRUPTED
        assert [each.fate for each in second.processes("r1")] == [Fate.ASKED]
        assert [audit.result is not None for audit in second.audits("r1")] == [True]
        assert report.drain.delivered == 1
        assert second.recover().cleaned == 0


def test_a_process_that_ended_meanwhile_needs_no_signal_and_no_audit(store: Path, orphan: int) -> None:
    signal.pidfd_send_signal(orphan, signal.SIGKILL)
    assert has_ended(orphan, 10.0)
    with open_coordinator(store) as second:
        report = second.recover()
        assert (report.interrupted, report.killed) == (1, 0)
        assert second.audits("r1") == []
