"""A whole run of pytest on a bad subject: each scenario has its own fault, and the others are as they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
Run = Callable[..., pytest.RunResult]

SUBJECT = """
import os, subprocess, sys, threading, time

from pytest_runcoord.subjects import RunSeen, SessionBase, Snapshot, SubjectBase


class Session(SessionBase):
    def submit(self, run):
        self.world.shared.setdefault("rows", {})[run] = RunSeen(run, "accepted")
        getattr(self, "when_" + run, lambda: None)()

    def claim(self, run): ...
    def complete(self, lease): ...

    def when_raises(self):
        raise KeyError("broken")

    def when_hangs(self):
        threading.Event().wait()

    def when_leaves(self):
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])

    def when_forks(self):
        if os.fork() == 0:
            return
        os.wait()

    def when_says_long(self):
        raise ValueError("x" * 100_000)

    def when_says_nothing(self):
        class Mute(Exception):
            def __str__(self):
                raise RuntimeError
        raise Mute


class Bad(SubjectBase):
    name = "bad"
    session = Session
    verb_seconds = 0.3

    def snapshot(self, world):
        return Snapshot(world.shared.get("rows", {}), {})


class Unmade(Bad):
    def __init__(self):
        raise OSError("no such database")


class Chatty(Bad):
    promises = "epochs"
"""
LOADED = """
import sys

def pytest_unconfigure():
    print("loaded:", [each for each in sys.modules if each.startswith("pytest_runcoord.subjects")])
"""
RUNS = ("raises", "hangs", "good", "leaves", "forks", "says_long", "says_nothing", "well")


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    pytester.makepyfile(bad=SUBJECT)
    pytester.makeini("[pytest]\npythonpath = .\n")
    scenarios = [
        f"runcoord: 1\nscenario: {each.replace('_', '-')}\nsays: One of them.\nsteps:\n  - open: w1\n"
        f"  - submit: {{run: {each}}}\n  - close: w1\n"
        for each in RUNS
    ]
    Path("all.runcoord.yaml").write_text("---\n".join(scenarios), "utf-8")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(*arguments: str) -> pytest.RunResult:
        return pytester.runpytest_subprocess("-p", "runcoord", *arguments, timeout=60)

    return run


def test_each_fault_is_named_at_its_line_and_the_run_goes_on(run: Run) -> None:
    result = run("--runcoord-subject=bad:Bad", "--tb=short")
    assert result.parseoutcomes() == {"passed": 3, "failed": 5}
    text = result.stdout.str()
    lines = Path("all.runcoord.yaml").read_text("utf-8").splitlines()
    for name, problem in (
        ("raises", "submit raised KeyError: 'broken'"),
        ("hangs", "submit did not return within 0.3 s of real time"),
        ("says_long", "submit raised ValueError: " + "x" * 100),
        ("says_nothing", "submit raised Mute: (its text cannot be had: RuntimeError)"),
    ):
        line = lines.index(f"  - submit: {{run: {name}}}") + 1
        assert f"all.runcoord.yaml:{line}: the subject bad: {problem}" in text
    assert "x" * 1000 not in text
    assert "the subject bad: left the process " in text
    assert "Traceback" not in text


def test_a_subject_that_cannot_be_made_fails_every_scenario_by_name(run: Run) -> None:
    result = run("--runcoord-subject=bad:Unmade")
    assert result.parseoutcomes() == {"failed": len(RUNS)}
    result.stdout.fnmatch_lines(["the subject Unmade: __init__ raised OSError: no such database"])
    assert "options.py" not in result.stdout.str()


def test_a_promise_that_is_a_text_is_not_taken_for_its_letters(run: Run) -> None:
    result = run("--runcoord-subject=bad:Chatty", "-k", "good")
    assert result.parseoutcomes()["failed"] == 1
    result.stdout.fnmatch_lines(["*promises is the text 'epochs'; one promise is written ('epochs',)*"])


def test_a_run_on_the_reference_loads_nothing_of_subjects(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makeconftest(LOADED)
    result = run("-k", "good")
    assert result.parseoutcomes()["passed"] == 1
    result.stdout.fnmatch_lines(["*loaded: []"])
    other = run("-k", "good", "--runcoord-subject=bad:Bad")
    assert "pytest_runcoord.subjects.guarded" in other.stdout.str()
    assert "pytest_runcoord.subjects.virtual_loop" not in other.stdout.str()
