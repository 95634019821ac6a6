"""Queues of other designs pass what they can be asked for, and each of their mistakes is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from portable.queues import LeaseQueue, Queue
from pytest_runcoord.runner import run_variant
from pytest_runcoord.scenario import Scenario, load_file, variants
from pytest_runcoord.subjects import SubjectBase
from pytest_runcoord.verbs import default_registry
from pytest_runcoord.verdict import RunResult, Verdict

PORTABLE = Path(__file__).parents[2] / "scenarios" / "portable"
SCENARIOS = [
    scenario
    for path in sorted(PORTABLE.glob("*.runcoord.yaml"))
    for scenario in load_file(path, default_registry()).scenarios
    if isinstance(scenario, Scenario)
]
FOUND: dict[str, tuple[type[Queue], str, str]] = {
    "opening takes all": (Queue, "another-one-opens", "live-lease-kept"),
    "recovery takes all": (Queue, "another-one-recovers", "live-lease-kept"),
    "never recovers": (Queue, "comes-back-or-ends", "run"),
    "newest first": (Queue, "in-the-order-of-submission", "answer"),
    "no fence": (Queue, "completes-what-another-works-on", "stale-owner-refused"),
    "put resets": (Queue, "submitted-again-at-work", "live-lease-kept"),
    "put replaces": (Queue, "submitted-again-after-its-end", "one-outcome"),
    "put goes behind": (Queue, "submitted-again-among-others", "answer"),
    "any length": (LeaseQueue, "senseless-lengths", "refused"),
    "wall clock": (LeaseQueue, "the-clock-steps-forth", "refused"),
}


def run(name: str, subject: SubjectBase) -> RunResult:
    scenario = next(each for each in SCENARIOS if each.name == name)
    return run_variant(scenario, variants(scenario)[0], subject=subject)


@pytest.mark.parametrize("subject", [Queue, LeaseQueue])
def test_a_right_queue_of_another_design_passes_whatever_it_can_be_asked_for(subject: type[Queue]) -> None:
    able = subject().capabilities
    passed = []
    for scenario in SCENARIOS:
        result = run_variant(scenario, variants(scenario)[0], subject=subject())
        missing = sorted(set(scenario.needs) - able)
        assert result.missing == tuple(missing), scenario.name
        expected = Verdict.SKIPPED if missing else Verdict.PASSED
        assert result.verdict is expected, f"{scenario.name}: {result.failure}"
        passed += [] if missing else [scenario.name]
    assert len(passed) >= 25


@pytest.mark.parametrize("mistake", FOUND)
def test_a_mistake_of_such_a_queue_is_found(mistake: str) -> None:
    kind, scenario, caught_by = FOUND[mistake]
    result = run(scenario, kind(mistake))
    assert result.verdict is Verdict.FAILED
    assert result.failure is not None
    assert caught_by in (result.failure.name, result.failure.step.split(":")[0]), result.failure
    assert run(scenario, kind()).verdict is Verdict.PASSED
