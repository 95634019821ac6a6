"""A subject that can do less is asked for less, and is right where the reference is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from portable.humble import Humble
from pytest_runcoord.runner import run_variant
from pytest_runcoord.scenario import Scenario, load_file, variants
from pytest_runcoord.verbs import default_registry
from pytest_runcoord.verdict import Verdict

SCENARIOS = Path(__file__).parents[2] / "scenarios"
AREAS = ("portable", "leases", "commands", "outbox")
SIMPLE = ("runs", "claim-next")
RECOVERS = ("recovery", "interruption")
SETS: dict[str, tuple[str, ...]] = {
    "a list of runs": ("runs",),
    "a queue": SIMPLE,
    "a queue with starts": (*SIMPLE, "starting"),
    "leases": (*SIMPLE, "starting", "leases", "expiry", "renewal", "reacquire", "release"),
    "recovery": (*SIMPLE, *RECOVERS, "leases"),
    "stops": (*SIMPLE, "stop", "outcomes", "results", "errors", "keys", "retry"),
    "an outbox": (*SIMPLE, *RECOVERS, "starting", "outbox", "maintenance", "ports", "moments"),
    "who and when": (*SIMPLE, *RECOVERS, "starting", "leases", "epochs", "owners", "moments"),
    "work": (*SIMPLE, *RECOVERS, "executor", "starting", "epochs", "owners", "ports", "moments", "settings"),
}


def fitting(able: frozenset[str]) -> list[Scenario]:
    """The scenarios that need no more than this."""
    found = []
    for area in AREAS:
        for path in sorted((SCENARIOS / area).glob("*.runcoord.yaml")):
            for scenario in load_file(path, default_registry()).scenarios:
                assert isinstance(scenario, Scenario)
                if able.issuperset(scenario.needs) and scenario.needs:
                    found.append(scenario)
    return found


@pytest.mark.parametrize("able", SETS.values(), ids=SETS)
def test_who_can_do_less_is_right_in_all_that_it_is_asked_for(able: tuple[str, ...]) -> None:
    found = fitting(frozenset(able))
    assert len(found) >= 2
    wrong = []
    for scenario in found:
        result = run_variant(scenario, variants(scenario)[0], subject=Humble(*able))
        if result.verdict is not Verdict.PASSED:
            wrong.append(f"{scenario.name}: {result.failure or result.skipped}")
    assert not wrong, "\n".join(wrong)
