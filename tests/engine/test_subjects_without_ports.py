"""A subject whose writes no port announces is looked at as closely as any other."""

from __future__ import annotations

import dataclasses

import pytest

from engine.running import compiled
from pytest_runcoord.runner import run_variant
from pytest_runcoord.scenario import variants
from pytest_runcoord.subject import Answer, RunSeen, Snapshot, SubjectWorld, Timer
from pytest_runcoord.verdict import RunResult, Verdict
from pytest_runcoord.world import World
from runcoord import Deadline, Instant


class Thief:
    """Runs in a dictionary. Its ``claim`` takes what it is asked for, whoever has it."""

    name = "thief"
    capabilities = frozenset({"runs", "starting", "leases", "epochs", "owners"})

    def open(self, owner: str, world: SubjectWorld) -> ThiefSession:
        return ThiefSession(owner, world)

    def refusal(self, error: BaseException) -> str | None:
        return "unknown-run" if isinstance(error, KeyError) else None

    def snapshot(self, world: SubjectWorld) -> Snapshot:
        return Snapshot(dict(world.shared.get("rows", {})), {})

    def finish(self, world: SubjectWorld) -> None:
        pass


class ThiefSession:
    def __init__(self, owner: str, world: SubjectWorld) -> None:
        self._owner, self._clock = owner, world.clock
        self._rows: dict[str, RunSeen] = world.shared.setdefault("rows", {})

    def close(self) -> None:
        pass

    def abandon(self) -> None:
        pass

    def timers(self) -> list[tuple[str, Timer]]:
        return []

    def counters(self) -> None:
        return None

    def submit(self, run: str) -> Answer:
        self._rows[run] = RunSeen(run, "accepted", None, 0, "", None)
        return Answer({"run": run})

    def claim(self, run: str) -> Answer:
        row = self._rows[run]
        now = Instant(self._clock.wall(), self._clock.boottime(), self._clock.boot_id())
        self._rows[run] = dataclasses.replace(
            row, state="claimed", owner=self._owner, epoch=row.epoch + 1, lease=Deadline.after(now, 90.0)
        )
        return Answer({"run": run, "epoch": row.epoch + 1}, (run, row.epoch + 1))


def tried(body: str) -> RunResult:
    scenario = compiled(body)
    [variant] = variants(scenario)
    return run_variant(scenario, variant, subject=Thief())


def test_expectations_see_what_it_wrote() -> None:
    result = tried("""
        steps:
          - open: gw1
          - submit: {run: r1}
          - claim: {run: r1}
          - expect: [run: {id: r1, state: claimed, epoch: 1, owner: gw1}]
    """)
    assert result.verdict is Verdict.PASSED, result.failure


@pytest.mark.parametrize(
    ("step", "lacks"),
    [
        ("submit: {run: r1, crash_at: after-accept}", "moments"),
        ("submit: {run: r1, crash_at: {effect: 1}}", "ports"),
        ("during: {step: {submit: {run: r1}}, at: before-accept, do: [open: gw2]}", "moments"),
        ("expect: [reached: {moment: after-accept, count: 0}]", "moments"),
    ],
)
def test_a_scenario_that_names_a_moment_is_skipped_where_no_port_announces_one(step: str, lacks: str) -> None:
    result = tried(f"""
        steps:
          - open: gw1
          - {step}
    """)
    assert (result.verdict, result.missing) == (Verdict.SKIPPED, (lacks,))
    assert not result.history


def test_invariants_see_what_it_wrote() -> None:
    result = tried("""
        steps:
          - open: gw1
          - open: gw2
          - submit: {run: r1, by: gw1}
          - claim: {run: r1, by: gw1}
          - claim: {run: r1, by: gw2}
    """)
    assert result.failure is not None
    assert (result.failure.name, result.failure.line) == ("live-lease-kept", 9)


def test_a_word_of_a_claimed_capability_that_it_lacks_is_named() -> None:
    result = tried("""
        steps:
          - open: gw1
          - submit: {run: r1}
          - claim: {run: r1}
          - start: {run: r1}
    """)
    assert result.failure is not None
    assert (result.failure.name, result.failure.line) == ("start", 8)
    assert "the session has no method 'start', though its capability is claimed" in result.failure.problem


def test_a_run_is_equal_to_one_with_the_same_fields_whoever_made_either() -> None:
    scenario = compiled("""
        steps:
          - open: gw1
          - submit: {run: r1, by: gw1}
        heal: none
    """)
    [variant] = variants(scenario)
    worlds: list[World] = []
    assert run_variant(scenario, variant, attach=worlds.append).verdict is Verdict.PASSED
    seen = worlds[0].seen.runs["r1"]
    again = dataclasses.replace(seen)  # made by the constructor, as subjects do
    assert seen == again
    assert again == seen
    for other in (dataclasses.replace(seen, owner="gw2"), dataclasses.replace(seen, cleanup="done")):
        assert seen != other
        assert other != seen
