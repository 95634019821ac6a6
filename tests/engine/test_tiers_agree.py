"""Every shipped scenario with processes that runs in both tiers has one verdict."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("namespaces of processes are those of Linux", allow_module_level=True)

from pytest_runcoord.options import suite_directory
from pytest_runcoord.real.stage import unavailable
from pytest_runcoord.runner import run_variant
from pytest_runcoord.scenario import Scenario, load_text, variants
from pytest_runcoord.verbs import default_registry
from pytest_runcoord.verdict import Verdict

pytestmark = pytest.mark.real

SECTIONS = ("processes", "depth", "git")
SOME = {"orphan-whose-shim-was-killed", "pid-reused", "ignores-sigterm", "depth-limit", "core-bare-left-true"}
"""Run each time; the others in the soak."""


def _both() -> Iterator[object]:
    suite, registry = suite_directory(), default_registry()
    for section in SECTIONS:
        for path in sorted((suite / section).glob("*.runcoord.yaml")):
            for scenario in load_text(path.read_text("utf-8"), registry, str(path)).scenarios:
                if isinstance(scenario, Scenario) and "real" in {
                    each.choices.get("tier") for each in variants(scenario)
                }:
                    marks = [] if scenario.name in SOME else [pytest.mark.soak]
                    yield pytest.param(scenario, id=scenario.name, marks=marks)


@pytest.mark.parametrize("scenario", list(_both()))
def test_a_scenario_has_the_same_verdict_in_both_tiers(scenario: Scenario, tmp_path: Path) -> None:
    if why := unavailable(tmp_path):
        pytest.skip(why)
    for variant in variants(scenario):
        result = run_variant(scenario, variant)
        assert result.verdict is Verdict.PASSED, (variant.name, result.skipped, result.failure)
