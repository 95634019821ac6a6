"""A subject sends its events to destinations of the scenario, which accept, refuse, fail or are silent."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_runcoord.subjects import (
    DestinationRefused,
    EventSeen,
    RunSeen,
    SessionBase,
    Snapshot,
    SubjectBase,
    SubjectWorld,
    send,
)
from pytest_runcoord.verdict import Verdict
from subjects.trying import tried

PATIENCE = 10.0


class Outbox(SessionBase):
    """One event for each run, kept in memory that outlives the session."""

    def __init__(self, owner: str, world: SubjectWorld) -> None:
        super().__init__(owner, world)
        self.runs: dict[str, RunSeen] = world.shared.setdefault("runs", {})
        self.events: dict[str, EventSeen] = world.shared.setdefault("events", {})

    def submit(self, run: str, destination: str = "") -> None:
        self.runs[run] = RunSeen(run, "accepted", destination=destination)

    def claim(self, run: str) -> str:
        self.runs[run] = RunSeen(run, "claimed", destination=self.runs[run].destination)
        return run

    def complete(self, lease: str) -> None:
        destination = self.runs[lease].destination
        self.runs[lease] = RunSeen(lease, "finished", "completed", destination=destination)
        self.events[lease] = EventSeen(f"{lease}/finished", lease, destination=destination, body=lease)

    def deliver(self) -> dict[str, Any]:
        count = 0
        for run, event in self.events.items():
            if event.state != "pending":
                continue
            attempt, state, reason = event.attempt + 1, "delivered", ""
            try:
                send(
                    self.world,
                    event.destination,
                    event=event.event_id,
                    run=run,
                    body=event.body,
                    attempt=attempt,
                    patience=PATIENCE,
                )
                count += 1
            except DestinationRefused as error:
                state, reason = "held", str(error)
            except Exception as error:  # noqa: BLE001  not now
                state, reason = "pending", f"{type(error).__name__}: {error}"
            self.events[run] = EventSeen(
                event.event_id,
                run,
                state=state,
                destination=event.destination,
                attempt=attempt,
                body=run,
                reason=reason,
            )
        return {"delivered": count}


class OutboxSubject(SubjectBase):
    name = "outbox"
    session = Outbox

    def snapshot(self, world: SubjectWorld) -> Snapshot:
        events = world.shared.get("events", {}).values()
        return Snapshot(dict(world.shared.get("runs", {})), {each.event_id: each for each in events})


@pytest.mark.parametrize(
    ("behaviour", "state", "reason"),
    [
        ("accepts", "delivered", ""),
        ("refuses", "held", "chat refuses r1/finished"),
        ("down", "pending", "ConnectionError: chat is down"),
        ("raises", "pending", "RuntimeError: chat failed unexpectedly"),
        ("hangs", "pending", f"TimeoutError: chat did not answer within {PATIENCE:g} s"),
    ],
)
def test_a_destination_answers_as_the_scenario_says(behaviour: str, state: str, reason: str) -> None:
    seen: list[EventSeen] = []

    class Watching(OutboxSubject):
        def finish(self, world: SubjectWorld) -> None:
            seen.extend(world.shared["events"].values())

    result = tried(
        f"""
        given: {{destinations: {{chat: {behaviour}}}}}
        steps:
          - open: w1
          - submit: {{run: r1, destination: chat}}
          - claim: {{run: r1, as: job}}
          - complete: {{with: job}}
          - deliver
        heal: none
        """,
        Watching(),
    )
    assert result.verdict is Verdict.PASSED, result.failure
    assert [(each.state, each.reason, each.attempt) for each in seen] == [(state, reason, 1)]


def test_what_the_destination_accepted_is_what_expectations_see() -> None:
    result = tried(
        """
        given: {destinations: {chat: accepts}}
        steps:
          - open: w1
          - submit: {run: r1, destination: chat}
          - claim: {run: r1, as: job}
          - complete: {with: job}
          - deliver
        expect: [delivered: {run: r1, to: chat, count: 1}]
        """,
        OutboxSubject(),
    )
    assert result.verdict is Verdict.PASSED, result.failure


@pytest.mark.parametrize(
    ("what", "value", "says"),
    [
        ("event", 5, "a text that is Unicode as event, not 5"),
        ("run", "\udce9", "a text that is Unicode as run"),
        ("kind", "run.ended", "knows no kind 'run.ended', but run.finished"),
        ("body", None, "a text or bytes as body, not None"),
        ("attempt", 0, "counts attempts from 1, and was given 0"),
        ("attempt", "1", "counts attempts from 1, and was given '1'"),
        ("patience", -1, "cannot wait for -1 s"),
        ("patience", float("nan"), "cannot wait for nan s"),
    ],
)
def test_what_is_no_event_is_not_offered_and_the_call_is_named(what: str, value: Any, says: str) -> None:
    class Session(Outbox):
        def submit(self, run: str, destination: str = "") -> None:
            event: dict[str, Any] = {"event": "e1", "run": run}
            send(self.world, destination, **event | {what: value})

    class Subject(OutboxSubject):
        session = Session

    result = tried(
        "given: {destinations: {chat: accepts}}\nsteps:\n  - open: w1\n"
        "  - submit: {run: r1, destination: chat}\nexpect:\n  - delivered: {run: r1, to: chat}\n",
        Subject(),
    )
    assert result.failure is not None
    assert says in result.failure.problem
    assert result.failure.name == "submit"
    assert [line.what for line in result.history] == ["open", "submit"]


@pytest.mark.parametrize("seconds", [-1.0, float("inf"), float("nan")])
def test_the_sleeper_of_the_world_refuses_what_is_no_time(seconds: float) -> None:
    class Session(Outbox):
        def submit(self, run: str, destination: str = "") -> None:
            self.world.sleeper.sleep(seconds)

    class Subject(OutboxSubject):
        session = Session

    result = tried("steps:\n  - open: w1\n  - submit: {run: r1}\n", Subject())
    assert result.failure is not None
    assert "is no time to wait" in result.failure.problem
