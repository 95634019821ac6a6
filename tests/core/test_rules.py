"""Every cell of the table of rules: what each request does to a run in each state."""

from __future__ import annotations

import copy
from dataclasses import fields, replace

import pytest

from core.some_runs import CLAIMED, FINISHED, LEASE, NOW, OWNER, RIVAL, RUNNING, STATES, lease_on
from runcoord import Deadline, Outcome, Run, State
from runcoord._core import process_rules
from runcoord._core import requests as ask
from runcoord._core.decide import _RULES, INTERRUPTED_ERROR, Decision, decide
from runcoord._core.limits import (
    MAX_LEASE_SECONDS,
)
from runcoord.errors import (
    AlreadyFinished,
    AlreadyStarted,
    LeaseExpired,
    LeaseHeld,
    LeaseLost,
    NotStarted,
    Refused,
)

#: What the table says: a refusal, that nothing changes, or in a word what changes.
Expected = type[Refused] | str

NOTHING, GRANTED, RENEWED = "nothing", "granted", "renewed"
IN_EVERY_STATE = list(STATES)


def row(**cells: Expected) -> dict[str, Expected]:
    """One row; the state ``claimed_expired`` is written with an underscore."""
    named = {name.replace("_", "-"): cell for name, cell in cells.items()}
    assert list(named) == IN_EVERY_STATE
    return named


TABLE: dict[str, dict[str, Expected]] = {
    "claim by its holder": row(
        accepted=GRANTED,
        released=GRANTED,
        claimed=GRANTED,
        claimed_expired=GRANTED,
        claimed_implausible=GRANTED,
        running=AlreadyStarted,
        running_expired=AlreadyStarted,
        running_implausible=AlreadyStarted,
        stopping=AlreadyStarted,
        stopping_expired=AlreadyStarted,
        finished=AlreadyFinished,
    ),
    "claim by a rival": row(
        accepted=GRANTED,
        released=GRANTED,
        claimed=LeaseHeld,
        claimed_expired=GRANTED,
        claimed_implausible=LeaseHeld,
        running=LeaseHeld,
        running_expired=AlreadyStarted,
        running_implausible=LeaseHeld,
        stopping=LeaseHeld,
        stopping_expired=AlreadyStarted,
        finished=AlreadyFinished,
    ),
    "start": row(
        accepted=LeaseLost,
        released=LeaseLost,
        claimed="started",
        claimed_expired=LeaseExpired,
        claimed_implausible="started",
        running=NOTHING,
        running_expired=LeaseExpired,
        running_implausible=NOTHING,
        stopping=NOTHING,
        stopping_expired=LeaseExpired,
        finished=AlreadyFinished,
    ),
    "renew": row(
        accepted=LeaseLost,
        released=LeaseLost,
        claimed=RENEWED,
        claimed_expired=LeaseExpired,
        claimed_implausible=RENEWED,
        running=RENEWED,
        running_expired=LeaseExpired,
        running_implausible=RENEWED,
        stopping=RENEWED,
        stopping_expired=LeaseExpired,
        finished=AlreadyFinished,
    ),
    "reacquire": row(
        accepted=LeaseLost,
        released=LeaseLost,
        claimed=GRANTED,
        claimed_expired=GRANTED,
        claimed_implausible=GRANTED,
        running=GRANTED,
        running_expired=GRANTED,
        running_implausible=GRANTED,
        stopping=GRANTED,
        stopping_expired=GRANTED,
        finished=AlreadyFinished,
    ),
    "release": row(
        accepted=LeaseLost,
        released=LeaseLost,
        claimed="given back",
        claimed_expired="given back",
        claimed_implausible="given back",
        running=AlreadyStarted,
        running_expired=AlreadyStarted,
        running_implausible=AlreadyStarted,
        stopping=AlreadyStarted,
        stopping_expired=AlreadyStarted,
        finished=AlreadyFinished,
    ),
    "progress": row(
        accepted=LeaseLost,
        released=LeaseLost,
        claimed=NotStarted,
        claimed_expired=LeaseExpired,
        claimed_implausible=NotStarted,
        running="noted",
        running_expired=LeaseExpired,
        running_implausible="noted",
        stopping="noted",
        stopping_expired=LeaseExpired,
        finished=AlreadyFinished,
    ),
    "publish": row(
        accepted=LeaseLost,
        released=LeaseLost,
        claimed=NotStarted,
        claimed_expired=LeaseExpired,
        claimed_implausible=NotStarted,
        running="published",
        running_expired=LeaseExpired,
        running_implausible="published",
        stopping="published",
        stopping_expired=LeaseExpired,
        finished=AlreadyFinished,
    ),
    "complete as completed": row(
        accepted=LeaseLost,
        released=LeaseLost,
        claimed=NotStarted,
        claimed_expired=NotStarted,
        claimed_implausible=NotStarted,
        running="completed",
        running_expired="completed late",
        running_implausible="completed",
        stopping="stopped",
        stopping_expired="stopped late",
        finished=NOTHING,
    ),
    "complete as failed": row(
        accepted=LeaseLost,
        released=LeaseLost,
        claimed="failed",
        claimed_expired="failed late",
        claimed_implausible="failed",
        running="failed",
        running_expired="failed late",
        running_implausible="failed",
        stopping="stopped",
        stopping_expired="stopped late",
        finished=AlreadyFinished,
    ),
    "stop": row(
        accepted="stopped",
        released="stopped",
        claimed="stopped",
        claimed_expired="stopped",
        claimed_implausible="stopped",
        running="stop noted",
        running_expired="stop noted",
        running_implausible="stop noted",
        stopping=NOTHING,
        stopping_expired=NOTHING,
        finished=NOTHING,
    ),
    "recover": row(
        accepted=NOTHING,
        released=NOTHING,
        claimed=NOTHING,
        claimed_expired=NOTHING,
        claimed_implausible="capped",
        running=NOTHING,
        running_expired="interrupted",
        running_implausible="capped",
        stopping=NOTHING,
        stopping_expired="stopped by recovery",
        finished=NOTHING,
    ),
}
CELLS = [(request, state) for request, cells in TABLE.items() for state in cells]


