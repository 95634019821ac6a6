"""The run, and the event, that a folder becomes."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from core.strategies import SOME
from runcoord import EventState, Instant, Outcome, State
from runcoord._core import limits
from runcoord._core.folders import FolderState, Tombstone
from runcoord._core.importing import FLOOD, UNDER_WAY, Imported, imported_run
from runcoord.ports import Claims, KeptResult, SourceState

NOW = Instant(1_800_000_000.0, 50.0, "boot-1")
CLAIMS = Claims("dashboard:main", "subagent:a1", 4242, NOW.wall - 499)
STATE = FolderState("run-1", "researcher", "Look into it", NOW.wall - 500, NOW.wall - 100, CLAIMS, ("noted",))
HISTORY = Tombstone(Outcome.FAILED, NOW.wall - 50, "it broke", ("also",))


def imported(state: FolderState = STATE, tombstone: Tombstone | None = None, **more: Any) -> Imported:
    given = {"root": "/home/x/runs", "mark": "1.2.3", "result": None, "now": NOW} | more
    return imported_run(state, tombstone, **given)


def test_a_folder_without_a_tombstone_is_an_interrupted_run_with_one_event() -> None:
    made = imported(result=KeptResult("result.txt", 12), notes=("more",))
    run, event = made.run, made.event
    assert event is not None
    assert (run.state, run.outcome, run.error) == (State.FINISHED, Outcome.INTERRUPTED, UNDER_WAY)
    assert (run.created_at, run.started_at, run.finished_at) == (NOW.wall - 500, NOW.wall - 500, NOW.wall)
    assert (run.spec.agent, run.spec.task) == ("researcher", "Look into it")
    assert run.source is not None
    assert (run.source.root, run.source.mark, run.source.state) == ("/home/x/runs", "1.2.3", SourceState.OPEN)
    assert run.source.notes == ("noted", "more")
    assert run.source.result == KeptResult("result.txt", 12)
    body = json.loads(event.body)
    assert (body["run"], body["outcome"], body["elapsed"]) == ("run-1", "interrupted", 500.0)
    assert body["source"]["result"] == {"file": "result.txt", "size": 12}


def test_what_a_folder_says_of_routing_and_processes_stays_a_claim() -> None:
    made = imported()
    assert (made.run.spec.destination, made.run.spec.conversation_key, made.run.cleanup) == ("", "", None)
    assert made.run.source is not None
    assert made.run.source.claims == CLAIMS
    assert made.event is not None
    assert json.loads(made.event.body)["conversation_key"] == ""


def test_an_event_without_a_trusted_destination_is_held_and_names_the_claim() -> None:
    event = imported().event
    assert event is not None
    assert (event.state, event.destination) == (EventState.HELD, "")
    assert event.reason == "imported: the folder's destination 'dashboard:main' is not trusted"
    event = imported(FolderState("run-1", "", "", None, None, Claims(), ())).event
    assert event is not None
    assert (event.state, event.reason) == (EventState.HELD, "imported: the folder names no destination")


def test_the_destination_that_the_operator_configured_gets_the_event() -> None:
    made = imported(fallback="ops")
    assert made.event is not None
    assert (made.event.state, made.event.destination, made.run.spec.destination) == (
        EventState.PENDING,
        "ops",
        "ops",
    )


def test_an_event_of_a_flood_is_held_for_its_destination() -> None:
    event = imported(fallback="ops", flooded=True).event
    assert event is not None
    assert (event.state, event.destination, event.reason) == (EventState.HELD, "ops", FLOOD)


def test_a_tombstone_with_an_outcome_is_history_that_nobody_is_told_again() -> None:
    made = imported(STATE, HISTORY, fallback="ops")
    assert made.event is None
    assert (made.run.outcome, made.run.error, made.run.finished_at) == (
        Outcome.FAILED,
        "it broke",
        NOW.wall - 50,
    )
    assert made.run.source is not None
    assert made.run.source.state is SourceState.CLOSED
    assert made.run.source.notes == ("noted", "also")


def test_a_tombstone_without_an_outcome_ends_nothing_but_keeps_its_cause() -> None:
    made = imported(STATE, Tombstone(None, NOW.wall - 50, "restart", ()))
    assert made.event is not None
    assert (made.run.outcome, made.run.error, made.run.finished_at) == (
        Outcome.INTERRUPTED,
        "restart",
        NOW.wall,
    )
    assert made.run.source is not None
    assert made.run.source.state is SourceState.CLOSED


def test_many_notes_are_counted() -> None:
    source = imported(notes=tuple(f"note {n}" for n in range(100))).run.source
    assert source is not None
    assert len(source.notes) == limits.FOLDER_NOTES + 1
    assert source.notes[-1] == "81 more"


TIMES = st.none() | st.floats(0, NOW.wall + limits.MAX_CLOCK_SKEW_SECONDS)


@SOME
@given(TIMES, TIMES, TIMES, st.none() | st.sampled_from(Outcome), st.booleans())
def test_whatever_the_times_are_a_run_ends_after_it_began_and_not_in_the_future(
    started: float | None, updated: float | None, died: float | None, outcome: Outcome | None, buried: bool
) -> None:
    state = FolderState("run-1", "", "", started, updated, Claims(), ())
    made = imported(state, Tombstone(outcome, died, "", ()) if buried else None)
    run = made.run
    assert run.finished_at is not None
    assert run.finished_at <= max(NOW.wall, run.created_at)
    assert run.finished_at >= min(run.created_at, NOW.wall)
    if made.event is not None:
        elapsed = json.loads(made.event.body)["elapsed"]
        assert elapsed is None or 0 <= elapsed <= NOW.wall
