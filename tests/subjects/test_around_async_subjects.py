"""What is around subjects whose verbs are coroutines: other loops, other plugins, what they hold."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_runcoord.subjects import Snapshot
from pytest_runcoord.verdict import Verdict
from subjects.async_toy import AsyncToy, AsyncToySubject, with_toy
from subjects.test_async_subjects import HELD
from subjects.toy import ToySubject
from subjects.trying import LIFE, tried


def test_a_snapshot_may_be_a_coroutine() -> None:
    class Subject(AsyncToySubject):
        async def snapshot(self, world: Any) -> Snapshot:  # type: ignore[override]
            await asyncio.sleep(0)
            return ToySubject.snapshot(self, world)

    result = tried(LIFE, Subject())
    assert result.verdict is Verdict.PASSED, result.failure


def test_coroutines_of_a_subject_that_reads_the_time_itself_see_that_of_the_world() -> None:
    seen: list[float] = []

    class Reads(AsyncToy):
        async def put(self, job: str) -> None:
            began = time.time(), time.monotonic(), self.now()
            time.sleep(10)
            async with asyncio.timeout(60):
                await asyncio.wait_for(self.away(), 50)
            seen.extend(now - before for now, before in zip(self.read(), began, strict=True))
            self.toy.put(job)

        async def away(self) -> None:
            await asyncio.sleep(5)
            seen.append(time.time() - self.now())

        def read(self) -> tuple[float, float, float]:
            return time.time(), time.monotonic(), self.now()

    subject = with_toy(Reads)
    subject.patches_time = True
    result = tried("steps: [{open: w1}, {submit: {run: r1}}]", subject)
    assert result.verdict is Verdict.PASSED, result.failure
    assert seen == [0.0, 15.0, 15.0, 15.0]


def test_scenarios_run_inside_of_a_test_that_is_asynchronous_itself() -> None:
    async def around() -> Verdict:
        await asyncio.sleep(0)
        return tried(HELD + "  - advance: 90s\n", AsyncToySubject()).verdict

    assert asyncio.run(around()) is Verdict.PASSED


def test_scenarios_run_in_any_thread() -> None:
    verdicts: list[Verdict] = []
    thread = threading.Thread(
        target=lambda: verdicts.append(tried(HELD + "  - advance: 90s\n", AsyncToySubject()).verdict)
    )
    thread.start()
    thread.join()
    assert verdicts == [Verdict.PASSED]


def test_a_subject_without_coroutines_has_no_loop() -> None:
    code = (
        "import sys\n"
        "from subjects.trying import LIFE, tried\n"
        "assert tried(LIFE).verdict.value == 'passed'\n"
        "print('pytest_runcoord.subjects.virtual_loop' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(Path(__file__).parents[1]), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert ran.stdout == "False\n"


def test_two_hundred_scenarios_leave_no_descriptor_and_no_thread_behind() -> None:
    class Threaded(AsyncToy):
        async def put(self, job: str) -> None:
            await asyncio.to_thread(lambda: None)
            await super().put(job)

    def held() -> tuple[int, int]:
        return len(list(Path("/proc/self/fd").iterdir())), threading.active_count()

    subject = with_toy(Threaded)
    body = HELD + "  - advance: 90s\n  - crash: w1\n"
    assert tried(body, subject).verdict is Verdict.PASSED
    before = held()
    for _ in range(200):
        assert tried(body, subject).verdict is Verdict.PASSED
    assert held() == before


TESTS = """
import asyncio, pytest
from engine.running import compiled
from subjects import async_toy
from subjects.async_toy import AsyncToySubject
from subjects.trying import tried
from subjects.test_async_subjects import HELD

def test_plain():
    assert tried(HELD + "  - advance: 90s\\n", AsyncToySubject()).verdict.value == "passed"

@pytest.mark.asyncio
async def test_asynchronous():
    await asyncio.sleep(0.001)
    assert tried(HELD + "  - advance: 90s\\n", AsyncToySubject()).verdict.value == "passed"
    await asyncio.sleep(0.001)
"""


@pytest.mark.parametrize("debug", ["0", "1"])
def test_it_gets_on_with_a_plugin_that_runs_loops_itself(tmp_path: Path, debug: str) -> None:
    pytest.importorskip("pytest_asyncio")
    (tmp_path / "test_both.py").write_text(TESTS)
    options = ["-q", "-W", "error", "-p", "asyncio", "-o", "asyncio_default_fixture_loop_scope=function"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-p", "no:cacheprovider", tmp_path],
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).parents[1]), "PYTHONASYNCIODEBUG": debug, "PATH": ""},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "2 passed" in ran.stdout