def asked(request: str, run: Run) -> ask.Request:
    lease = lease_on(run)
    return {
        "claim by its holder": ask.Claim(OWNER, LEASE),
        "claim by a rival": ask.Claim(RIVAL, LEASE),
        "start": ask.Start(lease),
        "renew": ask.Renew(lease),
        "reacquire": ask.Reacquire(lease),
        "release": ask.Release(lease),
        "progress": ask.Progress(lease, "half"),
        "publish": ask.Publish(lease, '"note"'),
        "complete as completed": ask.Complete(lease, Outcome.COMPLETED, "done"),
        "complete as failed": ask.Complete(lease, Outcome.FAILED, "", "boom"),
        "stop": ask.Stop("no more"),
        "recover": ask.Recover(RIVAL, "r2"),
    }[request]


def changed_fields(before: Run, after: Run) -> dict[str, object]:
    return {
        field.name: getattr(after, field.name)
        for field in fields(Run)
        if getattr(after, field.name) != getattr(before, field.name)
    }


def test_the_table_has_every_request() -> None:
    assert {type(asked(request, RUNNING)) for request in TABLE} == set(_RULES) - set(process_rules.RULES)


@pytest.mark.parametrize(("request_", "state"), CELLS, ids=[f"{one}: {other}" for one, other in CELLS])
def test_a_cell_of_the_table(request_: str, state: str) -> None:
    run, expected = STATES[state], TABLE[request_][state]
    request, before = asked(request_, run), copy.deepcopy(run)
    if isinstance(expected, type):
        with pytest.raises(expected) as caught:
            decide(run, request, NOW)
        assert type(caught.value) is expected
        assert caught.value.remedy
        assert caught.value.details["run"] == "r1"
        assert run == before
        return
    decision = decide(run, request, NOW)
    assert run == before
    if expected == NOTHING:
        assert decision == Decision(run, False)
        return
    assert decision.changed
    changes = changed_fields(run, decision.run)
    assert changes.pop("version") == run.version + 1
    said = changes_said(expected, run, request)
    assert changes == {name: value for name, value in said.items() if getattr(run, name) != value}
    assert (decision.event is not None) == (decision.run.state is State.FINISHED or expected == "published")
    assert decision.late == expected.endswith("late")


