"""What a seeded defect is, and where the failure modes, their scenarios and their defects are found.

A defect is the reference with one rule broken the way the origin broke it, by replacing one function or
statement for the length of a test. Its scenario must then fail by what the defect names: the id of an
invariant, or the word of an expectation (``run``, ``delivered``, …), or ``refused``, ``moment``, ``step``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from pytest_runcoord.runner import run_variant
from pytest_runcoord.scenario import Scenario, load_file, variants
from pytest_runcoord.verbs import default_registry
from pytest_runcoord.verdict import RunResult

SCENARIOS = Path(__file__).parents[2] / "scenarios"
AREAS = ("leases", "commands", "processes", "depth", "git", "homes", "outbox", "portable")


@dataclass(frozen=True, slots=True)
class Defect:
    """One rule broken. ``breaks`` applies it through a MonkeyPatch; ``caught_by`` must be what fails."""

    slug: str
    says: str
    """One sentence: what is broken, as the origin had it."""
    caught_by: str
    breaks: Callable[[pytest.MonkeyPatch], None]
    name: str = ""
    """Tells several defects of one failure mode apart."""
    variant: str = ""
    """The variant that catches it; the first one otherwise."""
    scenario: str = ""
    """The scenario in the file that catches it; the first one otherwise."""

    @property
    def id(self) -> str:
        return f"{self.slug}-{self.name}" if self.name else self.slug


def defects(area: str) -> list[Defect]:
    """The defects of one area, from ``tests/defects/<area>.py``."""
    found: list[Defect] = importlib.import_module(f"defects.{area}").DEFECTS
    return found


def scenario_path(area: str, slug: str) -> Path:
    return SCENARIOS / area / f"{slug}.runcoord.yaml"


def scenarios_in(path: Path) -> list[Scenario]:
    """The valid scenarios of a file; a wrong one is an error here."""
    found = []
    for scenario in load_file(path, default_registry()).scenarios:
        assert isinstance(scenario, Scenario), f"{path}: {getattr(scenario, 'error', scenario)}"
        found.append(scenario)
    return found


@dataclass(frozen=True, slots=True)
class Ran:
    """One variant of one scenario, and what came of it on the reference."""

    scenario: Scenario
    variant: str
    choices: dict[str, str]
    result: RunResult


@cache
def runs_of(area: str, slug: str, tier: str = "") -> tuple[Ran, ...]:
    """Every variant of every scenario of one file (of one tier, if it is named), run once on the reference as
    it is.

    Never asked for while a defect is applied: the answer is kept.
    """
    return tuple(
        Ran(scenario, variant.name, dict(variant.choices), run_variant(scenario, variant))
        for scenario in scenarios_in(scenario_path(area, slug))
        for variant in variants(scenario)
        if tier in ("", str(variant.choices["tier"]))
    )


def slugs(area: str) -> list[str]:
    """The failure modes of an area that have a file, in the order of their names."""
    return sorted(path.name.split(".")[0] for path in (SCENARIOS / area).glob("*.runcoord.yaml"))


def run_defect(area: str, defect: Defect, monkeypatch: pytest.MonkeyPatch) -> RunResult:
    """Run the defect's scenario on the broken reference."""
    all_of_them = scenarios_in(scenario_path(area, defect.slug))
    scenario = next(each for each in all_of_them if defect.scenario in ("", each.name))
    chosen = [each for each in variants(scenario) if defect.variant in ("", each.name)]
    defect.breaks(monkeypatch)
    return run_variant(scenario, chosen[0])
