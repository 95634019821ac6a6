"""Arbitrary instants, runs and requests, within what a store can hold."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st

from core.some_runs import OWNER, RIVAL
from runcoord import Deadline, Instant, Lease, Outcome, Run, Spec, State
from runcoord._core import requests as ask
from runcoord.ports import (
    Claims,
    Cleanup,
    CleanupState,
    Fate,
    Habitat,
    KeptResult,
    NewProcess,
    ProcessIdentity,
    ProcessReport,
    Snapshot,
    Source,
    SourceState,
    Survivor,
    Takeover,
    TeardownReport,
    Terms,
    UnknownIdentity,
)

SOME = settings(max_examples=40, deadline=None)
"""For the default run; no deadline, since a busy machine says nothing about the code."""
MANY = settings(max_examples=3_000, deadline=None)
BOOTS = ("boot-1", "boot-2", "boot-3")
SECONDS = st.floats(-1e6, 1e6, allow_nan=False).map(lambda seconds: round(seconds, 3))
OWNERS = st.sampled_from([OWNER, RIVAL, "gw3"])

SOMEBODY = ProcessIdentity(4242, 77, Habitat("host", "boot", "pid:[1]", "time:[1]", "linux-proc"), "0a", "c0")
NOBODY = replace(SOMEBODY, pid=1)
"""No process of a run."""
reports = st.builds(
    TeardownReport,
    st.booleans(),
    st.lists(st.builds(ProcessReport, st.just(7), st.sampled_from(Fate)), max_size=3).map(tuple),
)

instants = st.builds(
    Instant,
    wall=SECONDS.map(lambda seconds: 1.7e9 + seconds),
    boottime=st.floats(0, 1e6).map(lambda seconds: round(seconds, 3)),
    boot_id=st.sampled_from(BOOTS),
)
deadlines = st.builds(
    Deadline,
    wall=SECONDS.map(lambda seconds: 1.7e9 + seconds),
    boottime=st.floats(0, 1e6).map(lambda seconds: round(seconds, 3)),
    boot_id=st.sampled_from(BOOTS),
)
specs = st.builds(
    Spec,
    payload=st.sampled_from(["null", "1", '"a"']),
    destination=st.sampled_from(["", "chat"]),
    interruption_budget=st.integers(0, 3),
)


def cleanups(state: State, due: st.SearchStrategy[Deadline]) -> st.SearchStrategy[Cleanup | None]:
    """What may be known of the processes of a run in this state."""
    if state not in (State.RUNNING, State.FINISHED):
        return st.none()
    counted = {"processes": st.integers(1, 3), "attempts": st.integers(0, 5), "deferred": st.booleans()}
    pending = st.builds(Cleanup, due=due if state is State.FINISHED else st.none(), **counted)
    done = st.builds(Cleanup, state=st.just(CleanupState.DONE), **counted)
    named = st.just((Survivor(7, "left", "survived", "it does not end"),))
    survived = st.builds(Cleanup, state=st.just(CleanupState.SURVIVED), survivors=named, **counted)
    return st.one_of(st.none(), pending, done, survived)


sources = st.builds(
    Source,
    st.sampled_from(["/home/runs", '/h\u00f6me/\n"runs']),
    st.just("m1"),
    st.sampled_from(SourceState),
    SECONDS,
    st.none() | st.builds(KeptResult, st.just("result.txt"), st.integers(0, 9)),
    st.builds(
        Claims, st.text(max_size=5), st.text(max_size=5), st.none() | st.integers(1, 9), st.none() | SECONDS
    ),
    st.lists(st.text(max_size=5), max_size=2).map(tuple),
)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """A run in any state, as a store may have it."""
    state = draw(st.sampled_from(State))
    held, finished = state in (State.CLAIMED, State.RUNNING), state is State.FINISHED
    begun = state is State.RUNNING or (finished and draw(st.booleans()))
    stopping = begun and draw(st.booleans())
    outcome = draw(st.sampled_from(Outcome)) if finished else None
    return Run(
        "r1",
        draw(specs),
        created_at=draw(SECONDS),
        line="r0",
        interruptions=draw(st.integers(0, 4)),
        state=state,
        version=draw(st.integers(1, 9)),
        epoch=draw(st.integers(1 if held or begun else 0, 9)),
        owner=draw(OWNERS) if held or finished else "",
        lease=draw(deadlines) if held else None,
        lease_seconds=draw(st.sampled_from([0.1, 90.0, 3600.0])),
        started_at=draw(SECONDS) if begun else None,
        finished_at=draw(SECONDS) if finished else None,
        stop_requested_at=draw(SECONDS) if stopping else None,
        stop_reason="enough" if stopping else "",
        outcome=outcome,
        reported=draw(st.sampled_from([None, outcome])) if finished else None,
        result=draw(st.sampled_from(["", "done"])) if finished else "",
        notes=draw(st.integers(0, 3)),
        cleanup=draw(cleanups(state, deadlines)),
        lineage=draw(st.sampled_from(["", "first"])),
        source=draw(st.none() | sources) if finished else None,
    )


@st.composite
def requests_for(draw: st.DrawFn, run: Run) -> ask.Request:
    """Anything that somebody may ask of ``run``, with the handle of this or another acquisition."""
    lease = Lease(
        run.run_id,
        draw(st.sampled_from([run.owner, OWNER, RIVAL])),
        draw(st.sampled_from([run.epoch, run.epoch, max(0, run.epoch - 1), run.epoch + 1])),
        draw(st.sampled_from([90.0, 0.0, -1.0, float("inf"), float("nan")])),
        draw(SECONDS),
        draw(deadlines),
    )
    text = st.text(max_size=5)
    return draw(
        st.one_of(
            st.builds(ask.Claim, OWNERS, st.sampled_from([0.1, 90.0, 3600.0])),
            st.just(ask.Start(lease)),
            st.just(ask.Renew(lease)),
            st.just(ask.Reacquire(lease)),
            st.just(ask.Release(lease)),
            st.builds(ask.Progress, st.just(lease), text),
            st.builds(ask.Publish, st.just(lease), st.just('"a"')),
            st.builds(ask.Complete, st.just(lease), st.sampled_from(Outcome), text, text),
            st.builds(ask.Stop, text),
            st.builds(ask.Recover, OWNERS, st.just("r2"), st.sampled_from(["", OWNER, RIVAL])),
            process_requests(run, lease),
        )
    )


def process_requests(run: Run, lease: Lease) -> st.SearchStrategy[ask.Request]:
    attempts = run.cleanup.attempts if run.cleanup else 0
    takeovers = st.builds(
        Takeover,
        st.just(run.run_id),
        st.just(lease.owner),
        st.just(lease.epoch),
        st.sampled_from([attempts, attempts, attempts + 1, 0]),
        deadlines,
    )
    new = st.builds(NewProcess, st.sampled_from([SOMEBODY, UnknownIdentity("closed", 7), NOBODY]))
    recorded = st.lists(new, max_size=3).map(tuple)
    return st.one_of(
        st.builds(ask.RecordProcesses, st.just(lease), recorded, st.just(Terms())),
        st.builds(ask.RecordTeardown, st.just(lease), reports),
        st.builds(ask.RecordSnapshot, st.just(lease), st.just(Snapshot(run.run_id, "/saved"))),
        st.builds(ask.TakeOver, OWNERS, st.just(120.0), st.sampled_from(["", OWNER, RIVAL])),
        st.builds(ask.Intend, takeovers, st.just("{}")),
        st.builds(ask.Defer, takeovers, st.just(30.0)),
        st.builds(ask.EndCleaned, takeovers, reports, st.just("r2"), st.sampled_from([None, None, 0, 3, -9])),
    )
