"""Every cell of the table of rules for runs whose processes are recorded."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest

from core.some_runs import CLAIMED, FINISHED, LEASE, NOW, OWNER, RIVAL, RUNNING, lease_on
from core.strategies import SOMEBODY
from runcoord import Deadline, Outcome, Run, State
from runcoord._core import requests as ask
from runcoord._core.decide import decide
from runcoord._core.limits import MAX_PID, MAX_RECORDED_PROCESSES
from runcoord._core.process_rules import RULES
from runcoord.errors import AlreadyFinished, InvalidRequest, LeaseExpired, LeaseLost, Refused
from runcoord.ports import (
    Audit,
    Cleanup,
    CleanupState,
    Fate,
    NewProcess,
    ProcessReport,
    RecordedProcess,
    Role,
    Snapshot,
    Takeover,
    Teardown,
    TeardownReport,
    Terms,
    UnknownIdentity,
)

EMPTY = TeardownReport(True)
LEFT = TeardownReport(
    False, (ProcessReport(77, Fate.SURVIVED, name="stuck", why="state D"), ProcessReport(78, Fate.KILLED))
)
PAST, AHEAD = Deadline.after(NOW, -10.0), Deadline.after(NOW, 40.0)
PENDING = Cleanup(processes=2, attempts=1)
DONE = replace(PENDING, state=CleanupState.DONE, teardowns=1)
STATES: dict[str, Run] = {
    "claimed": CLAIMED,
    "running": RUNNING,
    "tended": replace(RUNNING, cleanup=PENDING),
    "tended-expired": replace(RUNNING, cleanup=PENDING, lease=PAST),
    "tended-deferred": replace(RUNNING, cleanup=replace(PENDING, deferred=True)),
    "torn-down-expired": replace(RUNNING, cleanup=DONE, lease=PAST),
    "finished": FINISHED,
    "finished-pending": replace(FINISHED, cleanup=replace(PENDING, due=AHEAD)),
    "finished-due": replace(FINISHED, cleanup=replace(PENDING, due=PAST)),
    "finished-done": replace(FINISHED, cleanup=DONE),
}
Expected = type[Refused] | str
NOTHING = "nothing"


def row(**cells: Expected) -> dict[str, Expected]:
    named = {name.replace("_", "-"): cell for name, cell in cells.items()}
    assert list(named) == list(STATES)
    return named


TABLE: dict[str, dict[str, Expected]] = {
    "record": row(
        claimed="started and recorded",
        running="recorded",
        tended="recorded",
        tended_expired=LeaseExpired,
        tended_deferred="recorded",
        torn_down_expired=LeaseExpired,
        finished=AlreadyFinished,
        finished_pending=AlreadyFinished,
        finished_due=AlreadyFinished,
        finished_done=AlreadyFinished,
    ),
    "torn down": row(
        claimed="done",
        running="done",
        tended="done",
        tended_expired="done",
        tended_deferred="done",
        torn_down_expired=NOTHING,
        finished=AlreadyFinished,
        finished_pending="done",
        finished_due="done",
        finished_done=NOTHING,
    ),
    "snapshot": row(
        claimed="noted",
        running="noted",
        tended="noted",
        tended_expired="noted",
        tended_deferred="noted",
        torn_down_expired="noted",
        finished=AlreadyFinished,
        finished_pending=AlreadyFinished,
        finished_due=AlreadyFinished,
        finished_done=AlreadyFinished,
    ),
    "recover": row(
        claimed=NOTHING,
        running=NOTHING,
        tended=NOTHING,
        tended_expired=NOTHING,
        tended_deferred=NOTHING,
        torn_down_expired=NOTHING,
        finished=NOTHING,
        finished_pending=NOTHING,
        finished_due=NOTHING,
        finished_done=NOTHING,
    ),
    "recover on proof": row(
        claimed="given back",
        running="interrupted",
        tended=NOTHING,
        tended_expired=NOTHING,
        tended_deferred=NOTHING,
        torn_down_expired=NOTHING,
        finished=NOTHING,
        finished_pending=NOTHING,
        finished_due=NOTHING,
        finished_done=NOTHING,
    ),
    "take over": row(
        claimed=NOTHING,
        running=NOTHING,
        tended=NOTHING,
        tended_expired="acquired",
        tended_deferred=NOTHING,
        torn_down_expired="acquired",
        finished=NOTHING,
        finished_pending=NOTHING,
        finished_due="tried",
        finished_done=NOTHING,
    ),
    "take over on proof": row(
        claimed=NOTHING,
        running=NOTHING,
        tended="acquired",
        tended_expired="acquired",
        tended_deferred=NOTHING,
        torn_down_expired="acquired",
        finished=NOTHING,
        finished_pending=NOTHING,
        finished_due="tried",
        finished_done=NOTHING,
    ),
    "intend": row(
        claimed=LeaseLost,
        running=LeaseLost,
        tended="audited",
        tended_expired="audited",
        tended_deferred="audited",
        torn_down_expired="audited",
        finished=LeaseLost,
        finished_pending="audited",
        finished_due="audited",
        finished_done=LeaseLost,
    ),
    "defer": row(
        claimed=LeaseLost,
        running=LeaseLost,
        tended="deferred",
        tended_expired="deferred",
        tended_deferred="deferred",
        torn_down_expired="deferred",
        finished=LeaseLost,
        finished_pending="deferred",
        finished_due="deferred",
        finished_done=LeaseLost,
    ),
    "end": row(
        claimed=LeaseLost,
        running=LeaseLost,
        tended="ended",
        tended_expired="ended",
        tended_deferred="ended",
        torn_down_expired="ended",
        finished=LeaseLost,
        finished_pending="done",
        finished_due="done",
        finished_done=LeaseLost,
    ),
}
CELLS = [(request, state) for request, cells in TABLE.items() for state in cells]


def takeover_on(run: Run, *, attempt: int | None = None) -> Takeover:
    attempts = run.cleanup.attempts if run.cleanup else 0
    return Takeover(run.run_id, run.owner, run.epoch, attempts if attempt is None else attempt, AHEAD)


def asked(request: str, run: Run) -> ask.Request:
    lease, takeover = lease_on(run), takeover_on(run)
    return {
        "record": ask.RecordProcesses(lease, (NewProcess(SOMEBODY, Role.LEADER),), Terms()),
        "torn down": ask.RecordTeardown(lease, EMPTY),
        "snapshot": ask.RecordSnapshot(lease, Snapshot("r1", "/saved")),
        "recover": ask.Recover(RIVAL, "r2"),
        "recover on proof": ask.Recover(RIVAL, "r2", proof=OWNER),
        "take over": ask.TakeOver(RIVAL, 120.0),
        "take over on proof": ask.TakeOver(RIVAL, 120.0, proof=OWNER),
        "intend": ask.Intend(takeover, '{"pids":[4242]}'),
        "defer": ask.Defer(takeover, 30.0),
        "end": ask.EndCleaned(takeover, EMPTY, "r2"),
    }[request]


def test_what_a_dead_owner_left_of_a_finished_run_is_taken_over_by_one_sweep_at_a_time() -> None:
    left = replace(FINISHED, cleanup=replace(PENDING, attempts=0, due=AHEAD))
    request = ask.TakeOver(RIVAL, 120.0, proof=OWNER)
    first = decide(left, request, NOW)
    second = decide(first.run, request, NOW)
    assert first.changed
    assert first.run.cleanup == replace(PENDING, attempts=1, due=Deadline.after(NOW, 120.0))
    assert not second.changed


def test_the_table_has_every_request() -> None:
    assert {type(asked(request, RUNNING)) for request in TABLE} == {*RULES, ask.Recover}


@pytest.mark.parametrize(("request_", "state"), CELLS, ids=[f"{one}: {other}" for one, other in CELLS])
def test_a_cell_of_the_table(request_: str, state: str) -> None:
    run, expected = STATES[state], TABLE[request_][state]
    request, before = asked(request_, run), copy.deepcopy(run)
    if isinstance(expected, type):
        with pytest.raises(expected) as caught:
            decide(run, request, NOW)
        assert caught.value.remedy
        assert run == before
        return
    decision = decide(run, request, NOW)
    assert run == before
    assert decision.changed is (expected != NOTHING)
    assert seen(run, decision.run) == expected


def seen(before: Run, after: Run) -> str:
    """In a word what changed; the details are below, each in a test of its own."""
    if after == before:
        return NOTHING
    then, now = before.cleanup or Cleanup(), after.cleanup or Cleanup()
    if after.state is State.ACCEPTED:
        return "given back"
    if after.outcome is Outcome.INTERRUPTED and before.outcome is None:
        return "ended" if before.cleanup else "interrupted"
    if now.rounds > then.rounds:
        return "audited"
    if now.processes > then.processes:
        return "recorded" if before.state is State.RUNNING else "started and recorded"
    if now.attempts > then.attempts:
        return "acquired" if after.epoch == before.epoch + 1 and after.owner == RIVAL else "tried"
    if now.teardowns > then.teardowns:
        return "done"
    waits = (after.lease, now.due) != (before.lease, then.due)
    return "deferred" if now.deferred and waits else "noted"


def test_recording_numbers_the_processes_and_keeps_the_acquisition_under_which_it_was_done() -> None:
    new = (NewProcess(SOMEBODY, Role.SHIM), NewProcess(UnknownIdentity("hidepid", 5), Role.LEADER))
    terms = Terms(grace=2.0, last_words="/x")
    decision = decide(STATES["tended"], ask.RecordProcesses(lease_on(RUNNING), new, terms), NOW)
    assert decision.records == (
        RecordedProcess("r1", 3, Role.SHIM, 2, SOMEBODY, terms, NOW.wall),
        RecordedProcess("r1", 4, Role.LEADER, 2, UnknownIdentity("hidepid", 5), terms, NOW.wall),
    )
    assert decision.run.cleanup == replace(PENDING, processes=4)


def test_recording_after_a_teardown_makes_the_clean_up_pending_again() -> None:
    run = replace(RUNNING, cleanup=DONE)
    after = decide(run, asked("record", run), NOW).run
    assert after.cleanup == replace(DONE, state=CleanupState.PENDING, processes=3)


@pytest.mark.parametrize("pid", [-1, 0, 1, 2**31, MAX_PID + 1, True, "77", 77.0, None])
def test_a_number_that_is_no_pid_is_refused_and_nothing_is_recorded(pid: object) -> None:
    identity = replace(SOMEBODY, pid=pid)  # type: ignore[arg-type]
    new = (NewProcess(SOMEBODY), NewProcess(identity))
    with pytest.raises(InvalidRequest) as caught:
        decide(RUNNING, ask.RecordProcesses(lease_on(RUNNING), new, Terms()), NOW)
    assert repr(pid) in str(caught.value)


@pytest.mark.parametrize(
    "new",
    [
        (),
        (NewProcess(SOMEBODY),) * (MAX_RECORDED_PROCESSES + 1),
        (NewProcess(replace(SOMEBODY, start=-1)),),
        (NewProcess(replace(SOMEBODY, cookie="c" * 500)),),
        (NewProcess(replace(SOMEBODY, handle="\udc80")),),
        (NewProcess(UnknownIdentity("?", 1)),),
    ],
    ids=["none", "too many", "a start below zero", "a long cookie", "a handle that is no text", "init"],
)
def test_what_cannot_be_stored_or_meant_is_refused(new: tuple[NewProcess, ...]) -> None:
    with pytest.raises(InvalidRequest):
        decide(RUNNING, ask.RecordProcesses(lease_on(RUNNING), new, Terms()), NOW)


@pytest.mark.parametrize("stale", [{"owner": RIVAL}, {"epoch": 1}])
def test_only_the_newest_acquisition_records(stale: dict[str, object]) -> None:
    lease = lease_on(RUNNING, **stale)  # type: ignore[arg-type]
    for request in (
        ask.RecordProcesses(lease, (NewProcess(SOMEBODY),), Terms()),
        ask.RecordTeardown(lease, EMPTY),
        ask.RecordSnapshot(lease, Snapshot("r1", "/saved")),
    ):
        with pytest.raises(LeaseLost):
            decide(RUNNING, request, NOW)


def test_a_snapshot_of_another_run_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="'r9'"):
        decide(RUNNING, ask.RecordSnapshot(lease_on(RUNNING), Snapshot("r9", "/saved")), NOW)


def test_a_teardown_with_somebody_left_names_who() -> None:
    run = STATES["tended"]
    decision = decide(run, ask.RecordTeardown(lease_on(run), LEFT), NOW)
    cleanup = decision.run.cleanup
    assert cleanup is not None
    assert (cleanup.state, cleanup.unnamed) == (CleanupState.SURVIVED, 0)
    assert [(each.pid, each.fate, each.why) for each in cleanup.survivors] == [(77, "survived", "state D")]
    assert decision.records == (Teardown("r1", 1, LEFT, NOW.wall),)


def test_a_teardown_that_could_not_see_the_end_has_a_survivor_without_a_number() -> None:
    run = STATES["tended"]
    report = TeardownReport(False, problems=("/proc could not be read",))
    cleanup = decide(run, ask.RecordTeardown(lease_on(run), report), NOW).run.cleanup
    assert cleanup is not None
    [survivor] = cleanup.survivors
    assert (survivor.pid, survivor.fate, survivor.why) == (None, "unknown", "/proc could not be read")


# --- ending --------------------------------------------------------------------------------------


def body_of(decision: object) -> dict[str, object]:
    event = getattr(decision, "event", None)
    assert event is not None
    body: dict[str, object] = json.loads(event.body)
    return body


def test_a_completion_while_processes_may_live_is_told_at_once_and_says_so() -> None:
    run = STATES["tended"]
    decision = decide(run, ask.Complete(lease_on(run), Outcome.COMPLETED, exit_status=0), NOW)
    body = body_of(decision)
    assert (body["outcome"], body["cleanup"], body["exit_status"]) == ("completed", "pending", 0)
    assert decision.event is not None
    assert decision.event.due.passed(NOW)
    assert decision.run.cleanup == replace(PENDING, due=run.lease)
    assert decision.run.lease is None


def test_a_completion_with_its_teardown_names_the_survivors_in_one_decision() -> None:
    run = STATES["tended"]
    snapshot = Snapshot("r1", "/saved")
    request = ask.Complete(lease_on(run), Outcome.FAILED, error="3", report=LEFT, snapshot=snapshot)
    decision = decide(run, request, NOW)
    body = body_of(decision)
    assert (body["cleanup"], body["survivors_unnamed"]) == ("survived", 0)
    assert body["survivors"] == [{"pid": 77, "name": "stuck", "fate": "survived", "why": "state D"}]
    assert decision.records == (Teardown("r1", 1, LEFT, NOW.wall), snapshot)
    assert decision.run.cleanup is not None
    assert decision.run.cleanup.due is None


def test_a_run_without_processes_says_that_there_were_none() -> None:
    body = body_of(decide(RUNNING, ask.Complete(lease_on(RUNNING), Outcome.COMPLETED), NOW))
    assert (body["cleanup"], body["survivors"], body["exit_status"]) == (None, [], None)


@pytest.mark.parametrize(
    ("exit_status", "outcome", "error"),
    [
        (0, "completed", ""),
        (3, "failed", "exit status 3"),
        (-9, "failed", "ended by SIGKILL (9)"),
        (None, "interrupted", "interrupted: its owner ended or lost its lease before the run finished"),
    ],
)
def test_recovery_ends_a_run_as_its_command_ended_if_that_is_known(
    exit_status: int | None, outcome: str, error: str
) -> None:
    run = STATES["tended-expired"]
    decision = decide(run, ask.EndCleaned(takeover_on(run), EMPTY, "r2", exit_status), NOW)
    body = body_of(decision)
    assert (body["outcome"], body["error"], body["exit_status"]) == (outcome, error, exit_status)
    assert (body["cleanup"], decision.run.epoch, decision.run.owner) == ("done", run.epoch, run.owner)


def test_a_noted_stop_wins_over_the_exit_status() -> None:
    run = replace(STATES["tended-expired"], stop_requested_at=1.0, stop_reason="enough")
    decision = decide(run, ask.EndCleaned(takeover_on(run), EMPTY, "r2", 0), NOW)
    body = body_of(decision)
    assert (body["outcome"], body["error"], body["reported"]) == ("stopped", "enough", "completed")


def test_an_interrupted_run_is_retried_within_its_budget_and_one_that_ended_by_itself_is_not() -> None:
    run = STATES["tended-expired"]
    run = replace(run, spec=replace(run.spec, interruption_budget=1), lineage="first", depth=2)
    successor = decide(run, ask.EndCleaned(takeover_on(run), EMPTY, "r2"), NOW).successor
    assert successor is not None
    assert (successor.run_id, successor.lineage, successor.depth) == ("r2", "first", 2)
    assert successor.cleanup is None
    assert decide(run, ask.EndCleaned(takeover_on(run), EMPTY, "r2", 1), NOW).successor is None


def test_cleaning_up_after_a_finished_run_tells_nothing_and_changes_no_outcome() -> None:
    run = STATES["finished-due"]
    decision = decide(run, ask.EndCleaned(takeover_on(run), LEFT, "r2", 1), NOW)
    assert (decision.event, decision.successor) == (None, None)
    assert replace(decision.run, version=run.version, cleanup=run.cleanup) == run
    assert decision.run.cleanup is not None
    assert decision.run.cleanup.state is CleanupState.SURVIVED


# --- taking over ---------------------------------------------------------------------------------


def test_a_takeover_acquires_once_and_counts_the_attempt() -> None:
    run = STATES["tended-expired"]
    after = decide(run, ask.TakeOver(RIVAL, 120.0), NOW).run
    assert (after.epoch, after.owner, after.lease) == (run.epoch + 1, RIVAL, Deadline.after(NOW, 120.0))
    assert after.cleanup == replace(PENDING, attempts=2)
    with pytest.raises(LeaseLost):
        decide(after, ask.Complete(lease_on(run), Outcome.COMPLETED), NOW)


def test_a_finished_run_that_is_taken_over_still_gives_its_owner_the_same_answer() -> None:
    run = replace(FINISHED, cleanup=replace(PENDING, due=PAST))
    after = decide(run, ask.TakeOver(RIVAL, 120.0), NOW).run
    assert (after.epoch, after.owner) == (run.epoch, run.owner)
    again = decide(after, ask.Complete(lease_on(run), Outcome.COMPLETED, "done"), NOW)
    assert not again.changed


@pytest.mark.parametrize("state", ["tended-expired", "finished-due"])
def test_of_two_attempts_only_the_newest_may_go_on(state: str) -> None:
    first = decide(STATES[state], ask.TakeOver(RIVAL, 120.0), NOW).run
    old = takeover_on(first)
    later = replace(NOW, boottime=NOW.boottime + 121, wall=NOW.wall + 121)
    second = decide(first, ask.TakeOver("gw3", 120.0), later).run
    for request in (ask.Intend(old, "{}"), ask.Defer(old, 30.0), ask.EndCleaned(old, EMPTY, "r2")):
        with pytest.raises(LeaseLost):
            decide(second, request, later)
        decide(second, replace(request, takeover=takeover_on(second)), later)


def test_an_intent_is_numbered_and_written_without_a_result() -> None:
    run = STATES["tended-expired"]
    decision = decide(run, asked("intend", run), NOW)
    assert decision.records == (Audit("r1", 1, '{"pids":[4242]}', NOW.wall, None),)


@pytest.mark.parametrize("state", ["tended-expired", "finished-due"])
def test_a_deferred_run_waits_whoever_made_the_attempt(state: str) -> None:
    taken = decide(STATES[state], ask.TakeOver(RIVAL, 120.0), NOW).run
    deferred = decide(taken, ask.Defer(takeover_on(taken), 30.0), NOW).run
    for proof in ("", RIVAL, OWNER):
        assert not decide(deferred, ask.TakeOver("gw3", 120.0, proof), NOW).changed
    later = replace(NOW, boottime=NOW.boottime + 31, wall=NOW.wall + 31)
    again = decide(deferred, ask.TakeOver("gw3", 120.0), later).run
    assert again.cleanup is not None
    assert (again.cleanup.attempts, again.cleanup.deferred) == (3, False)


def test_proof_about_another_owner_proves_nothing() -> None:
    for run in (CLAIMED, RUNNING, STATES["tended"], STATES["finished-pending"]):
        assert not decide(run, ask.Recover("gw3", "r2", proof=RIVAL), NOW).changed
        assert not decide(run, ask.TakeOver("gw3", LEASE, proof=RIVAL), NOW).changed


def test_a_claimed_run_of_a_dead_owner_can_be_claimed_and_keeps_its_epoch() -> None:
    after = decide(CLAIMED, ask.Recover(RIVAL, "r2", proof=OWNER), NOW).run
    assert (after.state, after.owner, after.lease, after.epoch) == (State.ACCEPTED, "", None, CLAIMED.epoch)
    assert decide(after, ask.Claim(RIVAL, LEASE), NOW).run.epoch == CLAIMED.epoch + 1


def test_proof_of_death_ends_also_a_lease_that_no_clock_finds_expired() -> None:
    run = replace(RUNNING, lease=Deadline(NOW.wall + 86_400.0, 1.0, "boot-1"))
    assert decide(run, ask.Recover(RIVAL, "r2", proof=OWNER), NOW).run.outcome is Outcome.INTERRUPTED
