"""The fixtures that the plugin gives to Python tests."""

from __future__ import annotations

import datetime
import locale
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from plugin.conftest import Run
from plugin.scenario_files import (
    DELIVERING,
    FAILING,
    FAILING_LINE,
    LITTLE_SUBJECT,
    PASSING,
    VARIANTS,
    WRONG,
    together,
)
from pytest_runcoord.fixtures import CrashedLease, RecordedDestination, StalledRenewals, TzDrift
from pytest_runcoord.from_python import ScenarioRunner
from pytest_runcoord.reference import Reference
from pytest_runcoord.rendering import ScenarioFailed
from pytest_runcoord.scenario import ScenarioError
from pytest_runcoord.verdict import Verdict
from runcoord import Coordinator, DestinationRefused, EventState, Outcome, State
from runcoord.errors import LeaseHeld, LeaseLost, WorkCancelled
from runcoord.testing import ManualClock

pytest_plugins = ["pytester"]

LEASE_SECONDS = 90.0
STEP_SECONDS = 5.0

# --- coordinators ---


def test_the_coordinator_is_on_the_default_store_and_lives_on_the_clock(
    runcoord_coordinator: Coordinator, runcoord_clock: ManualClock, tmp_path: Path
) -> None:
    runcoord_coordinator.submit(run_id="r1")
    assert (tmp_path / "runs.db").read_bytes().startswith(b"SQLite format 3")
    assert runcoord_coordinator.clock is runcoord_clock
    assert runcoord_coordinator.run("r1").created_at == runcoord_clock.wall()


def test_what_the_coordinator_delivers_is_recorded(
    runcoord_coordinator: Coordinator, runcoord_destination: RecordedDestination
) -> None:
    runcoord_coordinator.submit(run_id="r1", destination="chat")
    lease = runcoord_coordinator.claim("r1")
    runcoord_coordinator.start(lease)
    runcoord_coordinator.complete(lease, Outcome.COMPLETED, result="done")
    runcoord_coordinator.deliver()
    # The completion already belongs to this owner; a sweep sends what it left.
    runcoord_coordinator.recover()
    [message] = runcoord_destination.messages
    assert message.run_id == "r1"
    assert b"done" in message.body


def test_a_destination_with_an_error_raises_it_and_keeps_nothing(
    runcoord_coordinator: Coordinator, runcoord_destination: RecordedDestination
) -> None:
    runcoord_destination.error = DestinationRefused("not wanted")
    runcoord_coordinator.submit(run_id="r1", destination="chat")
    runcoord_coordinator.execute("r1", lambda _: "done")
    assert runcoord_destination.messages == []
    [event] = runcoord_coordinator.events(run_id="r1").events
    assert event.state is EventState.HELD


# --- a lease whose owner is gone ---


def test_the_lease_of_the_gone_owner_is_kept_until_it_runs_out(runcoord_crashed_lease: CrashedLease) -> None:
    crashed = runcoord_crashed_lease
    before = crashed.coordinator.run(crashed.run_id)
    assert before.state is State.RUNNING
    assert before.owner == crashed.lease.owner != crashed.coordinator.owner
    with pytest.raises(LeaseHeld):
        crashed.coordinator.claim(crashed.run_id)
    crashed.coordinator.recover()
    assert crashed.coordinator.run(crashed.run_id) == before


def test_after_the_lease_the_survivor_ends_the_run_and_tells_its_destination(
    runcoord_crashed_lease: CrashedLease,
) -> None:
    crashed = runcoord_crashed_lease
    crashed.clock.advance(LEASE_SECONDS + 1)
    crashed.coordinator.recover()
    ended = crashed.coordinator.run(crashed.run_id)
    assert ended.outcome is Outcome.INTERRUPTED
    assert ended.epoch > crashed.lease.epoch
    assert [message.run_id for message in crashed.destination.messages] == [crashed.run_id]


# --- a heartbeat that does not beat ---


def test_a_stalled_heartbeat_lets_the_lease_run_out(runcoord_stalled_renewals: StalledRenewals) -> None:
    renewals = runcoord_stalled_renewals
    run_id = renewals.execution.run.run_id
    expiry = renewals.coordinator.run(run_id).lease
    renewals.advance(LEASE_SECONDS + STEP_SECONDS)
    assert renewals.coordinator.run(run_id).lease == expiry
    renewals.coordinator.recover()
    assert renewals.coordinator.run(run_id).outcome is Outcome.INTERRUPTED
    with pytest.raises(WorkCancelled):
        renewals.execution.guard()
    with pytest.raises(LeaseLost):
        renewals.coordinator.progress(renewals.execution.lease, "still here")


def test_a_heartbeat_that_beats_keeps_the_lease(runcoord_stalled_renewals: StalledRenewals) -> None:
    renewals = runcoord_stalled_renewals
    renewals.resume()
    renewals.advance(10 * LEASE_SECONDS)
    renewals.coordinator.recover()
    assert renewals.coordinator.run(renewals.execution.run.run_id).state is State.RUNNING
    renewals.execution.guard()


