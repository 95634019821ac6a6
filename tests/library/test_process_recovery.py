"""What a sweep does about the processes of runs that nobody owns any more."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from library.owners_on_machines import COOKIE, KILL, TERM, Machines
from pytest_runcoord.processes import Handled, Ignored, Place, Sight, SimProcess, SimProcesses
from runcoord import Coordinator, Lease, Outcome, State
from runcoord._core.cleanup import UNSEEN
from runcoord._core.last_words import LastWords
from runcoord._core.limits import CLEANUP_ATTEMPTS
from runcoord.errors import InvalidRequest, LeaseLost
from runcoord.ports import (
    Cleanup,
    CleanupState,
    Fate,
    NewProcess,
    ProcessIdentity,
    ProcessReport,
    Role,
    SnapshotState,
    TeardownReport,
    Terms,
    UnknownIdentity,
)
from runcoord.testing import MemoryStore


def cleanup_of(machines: Machines, run_id: str = "r1") -> Cleanup:
    cleanup = machines.run(run_id).cleanup
    assert cleanup is not None
    return cleanup


def orphaned(machines: Machines, **child: Any) -> tuple[Coordinator, SimProcess, Lease]:
    """The run r1 with one process, which outlives its owner."""
    first = machines.start("gw1")
    process = machines.child("gw1", **child)
    lease = machines.running(first, process)
    machines.kill("gw1")
    return first, process, lease


def swept_to_the_end(machines: Machines, sweeper: Coordinator) -> int:
    """Sweeps, a minute apart, until the run has ended."""
    for sweeps in range(1, 30):
        sweeper.recover()
        if machines.run().state is State.FINISHED:
            return sweeps
        machines.clock.advance(60.0)
    raise AssertionError(f"the run never ended: {machines.run()}")


# --- what is proved to be ours -------------------------------------------------------------------


def test_the_surviving_process_of_a_crashed_owner_is_ended_and_the_run_ends_in_the_first_sweep() -> None:
    machines = Machines()
    first, process, lease = orphaned(machines)
    second = machines.start("gw2")

    report = second.recover()

    assert (report.interrupted, report.killed, report.cleaned, report.survived) == (1, 1, 1, 0)
    assert process.ended
    run = machines.run()
    assert (run.outcome, run.epoch) == (Outcome.INTERRUPTED, lease.epoch + 1)
    [outcome] = machines.outcomes()
    assert (outcome["cleanup"], outcome["survivors"]) == ("done", [])
    assert [message.run_id for message in machines.accepted] == ["r1"]
    [recorded] = second.processes("r1")
    assert recorded.fate is Fate.ASKED
    with pytest.raises(LeaseLost):
        first.complete(lease, Outcome.COMPLETED)


def test_a_round_of_signals_has_one_intent_before_it_and_one_result_after() -> None:
    machines = Machines()
    first, process, _ = orphaned(machines)
    seen: list[Any] = []
    second = machines.start("gw2")
    machines.watchers["gw2"].at["before-signal"] = lambda: seen.extend(first.audits("r1"))

    second.recover()

    [at_signal] = seen
    assert at_signal.result is None
    intent = json.loads(at_signal.intent)
    assert [each["pid"] for each in intent["processes"]] == [process.pid]
    assert (intent["attempt"], intent["by"], intent["cookie"]) == (1, "gw2", True)
    [audit] = second.audits("r1")
    assert audit.result is not None
    assert json.loads(audit.result)["fates"] == {"asked": 1}


def test_everything_with_the_runs_cookie_goes_too_and_no_bystander() -> None:
    machines = Machines()
    first = machines.start("gw1")
    process = machines.child("gw1")
    escaped = machines.child("gw1", "escaped")
    other = machines.child("gw1", "other", run="r2", environment={"RUNCOORD_COOKIE": "d0" * 16})
    plain = machines.child("gw1", "plain", run="", environment={})
    machines.running(first, process)
    machines.kill("gw1")

    assert machines.start("gw2").recover().killed == 2

    assert [process.ended, escaped.ended, other.ended, plain.ended] == [True, True, False, False]
    assert machines.sent_to(other) == machines.sent_to(plain) == []


def test_a_member_that_ignores_the_question_is_killed() -> None:
    machines = Machines()
    _, process, _ = orphaned(machines, dispositions={TERM: Ignored()})
    machines.start("gw2").recover()
    assert process.ended
    assert KILL in machines.sent_to(process)
    assert machines.outcomes()[0]["cleanup"] == "done"


def test_a_run_whose_lease_ran_out_is_cleaned_up_though_its_owner_lives() -> None:
    machines = Machines()
    first = machines.start("gw1")
    process = machines.child("gw1")
    lease = machines.running(first, process)
    second = machines.start("gw2")
    assert second.recover().cleaned == 0
    machines.clock.advance(first.settings.lease + 1)

    assert second.recover().cleaned == 1

    assert process.ended
    with pytest.raises(LeaseLost):
        first.renew(lease)


def test_leftovers_are_found_by_the_cookie_when_every_recorded_process_is_gone() -> None:
    machines = Machines()
    first = machines.start("gw1")
    process, escaped = machines.child("gw1"), machines.child("gw1", "escaped")
    machines.running(first, process)
    machines.kill("gw1")
    machines.table.exit(process, 0)

    assert machines.start("gw2").recover().killed == 1

    assert escaped.ended
    assert machines.outcomes()[0]["outcome"] == "interrupted"


def test_several_processes_of_one_run_each_get_what_is_theirs() -> None:
    machines = Machines()
    first = machines.start("gw1")
    alive, gone, replaced = (machines.child("gw1", name) for name in ("alive", "gone", "replaced"))
    machines.running(first, alive, gone, replaced)
    for process in (gone, replaced):
        machines.table.exit(process)
        machines.table.reap(process)
    stranger = machines.table.start("stranger", pid=replaced.pid, start=replaced.start)
    machines.kill("gw1")
    second = machines.start("gw2")

    second.recover()

    assert [each.fate for each in second.processes("r1")] == [Fate.ASKED, Fate.ENDED, Fate.STRANGER]
    assert machines.sent_to(stranger) == []
    [teardown] = second.teardowns("r1")
    assert teardown.report.emptied


# --- what is not ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["child", "another"])
def test_whoever_has_the_pid_now_gets_no_signal_and_the_run_converges(name: str) -> None:
    machines = Machines()
    first = machines.start("gw1")
    process = machines.child("gw1")
    machines.running(first, process)
    machines.kill("gw1")
    machines.table.exit(process)
    machines.table.reap(process)
    stranger = machines.table.start("stranger", pid=process.pid, start=process.start, name=name)

    report = machines.start("gw2").recover()

    assert (report.cleaned, report.killed, report.survived) == (1, 0, 0)
    assert machines.sent_to(stranger) == []
    assert machines.outcomes()[0]["cleanup"] == "done"


@pytest.mark.parametrize("moment", ["before-pin", "before-signal"])
def test_a_pid_that_is_recycled_between_the_look_and_the_signal_is_not_signalled(moment: str) -> None:
    machines = Machines()
    _, process, _ = orphaned(machines)
    strangers: list[SimProcess] = []

    def recycle() -> None:
        machines.table.exit(process)
        machines.table.reap(process)
        strangers.append(machines.table.start("stranger", pid=process.pid, start=process.start))

    second = machines.start("gw2")
    machines.watchers["gw2"].at[moment] = recycle

    second.recover()

    [stranger] = strangers
    assert machines.sent_to(stranger) == []
    assert not stranger.ended
    assert machines.run().outcome is Outcome.INTERRUPTED


def test_after_a_reboot_nothing_is_signalled_and_the_run_ends_in_the_first_sweep() -> None:
    machines = Machines()
    _, process, _ = orphaned(machines)
    machines.clock.reboot(5.0)
    second = machines.start("gw2")
    twin = machines.table.start("twin", pid=process.pid, start=process.start)

    report = second.recover()

    assert (report.cleaned, report.interrupted) == (1, 1)
    assert machines.sent_to(twin) == []
    assert machines.outcomes()[0]["cleanup"] == "done"


def require_bounded_and_untouched(machines: Machines, sweeper: Coordinator, process: SimProcess) -> None:
    """Unknown: nobody is signalled, and yet the run ends, with the survivor named, after bounded attempts."""
    swept_to_the_end(machines, sweeper)
    assert machines.sent_to(process) == []
    cleanup = cleanup_of(machines)
    assert (cleanup.state, cleanup.attempts) == (CleanupState.SURVIVED, CLEANUP_ATTEMPTS)
    [outcome] = machines.outcomes()
    assert (outcome["outcome"], outcome["cleanup"]) == ("interrupted", "survived")
    survivor, *others = outcome["survivors"]
    assert all((each["pid"], each["why"]) == (None, UNSEEN) for each in others)
    assert survivor["fate"] == "unknown"
    assert survivor["why"]
    assert [message.run_id for message in machines.accepted] == ["r1"]


@pytest.mark.parametrize(
    "place",
    [Place(host="host-2"), Place(pid_namespace="pid-2"), Place(time_namespace="time-2")],
    ids=["another machine", "another pid namespace", "another time namespace"],
)
def test_a_process_that_was_recorded_elsewhere_is_never_signalled_and_the_run_ends(place: Place) -> None:
    machines = Machines()
    first = machines.start("gw1", place)
    process = machines.child("gw1")
    machines.running(first, process)
    machines.kill("gw1")
    sweeper = machines.start("gw2")
    assert sweeper.recover().cleaned == 0
    assert machines.run().state is State.RUNNING, "its lease decides"
    machines.clock.advance(91.0)
    require_bounded_and_untouched(machines, sweeper, process)


@pytest.mark.parametrize("sight", [Sight.NOTHING, Sight.DENIED, Sight.HANGS])
def test_a_process_that_cannot_be_read_is_never_signalled_and_the_run_ends(sight: Sight) -> None:
    machines = Machines()
    _, process, _ = orphaned(machines, environment={})
    process.sight = sight
    require_bounded_and_untouched(machines, machines.start("gw2"), process)


def test_without_handles_and_without_a_cookie_nothing_is_proved() -> None:
    machines = Machines(handles=False)
    first = machines.start("gw1")
    process = machines.child("gw1", environment={})
    lease = machines.begun(first)
    assert first.table is not None
    first.record_processes(lease, [NewProcess(first.table().identify(process.pid))])
    machines.clock.advance(91.0)
    require_bounded_and_untouched(machines, machines.start("gw2"), process)


@pytest.mark.parametrize(
    "identity", [UnknownIdentity("the record has format 0.5", 4242), UnknownIdentity("it is no JSON")]
)
def test_a_record_of_another_form_is_never_a_reason_to_signal_and_the_run_ends(
    identity: UnknownIdentity,
) -> None:
    machines = Machines()
    _, process, _ = orphaned(machines)
    machines.overwrite(identity)
    require_bounded_and_untouched(machines, machines.start("gw2"), process)


@pytest.mark.parametrize("pid", [-1, 0, 1, 2**31])
def test_a_pid_out_of_range_that_is_found_stored_concerns_its_run_alone(pid: int) -> None:
    machines = Machines()
    first, _, _ = orphaned(machines)
    other = machines.start("gw3")
    good = machines.child("gw3", "good", run="r2")
    lease = machines.begun(other, "r2")
    assert other.table is not None
    other.record_processes(lease, [NewProcess(other.table().identify(good.pid, COOKIE))])
    machines.kill("gw3")
    [recorded] = first.processes("r1")
    assert isinstance(recorded.identity, ProcessIdentity)
    machines.overwrite(replace(recorded.identity, pid=pid))
    sweeper = machines.start("gw2")

    report = sweeper.recover()

    assert (machines.run("r2").outcome, report.cleanup_deferred) == (Outcome.INTERRUPTED, 1)
    assert good.ended
    swept_to_the_end(machines, sweeper)
    assert cleanup_of(machines).state is CleanupState.SURVIVED


def test_a_process_that_was_unreadable_when_it_was_recorded_is_never_signalled() -> None:
    machines = Machines()
    first = machines.start("gw1")
    process = machines.child("gw1", environment={})
    machines.recorded(first, UnknownIdentity("hidepid", process.pid))
    machines.kill("gw1")
    require_bounded_and_untouched(machines, machines.start("gw2"), process)


# --- bounds --------------------------------------------------------------------------------------


def test_a_deferred_run_costs_no_writes_until_it_is_due_and_waits_longer_each_time() -> None:
    machines = Machines()
    first = machines.start("gw1")
    machines.recorded(first, UnknownIdentity("hidepid", 4242))
    machines.kill("gw1")
    sweeper = machines.start("gw2")
    attempts = []
    for second in range(600):
        before = machines.stores["gw2"].counters.commits, cleanup_of(machines).attempts
        sweeper.recover()
        if cleanup_of(machines).attempts != before[1]:
            attempts.append(second)
        else:
            assert machines.stores["gw2"].counters.commits == before[0], f"at second {second}"
        if machines.run().state is State.FINISHED:
            break
        machines.clock.advance(1.0)
    assert attempts == [0, 30, 90, 210, 450]


def test_a_sweep_that_dies_in_the_middle_is_continued_at_once_by_the_next() -> None:
    machines = Machines()
    _, process, lease = orphaned(machines)
    second = machines.start("gw2")

    store = machines.stores["gw2"]
    store._inner = _Dying(store._inner, "intend")  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        second.recover()
    machines.kill("gw2")
    assert machines.run().state is State.RUNNING

    report = machines.start("gw3").recover()

    assert (report.cleaned, report.killed) == (1, 1)
    assert process.ended
    assert machines.run().epoch == lease.epoch + 2


class _Dying:
    """A store whose user is interrupted when it begins one verb."""

    def __init__(self, inner: Any, verb: str) -> None:
        self._inner, self._verb = inner, verb

    def transaction(self, verb: str) -> Any:
        if verb == self._verb:
            raise KeyboardInterrupt
        return self._inner.transaction(verb)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def test_nobody_is_signalled_while_the_intent_cannot_be_written_and_it_is_tried_again() -> None:
    machines = Machines()
    _, process, _ = orphaned(machines)
    second = machines.start("gw2")
    machines.stores["gw2"].failing = "intend"

    report = second.recover()

    assert (report.unaudited, report.cleanup_deferred, report.killed) == (1, 1, 0)
    assert machines.sent_to(process) == []
    assert machines.run().state is State.RUNNING
    machines.stores["gw2"].failing = ""
    machines.clock.advance(31.0)
    assert second.recover().killed == 1
    assert process.ended


def test_a_run_whose_intent_can_never_be_written_ends_with_its_process_named() -> None:
    machines = Machines()
    _, process, _ = orphaned(machines)
    second = machines.start("gw2")
    machines.stores["gw2"].failing = "intend"
    swept_to_the_end(machines, second)
    assert machines.sent_to(process) == []
    [survivor] = machines.outcomes()[0]["survivors"]
    assert survivor["pid"] == process.pid


def test_a_signal_that_is_not_permitted_delays_the_outcome_by_a_bounded_time() -> None:
    machines = Machines()
    _, process, _ = orphaned(machines, denies=None)
    second = machines.start("gw2")

    swept_to_the_end(machines, second)

    assert not process.ended
    [outcome] = machines.outcomes()
    assert (outcome["cleanup"], [each["fate"] for each in outcome["survivors"]]) == ("survived", ["denied"])
    audits = second.audits("r1")
    assert len(audits) == CLEANUP_ATTEMPTS
    assert all(audit.result is not None for audit in audits)


def test_a_row_that_makes_no_sense_counts_as_a_process_that_nobody_knows() -> None:
    machines = Machines()
    _, process, _ = orphaned(machines)
    MemoryStore(machines.data).plant("processes", "r1/1", "role", "king")
    sweeper = machines.start("gw2")
    swept_to_the_end(machines, sweeper)
    [survivor] = machines.outcomes()[0]["survivors"]
    assert (survivor["pid"], survivor["fate"]) == (None, "unknown")
    assert "r1/1" in survivor["why"]
    assert machines.sent_to(process) == []


def test_a_probe_that_raises_concerns_its_run_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    machines = Machines()
    first = machines.start("gw1")
    odd, good = machines.child("gw1", "odd"), machines.child("gw1", "good", run="r2")
    machines.running(first, odd)
    lease = machines.begun(first, "r2")
    assert first.table is not None
    first.record_processes(lease, [NewProcess(first.table().identify(good.pid, "e0" * 16))])
    machines.kill("gw1")
    right = SimProcesses.open

    def raises(table: SimProcesses, identity: ProcessIdentity) -> Any:
        if identity.pid == odd.pid:
            raise ZeroDivisionError("a bug in the table")
        return right(table, identity)

    monkeypatch.setattr(SimProcesses, "open", raises)

    report = machines.start("gw2").recover()

    assert machines.run("r2").outcome is Outcome.INTERRUPTED
    assert report.bad_count == 0


def test_a_table_that_cannot_be_scanned_proves_nothing_and_the_run_ends_with_that_said() -> None:
    machines = Machines()
    first = machines.start("gw1")
    process = machines.child("gw1")
    machines.running(first, process)
    machines.table.exit(process)
    machines.kill("gw1")
    machines.table.scan_fault = "denied"
    swept_to_the_end(machines, machines.start("gw2"))
    assert machines.outcomes()[0]["cleanup"] == "survived"


# --- a committed outcome is delivered whatever lives ---------------------------------------------


def test_a_committed_result_is_delivered_while_its_process_lives_and_told_once() -> None:
    machines = Machines()
    first = machines.start("gw1")
    process = machines.child("gw1", dispositions={TERM: Ignored()})
    lease = machines.running(first, process)
    first.complete(lease, Outcome.COMPLETED, result="done")
    first.deliver()
    [message] = machines.accepted
    assert json.loads(message.body)["cleanup"] == "pending"
    machines.kill("gw1")

    report = machines.start("gw2").recover()

    assert (report.cleaned, report.killed, report.interrupted) == (1, 1, 0)
    assert process.ended
    assert (machines.run().outcome, machines.run().result) == (Outcome.COMPLETED, "done")
    assert len(machines.outcomes()) == len(machines.accepted) == 1
    assert cleanup_of(machines).state is CleanupState.DONE


def test_a_teardown_that_is_recorded_after_the_outcome_leaves_nothing_to_recovery() -> None:
    machines = Machines()
    first = machines.start("gw1")
    process = machines.child("gw1")
    lease = machines.running(first, process)
    first.stop("r1")
    done = first.complete(lease, Outcome.FAILED)
    assert done.run.outcome is Outcome.STOPPED
    machines.table.exit(process)
    first.record_teardown(lease, TeardownReport(True))
    first.record_teardown(lease, TeardownReport(True))
    machines.clock.advance(91.0)

    report = machines.start("gw2").recover()

    assert report.cleaned == 0
    assert len(machines.outcomes()) == 1
    assert len(first.teardowns("r1")) == 1


def test_an_outcome_with_its_teardown_needs_no_recovery_and_names_who_is_left() -> None:
    machines = Machines()
    first = machines.start("gw1")
    process = machines.child("gw1")
    lease = machines.running(first, process)
    report = TeardownReport(False, (ProcessReport(process.pid, Fate.SURVIVED, name="child", why="state D"),))
    commits = machines.stores["gw1"].counters.commits
    first.complete(lease, Outcome.FAILED, exit_status=3, teardown=report)
    assert machines.stores["gw1"].counters.commits == commits + 1
    [outcome] = machines.outcomes()
    assert (outcome["cleanup"], outcome["exit_status"]) == ("survived", 3)
    assert [each["pid"] for each in outcome["survivors"]] == [process.pid]
    machines.kill("gw1")
    assert machines.start("gw2").recover().cleaned == 0


# --- the shim ------------------------------------------------------------------------------------


def with_shim(machines: Machines, tmp_path: Path, **terms: Any) -> tuple[SimProcess, SimProcess, Path]:
    """The run r1 with a shim and a leader; its owner is dead."""
    first = machines.start("gw1")
    shim = machines.child("gw1", "shim", subreaper=True)
    leader = machines.table.start("leader", parent=shim)
    lease = machines.begun(first)
    assert first.table is not None
    table = first.table()
    words = tmp_path / "r1" / "words"
    words.parent.mkdir()
    first.record_processes(
        lease,
        [
            NewProcess(table.identify(shim.pid, COOKIE), Role.SHIM),
            NewProcess(table.identify(leader.pid, COOKIE), Role.LEADER),
        ],
        terms=Terms(last_words=str(words), handed_over=COOKIE, **terms),
    )
    machines.kill("gw1")
    return shim, leader, words


def speak(words: Path, **fields: Any) -> None:
    said = {"cookie": COOKIE, "executed": True, "status": 0, "by_itself": True, **fields}
    words.write_text(json.dumps(LastWords(**said).document()))


def test_a_living_shim_is_waited_for_and_not_signalled(tmp_path: Path) -> None:
    machines = Machines()
    shim, leader, words = with_shim(machines, tmp_path)
    machines.table.later(3.0, lambda: machines.table.exit(leader, 0))
    machines.table.later(3.0, lambda: speak(words))
    machines.table.later(3.0, lambda: machines.table.exit(shim, 0))

    report = machines.start("gw2").recover()

    assert (report.recovered, report.killed, report.interrupted) == (1, 0, 0)
    assert machines.signals == []
    assert machines.run().outcome is Outcome.COMPLETED
    assert not words.parent.exists()


def test_a_shim_that_does_not_end_is_ended_with_its_tree(tmp_path: Path) -> None:
    machines = Machines()
    shim, leader, _ = with_shim(machines, tmp_path)
    began = machines.clock.monotonic()

    report = machines.start("gw2").recover()

    assert report.killed == 2
    assert shim.ended
    assert leader.ended
    assert 19.0 < machines.clock.monotonic() - began < 40.0


def test_a_shim_that_was_promised_more_time_than_a_sweep_has_is_left_alone_that_long_once(
    tmp_path: Path,
) -> None:
    machines = Machines()
    shim, _, _ = with_shim(machines, tmp_path, grace=60.0)
    sweeper = machines.start("gw2")
    assert (sweeper.recover().cleanup_deferred, machines.signals) == (1, [])
    machines.clock.advance(40.0)
    assert sweeper.recover().cleaned == 0
    machines.clock.advance(11.0)
    assert sweeper.recover().cleaned == 1
    assert shim.ended


@pytest.mark.parametrize(
    ("said", "outcome", "exit_status"),
    [
        ({"status": 0}, "completed", 0),
        ({"status": 7}, "failed", 7),
        ({"status": -11}, "failed", -11),
        ({"status": -9, "by_itself": False}, "interrupted", None),
        ({"status": None, "executed": False, "by_itself": False}, "interrupted", None),
        ({"cookie": "ff" * 16}, "interrupted", None),
    ],
    ids=["success", "failure", "signal", "ended by the teardown", "never began", "of another run"],
)
def test_a_run_ends_as_its_command_ended_by_itself_if_its_shim_could_write_that(
    tmp_path: Path, said: dict[str, Any], outcome: str, exit_status: int | None
) -> None:
    machines = Machines()
    shim, leader, words = with_shim(machines, tmp_path)
    machines.table.exit(leader)
    machines.table.exit(shim)
    speak(words, **said)

    machines.start("gw2").recover()

    [body] = machines.outcomes()
    assert (body["outcome"], body["exit_status"]) == (outcome, exit_status)


def test_a_noted_stop_wins_over_what_the_shim_wrote(tmp_path: Path) -> None:
    machines = Machines()
    shim, leader, words = with_shim(machines, tmp_path)
    machines.table.exit(leader)
    machines.table.exit(shim)
    speak(words)
    second = machines.start("gw2")
    second.stop("r1", "enough")

    assert second.recover().stopped == 1

    [body] = machines.outcomes()
    assert (body["outcome"], body["error"]) == ("stopped", "enough")


def test_an_owner_that_lives_is_not_waited_for_through_its_shim(tmp_path: Path) -> None:
    machines = Machines()
    first = machines.start("gw1")
    shim = machines.child("gw1", "shim", dispositions={TERM: Handled(0.0)})
    lease = machines.begun(first)
    assert first.table is not None
    first.record_processes(lease, [NewProcess(first.table().identify(shim.pid, COOKIE), Role.SHIM)])
    machines.clock.advance(91.0)
    began = machines.clock.monotonic()

    assert machines.start("gw2").recover().killed == 1

    assert machines.clock.monotonic() - began < 5.0


# --- the git state -------------------------------------------------------------------------------


def test_a_git_state_that_cannot_be_put_back_is_said_and_does_not_keep_the_run(tmp_path: Path) -> None:
    machines = Machines()
    first = machines.start("gw1")
    process = machines.child("gw1")
    lease = machines.begun(first)
    assert first.table is not None
    identity = first.table().identify(process.pid, COOKIE)
    folder = tmp_path / "r1"
    first.record_processes(lease, [NewProcess(identity)], snapshot=str(folder))
    machines.kill("gw1")
    second = machines.start("gw2")

    assert second.recover().interrupted == 1

    snapshot = second.snapshot("r1")
    assert snapshot is not None
    assert (snapshot.state, snapshot.directory) == (SnapshotState.REFUSED, str(folder))
    assert json.loads(snapshot.report)["problem"]


# --- recording -----------------------------------------------------------------------------------


def test_the_callers_own_pid_and_group_are_refused_and_nothing_is_recorded() -> None:
    machines = Machines()
    first = machines.start("gw1")
    lease = machines.begun(first)
    assert first.table is not None
    itself = first.table().itself()
    for identity in (itself, UnknownIdentity("?", itself.pid)):
        with pytest.raises(InvalidRequest, match="this process"):
            first.record_processes(lease, [NewProcess(identity)])
    assert first.processes("r1") == []
    assert machines.run().state is State.CLAIMED


def test_recording_starts_a_claimed_run_in_one_commit() -> None:
    machines = Machines()
    first = machines.start("gw1")
    process = machines.child("gw1")
    lease = machines.begun(first)
    commits = machines.stores["gw1"].counters.commits
    assert first.table is not None
    first.record_processes(lease, [NewProcess(first.table().identify(process.pid))], snapshot="/saved")
    assert machines.stores["gw1"].counters.commits == commits + 1
    assert machines.run().state is State.RUNNING
    snapshot = first.snapshot("r1")
    assert snapshot is not None
    assert snapshot.state is SnapshotState.TAKEN
