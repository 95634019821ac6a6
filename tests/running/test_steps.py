"""A command driven step by step, on simulated processes and clocks: no time passes but by the test."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_runcoord.processes.plans import Plan
from runcoord import Outcome, State
from runcoord._supervisor.accepting import Intake
from runcoord._supervisor.report import Cause
from runcoord.errors import Happened, KeyConflict, LaunchFailed, LiveRunsExceeded, StoreUnavailable
from runcoord.ports import CleanupState, Fate
from running.simulated import Machine


@pytest.fixture(autouse=True)
def outside_of_any_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RUNCOORD_DEPTH", "RUNCOORD_MAX_DEPTH", "RUNCOORD_TEARDOWN_GRACE", "RUNCOORD_COOKIE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path, {"sleep": Plan("sleep"), "true": Plan("true", ends_after=1.0)})
    yield made
    for each in made.opened:
        each.close()


def test_a_command_that_ends_completes_its_run_in_two_commits(machine: Machine) -> None:
    coordinator = machine.coordinator()
    command = machine.command(coordinator, "true")
    before = coordinator.store.counters.commits
    command.begin()
    machine.advance(2, command)
    report = command.report
    assert report is not None
    assert coordinator.store.counters.commits - before == 2
    assert (report.cause, report.exit_status, report.clean) == (Cause.ENDED, 0, True)
    assert (report.run.outcome, report.run.exit_status) == (Outcome.COMPLETED, 0)
    assert machine.living() == []
    assert command.next_due() is None
    [event] = coordinator.events().events
    assert '"cleanup":"done"' in event.body


def test_before_the_gate_opens_the_run_its_processes_and_its_terms_are_stored(machine: Machine) -> None:
    coordinator = machine.coordinator()
    command = machine.command(coordinator, "sleep", Intake(run_id="r1"), grace=7)
    assert coordinator.runs().runs == []
    run = command.begin()
    assert (run.state, run.epoch, run.depth) == (State.RUNNING, 1, 0)
    shim, leader = coordinator.processes("r1")
    assert (shim.role, leader.role) == ("shim", "leader")
    assert shim.identity.pid == machine.table.labelled["sleep-shim"].pid
    assert leader.identity.pid == machine.table.labelled["sleep"].pid
    assert (leader.terms.grace, leader.terms.handed_over) == (7, run.lineage)
    command.end(Cause.INTERRUPTED)


def test_the_lease_is_renewed_while_it_works_and_while_it_is_torn_down(machine: Machine) -> None:
    coordinator = machine.coordinator()
    command = machine.command(coordinator)
    command.begin()
    machine.advance(1_000, command)
    run = coordinator.run(command.execution.run.run_id)
    assert (run.state, run.epoch) == (State.RUNNING, 1)
    assert run.lease is not None
    assert run.lease.remaining(machine.clock.now()) > 50
    command.end(Cause.INTERRUPTED)


def test_the_timeout_is_a_moment_that_is_due(machine: Machine) -> None:
    coordinator = machine.coordinator()
    command = machine.command(coordinator, timeout=5)
    command.begin()
    machine.advance(4.9, command)
    assert command.report is None
    machine.advance(0.2, command)
    report = command.report
    assert report is not None
    assert (report.cause, report.exit_status) == (Cause.TIMED_OUT, 124)
    assert (report.run.outcome, report.run.error) == (Outcome.FAILED, "timed out after 5 s")
    assert machine.living() == []


def test_a_suspend_counts_towards_the_timeout(machine: Machine) -> None:
    coordinator = machine.coordinator()
    command = machine.command(coordinator, timeout=50)
    command.begin()
    machine.clock.suspend(60)
    command.tick()
    assert command.report is not None
    assert command.report.cause is Cause.TIMED_OUT


def test_a_stop_is_seen_at_the_next_look(machine: Machine) -> None:
    coordinator, other = machine.coordinator(), machine.coordinator("gw2")
    command = machine.command(coordinator, intake=Intake(run_id="r1"))
    command.begin()
    other.stop("r1", "enough")
    machine.advance(3, command)
    report = command.report
    assert report is not None
    assert (report.cause, report.exit_status) == (Cause.STOPPED, 121)
    assert (report.run.outcome, report.run.error) == (Outcome.STOPPED, "enough")


def test_a_stop_at_the_last_moment_wins_over_a_success(machine: Machine) -> None:
    coordinator, other = machine.coordinator(), machine.coordinator("gw2")
    command = machine.command(coordinator, "true", Intake(run_id="r1"))
    command.begin()
    machine.sleeper.sleep(1.5)
    other.stop("r1", "enough")
    command.tick()
    report = command.report
    assert report is not None
    assert (report.run.outcome, report.run.reported) == (Outcome.STOPPED, Outcome.COMPLETED)
    assert (report.cause, report.exit_status) == (Cause.ENDED, 121)


def test_what_cannot_be_killed_is_named_and_makes_a_success_unclean(machine: Machine) -> None:
    machine.programs["true"] = Plan(
        "true", ends_after=1.0, children=(Plan("stuck", unkillable=True), Plan("helper"))
    )
    coordinator = machine.coordinator()
    command = machine.command(coordinator, "true")
    command.begin()
    machine.advance(2, command)
    report = command.report
    assert report is not None
    assert report.teardown is not None
    assert [(each.name, each.fate) for each in report.teardown.left] == [("stuck", Fate.SURVIVED)]
    assert (report.run.outcome, report.exit_status) == (Outcome.COMPLETED, 120)
    assert report.run.cleanup is not None
    assert report.run.cleanup.state is CleanupState.SURVIVED


def test_a_run_that_somebody_else_ended_is_torn_down_and_nothing_is_recorded_as_a_success(
    machine: Machine,
) -> None:
    coordinator, other = machine.coordinator(), machine.coordinator("gw2")
    command = machine.command(coordinator, intake=Intake(run_id="r1"))
    command.begin()
    machine.programs["sleep"] = Plan("sleep")
    machine.sleeper.sleep(200)  # nobody ticks: the process was stopped, say
    while other.run("r1").state is not State.FINISHED:
        other.recover()
        machine.sleeper.sleep(60)
    ended = other.run("r1")
    command.tick()
    report = command.report
    assert report is not None
    # What it sees of that first is that its shim was ended too.
    assert (report.cause, report.recorded) == (Cause.BROKEN, False)
    assert report.exit_status != 0
    assert other.run("r1") == ended
    assert len(other.events().events) == 1
    assert machine.living() == []


def test_a_second_end_gives_the_same_report_and_sends_nothing(machine: Machine) -> None:
    coordinator = machine.coordinator()
    command = machine.command(coordinator)
    command.begin()
    first = command.end(Cause.INTERRUPTED, why="told")
    sent = len(machine.table.everyone)
    commits = coordinator.store.counters.commits
    assert command.end(Cause.TIMED_OUT) is first
    assert (len(machine.table.everyone), coordinator.store.counters.commits) == (sent, commits)
    assert (first.run.outcome, first.run.error) == (Outcome.INTERRUPTED, "told")


def test_asked_to_end_before_the_gate_opens_nothing_is_executed(machine: Machine) -> None:
    coordinator = machine.coordinator()
    command = machine.command(coordinator, "true")
    command.ask(Cause.INTERRUPTED, signal=15, why="told to end")
    command.begin()
    assert not command.began
    command.tick()
    report = command.report
    assert report is not None
    assert (report.cause, report.exit_status, report.run.outcome) == (
        Cause.INTERRUPTED,
        143,
        Outcome.INTERRUPTED,
    )
    assert machine.living() == []


def test_an_outcome_that_cannot_be_recorded_never_looks_like_a_success(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    coordinator = machine.coordinator()
    command = machine.command(coordinator, "true", Intake(run_id="r1"))
    command.begin()
    assert machine.store_fails is not None
    machine.store_fails.verb, machine.store_fails.times = "finish", 1_000
    machine.advance(2, command)
    report = command.report
    assert report is not None
    assert (report.recorded, report.exit_status) == (False, 125)
    assert report.problems == ("the outcome could not be recorded: the store is away. Wait.",)
    assert machine.living() == []
    machine.store_fails.times = 0
    assert coordinator.run("r1").state is State.RUNNING
    assert any(record.levelno == logging.WARNING for record in caplog.records)


def test_a_store_that_fails_once_costs_no_outcome(machine: Machine) -> None:
    coordinator = machine.coordinator()
    command = machine.command(coordinator, "true")
    command.begin()
    assert machine.store_fails is not None
    machine.store_fails.verb, machine.store_fails.times, machine.store_fails.happens = "finish", 1, True
    machine.advance(2, command)
    assert command.report is not None
    assert (command.report.recorded, command.report.exit_status) == (True, 0)


def test_an_exception_thrown_into_the_recording_costs_no_outcome_and_passes(machine: Machine) -> None:
    coordinator = machine.coordinator()
    command = machine.command(coordinator, "true", Intake(run_id="r1"))
    command.begin()
    assert machine.store_fails is not None
    machine.store_fails.verb, machine.store_fails.times = "finish", 1
    machine.store_fails.error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        machine.advance(2, command)
    assert command.report is not None
    assert (command.report.recorded, command.report.exit_status) == (True, 0)
    assert coordinator.run("r1").outcome is Outcome.COMPLETED


@pytest.mark.parametrize("stored", [False, True])
def test_an_interruption_of_the_beginning_ends_its_run_if_that_is_stored_and_leaves_nothing(
    machine: Machine, stored: bool
) -> None:
    coordinator = machine.coordinator()
    command = machine.command(coordinator, "sleep", Intake(run_id="r1"))
    assert machine.store_fails is not None
    machine.store_fails.verb, machine.store_fails.times, machine.store_fails.happens = "begin", 1, stored
    machine.store_fails.error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        command.begin()
    assert machine.living() == []
    assert [(run.run_id, run.outcome, run.error) for run in coordinator.runs().runs] == (
        [("r1", Outcome.INTERRUPTED, "its caller was interrupted: KeyboardInterrupt")] if stored else []
    )
    assert len(coordinator.events().events) == stored
    assert not (machine.directory / "runs.db.snapshots" / "r1").exists()
    assert command.began is False


def test_an_interruption_of_the_beginning_ends_no_other_run_under_its_id(machine: Machine) -> None:
    coordinator = machine.coordinator()
    first = machine.command(coordinator, intake=Intake(run_id="r1"))
    first.begin()
    second = machine.command(coordinator, intake=Intake(run_id="r1"))
    assert machine.store_fails is not None
    machine.store_fails.verb, machine.store_fails.times = "begin", 1
    machine.store_fails.error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        second.begin()
    assert coordinator.run("r1").state is State.RUNNING
    machine.sleeper.sleep(1)
    assert sorted(machine.living()) == ["sleep", "sleep-shim"]
    first.end(Cause.INTERRUPTED)


def test_a_command_begins_though_another_removes_the_directory_of_both_folders_at_that_moment(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders, make = machine.directory / "runs.db.snapshots", os.mkdir
    removed: list[str | Path] = []

    def make_and_lose(path: str | Path, mode: int = 0o777) -> None:
        make(path, mode)
        if Path(path) == folders and not removed:
            os.rmdir(path)
            removed.append(path)

    command = machine.command(machine.coordinator(), "true", Intake(run_id="r1"))
    monkeypatch.setattr(os, "mkdir", make_and_lose)
    command.begin()
    assert len(removed) == 1
    assert (folders / "r1").is_dir()
    command.end(Cause.INTERRUPTED)


def test_a_store_that_is_away_at_the_beginning_leaves_nothing_running(machine: Machine) -> None:
    coordinator = machine.coordinator()
    command = machine.command(coordinator)
    assert machine.store_fails is not None
    machine.store_fails.verb, machine.store_fails.times = "begin", 1
    with pytest.raises(StoreUnavailable):
        command.begin()
    machine.sleeper.sleep(1)
    assert machine.living() == []
    assert coordinator.runs().runs == []


def test_a_command_that_cannot_be_executed_ends_its_run_as_failed(machine: Machine) -> None:
    coordinator = machine.coordinator()
    command = machine.command(coordinator, "cat")
    with pytest.raises(LaunchFailed) as failure:
        command.begin()
    machine.sleeper.sleep(1)
    assert machine.living() == []
    [run] = coordinator.runs().runs
    assert failure.value.happened is Happened.YES
    assert failure.value.problem.endswith(f"; run {run.run_id!r} is recorded as failed")
    assert (failure.value.details["run"], failure.value.details["outcome"]) == (run.run_id, "failed")
    assert (run.state, run.outcome, run.epoch) == (State.FINISHED, Outcome.FAILED, 1)
    assert run.error.startswith("it never began: ")
    assert len(coordinator.events().events) == 1


def test_a_command_that_cannot_be_executed_says_of_its_run_what_is_stored_of_it(machine: Machine) -> None:
    coordinator = machine.coordinator()
    command = machine.command(coordinator, "cat")
    assert machine.store_fails is not None
    machine.store_fails.verb, machine.store_fails.times = "finish", 1_000
    with pytest.raises(LaunchFailed) as failure:
        command.begin()
    [run] = coordinator.runs().runs
    assert run.state is State.RUNNING
    assert failure.value.happened is Happened.YES
    assert failure.value.problem.endswith(f"; run {run.run_id!r} is in the store, for recovery to end")
    assert (failure.value.details["run"], failure.value.details["outcome"]) == (run.run_id, "")


def test_a_run_id_that_is_taken_is_refused_and_nothing_of_the_second_runs(machine: Machine) -> None:
    coordinator = machine.coordinator()
    first = machine.command(coordinator, intake=Intake(run_id="r1"))
    first.begin()
    second = machine.command(coordinator, intake=Intake(run_id="r1", key="other"))
    with pytest.raises(KeyConflict):
        second.begin()
    machine.sleeper.sleep(1)
    assert sorted(machine.living()) == ["sleep", "sleep-shim"]
    assert len(coordinator.runs().runs) == 1
    first.end(Cause.INTERRUPTED)


def test_live_runs_of_one_lineage_are_counted_under_the_lock(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    coordinator = machine.coordinator()
    outer = machine.command(coordinator)
    outer.begin()
    monkeypatch.setenv("RUNCOORD_COOKIE", outer.launched.prepared.line.own)
    inner = machine.command(coordinator, intake=Intake(max_live_runs=1))
    with pytest.raises(LiveRunsExceeded) as refusal:
        inner.begin()
    assert (refusal.value.details["live"], refusal.value.details["max"]) == (1, 1)
    assert len(coordinator.runs().runs) == 1
    outer.end(Cause.INTERRUPTED)


def test_a_shim_that_is_killed_ends_the_run_as_interrupted_and_its_tree_is_gone(machine: Machine) -> None:
    coordinator = machine.coordinator()
    command = machine.command(coordinator)
    command.begin()
    machine.table.exit(machine.table.labelled["sleep-shim"], -9)
    command.tick()
    report = command.report
    assert report is not None
    assert (report.cause, report.exit_status) == (Cause.BROKEN, 125)
    assert report.run.outcome is Outcome.INTERRUPTED
    assert machine.living() == []


def test_the_end_of_a_run_is_one_structured_record_without_the_command(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "runcoord.commands")
    command = machine.command(machine.coordinator(), "true", Intake(run_id="r1"))
    command.begin()
    machine.advance(2, command)
    [record] = [each for each in caplog.records if each.name == "runcoord.commands"]
    fields = {name: record.__dict__[name] for name in ("run", "cause", "outcome", "status", "left")}
    assert fields == {"run": "r1", "cause": "ended", "outcome": "completed", "status": 0, "left": 0}
