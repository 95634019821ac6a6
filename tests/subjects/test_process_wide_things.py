"""What a subject changes in the process that it shares with pytest is told, and is as before afterwards."""

from __future__ import annotations

import io
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.running import compiled
from pytest_runcoord.runner import run_variant
from pytest_runcoord.scenario import variants
from pytest_runcoord.subjects import Answer
from subjects.toy import Job, ToySession, ToySubject
from subjects.trying import LIFE, LINES, fault_of, tried


def doing(act: Callable[[ToySession], Any]) -> ToySubject:
    """The toy, which does this too when work is submitted."""

    class Session(ToySession):
        def submit(self, run: str) -> None:
            act(self)
            super().submit(run)

    class Subject(ToySubject):
        session = Session

    return Subject()


def test_a_subject_that_goes_elsewhere_is_told_and_the_next_scenario_begins_where_it_would() -> None:
    before = Path.cwd()
    failure = fault_of(doing(lambda session: os.chdir(session.world.directory)), LINES["close"], "leak")
    assert Path.cwd() == before
    assert "left the current directory at" in failure.problem


@pytest.mark.parametrize("how", [signal.SIG_IGN, lambda *_: None])
def test_a_subject_that_handles_signals_is_told_and_an_interrupt_ends_the_run_as_ever(how: Any) -> None:
    before = signal.getsignal(signal.SIGINT)
    failure = fault_of(doing(lambda _: signal.signal(signal.SIGINT, how)), LINES["close"], "leak")
    assert signal.getsignal(signal.SIGINT) is before
    assert failure.problem == "the subject toy: left handlers of its own for SIGINT"


def test_a_subject_that_changes_the_environment_is_told_and_the_next_scenario_has_it_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GONE", "here")
    monkeypatch.setenv("OTHER", "old")
    before = dict(os.environ)

    def act(session: ToySession) -> None:
        os.environ.update(OTHER="new", ADDED="1")
        os.environ.pop("GONE")

    failure = fault_of(doing(act), LINES["close"], "leak")
    assert failure.problem == "the subject toy: left other environment variables: ADDED, GONE, OTHER"
    assert dict(os.environ) == before


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="local time does not follow the environment")
def test_local_time_is_as_before_where_a_subject_leaves_another_zone() -> None:
    before = time.timezone, time.tzname

    def act(session: ToySession) -> None:
        os.environ["TZ"] = "XYZ-9"
        time.tzset()

    failure = fault_of(doing(act), LINES["close"], "leak")
    assert failure.problem == "the subject toy: left other environment variables: TZ"
    assert (time.timezone, time.tzname) == before


@pytest.mark.parametrize("name", ["stdin", "stdout", "stderr"])
def test_a_subject_that_replaces_a_standard_stream_is_told_and_the_next_scenario_has_it_back(
    name: str,
) -> None:
    before = getattr(sys, name)
    failure = fault_of(doing(lambda _: setattr(sys, name, io.StringIO())), LINES["close"], "leak")
    assert getattr(sys, name) is before
    assert failure.problem == f"the subject toy: left sys.{name} replaced"


def test_a_subject_that_puts_everything_back_is_not_blamed() -> None:
    def act(session: ToySession) -> None:
        here, handler = Path.cwd(), signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.chdir(session.world.directory)
        os.chdir(here)
        signal.signal(signal.SIGTERM, handler)
        stream, sys.stdout = sys.stdout, io.StringIO()
        sys.stdout = stream
        os.environ["ADDED"] = "1"
        del os.environ["ADDED"]

    assert tried(LIFE, doing(act)).failure is None


@pytest.mark.parametrize("gave", [{"run": "r2", "epoch": 1}, Answer({"run": "r2", "epoch": 1}, Job("r2", 1))])
def test_a_claim_that_gives_another_run_than_was_asked_for_is_a_fault(gave: Any) -> None:
    class Session(ToySession):
        def claim(self, run: str, lease: float = 90.0) -> Any:
            return gave

    class Subject(ToySubject):
        session = Session

    failure = fault_of(Subject(), LINES["claim"], "claim")
    assert failure.problem == "the subject toy: claim gave 'r2' when 'r1' was asked for"


def test_values_of_an_answer_do_not_pass_for_what_the_harness_says_of_a_call() -> None:
    class Session(ToySession):
        def complete(self, lease: Job, result: str = "") -> dict[str, Any]:  # type: ignore[override]
            super().complete(lease, result)
            return {"on": "r2", "start": 9, "with_epoch": 7, "reported": "failed", "took": 3}

    class Subject(ToySubject):
        session = Session

    entries: list[Any] = []
    scenario = compiled(LIFE)
    [variant] = variants(scenario)
    run_variant(
        scenario, variant, subject=Subject(), attach=lambda world: entries.append(world.history.entries)
    )
    [completed] = [each for each in entries[0] if each.what == "complete"]
    said = {name: completed.data[name] for name in ("on", "start", "with_epoch", "reported", "took")}
    assert said == {"on": "r1", "start": 1, "with_epoch": 1, "reported": "completed", "took": 3}