def changes_said(expected: str, run: Run, request: ask.Request) -> dict[str, object]:
    """The fields that a word of the table stands for, without the version."""
    full = Deadline.after(NOW, LEASE)
    match expected:
        case "granted":
            owner = request.owner if isinstance(request, ask.Claim) else OWNER
            state = State.CLAIMED if isinstance(request, ask.Claim) else run.state
            return {
                "state": state,
                "epoch": run.epoch + 1,
                "owner": owner,
                "lease": full,
                "lease_seconds": LEASE,
            }
        case "renewed":
            return {"lease": full}
        case "started":
            return {"state": State.RUNNING, "started_at": NOW.wall}
        case "given back":
            return {"state": State.ACCEPTED, "owner": "", "lease": None}
        case "noted":
            return {"progress": "half"}
        case "published":
            return {"notes": 1}
        case "stop noted":
            return {"stop_requested_at": NOW.wall, "stop_reason": "no more"}
        case "capped":
            return {"lease": Deadline.after(NOW, MAX_LEASE_SECONDS)}
    return {
        "state": State.FINISHED,
        "finished_at": NOW.wall,
        "lease": None,
        "late": expected.endswith("late"),
        **ending_said(expected, run, request),
    }


def ending_said(expected: str, run: Run, request: ask.Request) -> dict[str, object]:
    outcome = Outcome(expected.split()[0])
    match request:
        case ask.Complete():
            error = run.stop_reason if outcome is Outcome.STOPPED else request.error
            return {"outcome": outcome, "reported": request.outcome, "result": request.result, "error": error}
        case ask.Stop(reason):
            asked_for = {"stop_requested_at": NOW.wall, "stop_reason": reason}
            return {"outcome": outcome, "error": reason, **asked_for}
        case _:
            error = run.stop_reason if outcome is Outcome.STOPPED else INTERRUPTED_ERROR
            return {"outcome": outcome, "error": error, "epoch": run.epoch + 1, "owner": RIVAL}


OWNERS = [request for request in TABLE if not request.startswith(("claim", "stop", "recover"))]


@pytest.mark.parametrize("state", IN_EVERY_STATE)
@pytest.mark.parametrize("request_", OWNERS)
def test_an_older_handle_of_the_same_owner_is_refused_in_every_state(request_: str, state: str) -> None:
    run = replace(STATES[state], epoch=STATES[state].epoch + 1)
    request = replace(asked(request_, run), lease=lease_on(run, epoch=run.epoch - 1))
    before = copy.deepcopy(run)
    with pytest.raises(LeaseLost) as caught:
        decide(run, request, NOW)
    assert (caught.value.details["epoch"], caught.value.details["lease_epoch"]) == (run.epoch, run.epoch - 1)
    assert run == before


@pytest.mark.parametrize("state", IN_EVERY_STATE)
@pytest.mark.parametrize("request_", OWNERS)
def test_a_handle_of_somebody_else_is_refused_in_every_state(request_: str, state: str) -> None:
    run = STATES[state]
    request = replace(asked(request_, run), lease=lease_on(run, owner=RIVAL))
    before = copy.deepcopy(run)
    with pytest.raises((LeaseLost, AlreadyFinished)):
        decide(run, request, NOW)
    assert run == before


@pytest.mark.parametrize("request_", OWNERS)
def test_no_owner_is_nobody_even_with_the_right_epoch(request_: str) -> None:
    """The empty owner of a released run lets nobody pass who says that he is nobody."""
    run = STATES["released"]
    with pytest.raises(LeaseLost):
        decide(run, replace(asked(request_, run), lease=lease_on(run, owner="")), NOW)


# --- what stands in an answer ---------------------------------------------------------------------


def test_a_held_lease_is_refused_with_who_holds_it_and_until_when() -> None:
    with pytest.raises(LeaseHeld, match=r"'gw1' for another 40\.0 s") as caught:
        decide(CLAIMED, ask.Claim(RIVAL, LEASE), NOW)
    assert CLAIMED.lease is not None
    assert caught.value.details == {
        "run": "r1",
        "owner": OWNER,
        "epoch": 2,
        "until": CLAIMED.lease.wall,
        "remaining": 40.0,
    }


def test_a_finished_run_is_refused_with_its_outcome() -> None:
    with pytest.raises(AlreadyFinished, match="'completed'") as caught:
        decide(FINISHED, ask.Claim(RIVAL, LEASE), NOW)
    assert caught.value.details["outcome"] == "completed"


def test_a_renewal_takes_the_length_that_was_granted_not_the_one_that_the_handle_says() -> None:
    for request in (ask.Renew, ask.Reacquire):
        lease = replace(lease_on(RUNNING), seconds=float("inf"))
        after = decide(RUNNING, request(lease), NOW).run
        assert after.lease == Deadline.after(NOW, LEASE)
