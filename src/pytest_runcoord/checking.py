"""Checking scenario files without running them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pytest_runcoord.file_names import SUFFIX, misnamed
from pytest_runcoord.scenario import InvalidScenario, Scenario, ScenarioFileError, load_file, variants
from pytest_runcoord.vocabulary import Registry


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong in a scenario file, with its place."""

    path: str
    line: int
    column: int
    problem: str
    remedy: str
    scenario: str

    def __str__(self) -> str:
        advice = f" ({self.remedy})" if self.remedy else ""
        text = f"{self.path}:{self.line}:{self.column}: {self.problem}{advice}"
        # A file's name may hold what would steer a terminal.
        return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)

    def document(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Checked:
    """What one file holds, and what is wrong in it."""

    faults: list[Fault]
    scenarios: int
    variants: int


def check_file(path: Path, registry: Registry) -> Checked:
    """The faults of one file, and how many scenarios and variants it has."""
    faults: list[Fault] = []
    if rename := misnamed(path.name):
        faults.append(Fault(str(path), 1, 1, f"pytest collects scenarios from *{SUFFIX} only", rename, ""))
    try:
        loaded = load_file(path, registry)
    except ScenarioFileError as error:
        at = error.position
        return Checked([*faults, Fault(at.path, at.line, at.column, error.problem, error.remedy, "")], 0, 0)
    cases = 0
    for scenario in loaded.scenarios:
        if isinstance(scenario, InvalidScenario):
            for wrong in (scenario.error, *scenario.error.others):
                at = wrong.position
                faults.append(Fault(at.path, at.line, at.column, wrong.problem, wrong.remedy, scenario.name))
        elif isinstance(scenario, Scenario):
            cases += len(variants(scenario))
    return Checked(faults, len(loaded.scenarios), cases)