def test_a_heartbeat_stalls_for_a_block_and_comes_back_after_it(
    runcoord_stalled_renewals: StalledRenewals,
) -> None:
    renewals = runcoord_stalled_renewals
    renewals.resume()
    renewals.advance(LEASE_SECONDS)
    epoch = renewals.execution.lease.epoch
    with renewals.stall():
        renewals.advance(LEASE_SECONDS + STEP_SECONDS)
    renewals.advance(STEP_SECONDS)
    # Nobody took over meanwhile: the same owner goes on under a new epoch.
    assert renewals.execution.lease.epoch == epoch + 1
    renewals.execution.guard()


# --- time zones ---


def test_the_zone_is_changed_for_the_block_and_put_back(runcoord_tz_drift: TzDrift) -> None:
    before = time.localtime(0).tm_gmtoff, os.environ.get("TZ")
    with runcoord_tz_drift("Asia/Tokyo"):
        assert time.localtime(0).tm_gmtoff == 9 * 3600
        with runcoord_tz_drift("America/New_York"):
            assert time.localtime(0).tm_gmtoff == -5 * 3600
        assert time.localtime(0).tm_gmtoff == 9 * 3600
    assert (time.localtime(0).tm_gmtoff, os.environ.get("TZ")) == before


def test_the_zone_is_put_back_after_the_test(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        """
import time

def test_a(runcoord_tz_drift):
    runcoord_tz_drift("Asia/Tokyo")
    runcoord_tz_drift("America/New_York")
    assert time.localtime(0).tm_gmtoff == -5 * 3600

def test_b():
    assert time.localtime(0).tm_gmtoff == 0
"""
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        assert run().parseoutcomes() == {"passed": 2}
    time.tzset()


@pytest.mark.parametrize("zone", ["Asia/Tokio", "", "../etc/passwd", "Tokyo!"])
def test_a_zone_that_does_not_exist_is_refused_and_nothing_changes(
    runcoord_tz_drift: TzDrift, zone: str
) -> None:
    before = time.localtime(0).tm_gmtoff, os.environ.get("TZ")
    with pytest.raises(ValueError, match="is no time zone"):
        runcoord_tz_drift(zone)
    assert (time.localtime(0).tm_gmtoff, os.environ.get("TZ")) == before


def test_the_locale_of_dates_is_changed_too_and_put_back(
    runcoord_tz_drift: TzDrift, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    before = locale.setlocale(locale.LC_TIME)
    with runcoord_tz_drift("JST-9", lc_time="C"):
        assert locale.setlocale(locale.LC_TIME) == "C"
        assert os.environ["LC_TIME"] == "C"
        assert "LC_ALL" not in os.environ
    assert locale.setlocale(locale.LC_TIME) == before
    assert os.environ["LC_ALL"] == "C.UTF-8"


def test_a_locale_that_is_not_installed_is_refused_and_nothing_changes(runcoord_tz_drift: TzDrift) -> None:
    before = dict(os.environ), locale.setlocale(locale.LC_TIME), time.localtime(0).tm_gmtoff
    with pytest.raises(ValueError, match="no locale 'xx_XX'"):
        runcoord_tz_drift("Asia/Tokyo", lc_time="xx_XX")
    assert (dict(os.environ), locale.setlocale(locale.LC_TIME), time.localtime(0).tm_gmtoff) == before


# --- code that reads the time itself ---


def test_code_that_reads_the_time_itself_reads_the_clock(runcoord_freeze: ManualClock) -> None:
    clock = runcoord_freeze
    assert time.time() == clock.wall()
    clock.advance(90.25)
    assert time.time() == pytest.approx(clock.wall(), abs=1e-5)
    assert datetime.datetime.now(datetime.UTC).timestamp() == pytest.approx(clock.wall(), abs=1e-5)
    clock.step(-7200)
    assert time.time() == pytest.approx(clock.wall(), abs=1e-5)
    clock.suspend(60)
    assert time.time() == pytest.approx(clock.wall(), abs=1e-5)


def test_the_frozen_clock_is_that_of_the_coordinator(
    runcoord_freeze: ManualClock, runcoord_coordinator: Coordinator
) -> None:
    runcoord_freeze.advance(30)
    runcoord_coordinator.submit(run_id="r1")
    assert runcoord_coordinator.run("r1").created_at == pytest.approx(time.time(), abs=1e-5)


def test_a_frozen_test_is_measured_in_real_time_and_the_next_one_sees_it(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile(
        """
import time

def test_frozen(runcoord_freeze):
    runcoord_freeze.advance(100_000)
    assert time.time() < 1_701_000_000

def test_real():
    assert time.time() > 1_702_000_000
"""
    )
    result = run("--durations=0", "-vv")
    assert result.parseoutcomes() == {"passed": 2}
    lines = [line for line in result.outlines if "test_frozen" in line and "s " in line.split("test_")[0]]
    durations = [float(line.split("s ")[0]) for line in lines if line[0].isdigit()]
    assert len(durations) == 3
    assert all(0 <= each < 60 for each in durations)


# --- scenarios from Python ---


@pytest.fixture
def beside(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], ScenarioRunner]:
    """A runner for scenario files in a folder of the test's own."""

    def beside(text: str) -> ScenarioRunner:
        (tmp_path / "a.runcoord.yaml").write_text(text, "utf-8")
        return ScenarioRunner(tmp_path)

    return beside


def test_a_scenario_given_as_text_passes(runcoord_scenario: ScenarioRunner) -> None:
    result = runcoord_scenario(PASSING)
    assert result.check() is result
    assert result.verdict is Verdict.PASSED
    assert result.exercised["one-outcome"] > 0


def test_a_path_is_looked_up_beside_the_test(pytester: pytest.Pytester, run: Run) -> None:
    folder = pytester.mkdir("deep")
    (folder / "a.runcoord.yaml").write_text(PASSING, "utf-8")
    (folder / "test_a.py").write_text(
        """
def test_a(runcoord_scenario):
    runcoord_scenario("a.runcoord.yaml").check()
""",
        "utf-8",
    )
    assert run("deep/test_a.py").parseoutcomes() == {"passed": 1}


def test_a_scenario_that_fails_gives_its_result_and_check_raises_the_report(
    beside: Callable[[str], ScenarioRunner],
) -> None:
    result = beside(FAILING)("a.runcoord.yaml")
    assert result.verdict is Verdict.FAILED
    with pytest.raises(ScenarioFailed) as caught:
        result.check()
    text = str(caught.value)
    assert text.startswith(f"a.runcoord.yaml:{FAILING_LINE}: claim was accepted")
    assert "expected: refused as lease-held" in text
    assert "History" in text


def test_the_report_of_a_failed_check_has_no_frames_of_the_harness(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile(
        f"TEXT = {FAILING!r}\n\ndef test_a(runcoord_scenario):\n    runcoord_scenario(TEXT).check()\n"
    )
    result = run()
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines([f"E *ScenarioFailed: <scenario>:{FAILING_LINE}: claim was accepted*"])
    assert "from_python.py" not in result.stdout.str()


def test_a_scenario_that_is_not_there_is_reported_at_the_line_of_the_test_alone(
    pytester: pytest.Pytester, run: Run
) -> None:
    pytester.makepyfile('def test_a(runcoord_scenario):\n    runcoord_scenario("absent.runcoord.yaml")\n')
    result = run()
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(["E *absent.runcoord.yaml:1:1: the file cannot be read*", "*.py:2: *Error"])
    assert "pathlib" not in result.stdout.str()
    assert "from_python.py" not in result.stdout.str()


def test_a_skipped_scenario_skips_the_test_with_its_reason(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        little=LITTLE_SUBJECT,
        test_a=f"""
from little import Little
TEXT = {DELIVERING!r}

def test_a(runcoord_scenario):
    runcoord_scenario(TEXT, subject=Little()).check()
""",
    )
    result = run("-rs")
    assert result.parseoutcomes() == {"skipped": 1}
    result.stdout.fnmatch_lines(["SKIPPED *little lacks outbox*"])


def test_one_scenario_and_one_variant_are_chosen_by_name(beside: Callable[[str], ScenarioRunner]) -> None:
    runner = beside(together(PASSING, VARIANTS))
    assert runner("a.runcoord.yaml", scenario="plain-life").scenario == "plain-life"
    result = runner("a.runcoord.yaml", scenario="two-stores", variant="memory", subject=Reference("memory"))
    assert (result.scenario, result.variant) == ("two-stores", "memory")
    assert result.line == PASSING.count("\n") + 2


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({}, "choose one with scenario=...; there are: plain-life, two-stores"),
        ({"scenario": "absent"}, "choose one with scenario=...; there are: plain-life, two-stores"),
        ({"scenario": "two-stores"}, "choose one with variant=...; there are: memory, default"),
        (
            {"scenario": "two-stores", "variant": "disk"},
            "choose one with variant=...; there are: memory, default",
        ),
    ],
)
def test_a_choice_that_is_not_one_names_what_there_is(
    beside: Callable[[str], ScenarioRunner], choice: dict[str, str], message: str
) -> None:
    with pytest.raises(LookupError, match=message.replace(".", r"\.")):
        beside(together(PASSING, VARIANTS))("a.runcoord.yaml", **choice)


def test_a_scenario_or_a_file_that_is_wrong_raises_with_its_place(
    beside: Callable[[str], ScenarioRunner],
) -> None:
    with pytest.raises(ScenarioError, match=r"^a\.runcoord\.yaml:5:5: unknown step 'opne'"):
        beside(WRONG)("a.runcoord.yaml")
    with pytest.raises(ScenarioError, match=r"^absent\.runcoord\.yaml:1:1: the file cannot be read"):
        beside(WRONG)("absent.runcoord.yaml")
