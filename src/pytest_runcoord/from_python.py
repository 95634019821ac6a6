"""Running a scenario out of a Python test: the fixture ``runcoord_scenario``."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_runcoord.extending import registry_of, watched_in
from pytest_runcoord.rendering import FailureText, ScenarioFailed, failure_text
from pytest_runcoord.runner import run_variant
from pytest_runcoord.scenario import (
    InvalidScenario,
    Scenario,
    ScenarioError,
    ScenarioFile,
    Variant,
    load_file,
    load_text,
    variants,
)
from pytest_runcoord.verdict import RunResult, Verdict

TEXT_NAME = "<scenario>"
"""What stands for the path in messages on a scenario that was given as text."""


@dataclass(slots=True)
class CheckedResult(RunResult):
    """The result of one variant, and the text it came from."""

    path: str = ""
    line: int = 1
    source: str = ""
    says: str = ""

    def check(self) -> CheckedResult:
        """This result if it is a pass; raises :class:`ScenarioFailed` with the whole report if it is not.

        A skipped scenario skips the test, with its reason.
        """
        __tracebackhide__ = True
        if self.verdict is Verdict.SKIPPED:
            pytest.skip(f"{self.path}:{self.line}: {self.skipped}")
        if self.verdict is not Verdict.PASSED:
            raise ScenarioFailed(self.report())
        return self

    def report(self) -> FailureText:
        """What ``pytest`` would show of this result, were it a test of its own."""
        return failure_text(self, self.source, path=self.path, line=self.line, rerun="", says=self.says)


class ScenarioRunner:
    """Call it with the path of a file or the text of a scenario.

    A relative path is looked up beside the test. ``scenario`` and ``variant`` choose where there are several;
    ``subject`` is the coordinator to run on, the reference if it is left out.
    """

    def __init__(self, directory: Path, config: pytest.Config | None = None) -> None:
        self._directory, self._config = directory, config

    def __call__(
        self, source: str | Path, *, scenario: str = "", variant: str = "", subject: Any = None
    ) -> CheckedResult:
        """The result of one variant, passed or not; :meth:`CheckedResult.check` raises if it is not.

        Raises :class:`~pytest_runcoord.scenario.ScenarioError` for a file or a scenario that is wrong, and
        ``LookupError`` if what was chosen is not there or not one.
        """
        __tracebackhide__ = True
        try:
            found = self._load(source)
            chosen = _scenario(found, scenario)
            picked = _variant(chosen, variant)
        except (ScenarioError, LookupError) as error:
            raise error.with_traceback(None) from None  # the test's own line is the place, not ours
        result = run_variant(chosen, picked, subject=subject, watched=watched_in(self._config))
        known = {each.name: getattr(result, each.name) for each in dataclasses.fields(RunResult)}
        return CheckedResult(
            **known, path=found.path, line=chosen.position.line, source=found.text, says=chosen.says
        )

    def _load(self, source: str | Path) -> ScenarioFile:
        registry = registry_of(self._config)
        if isinstance(source, str) and ("\n" in source or source.startswith("runcoord:")):
            return load_text(source, registry, TEXT_NAME)
        return load_file(self._directory / source, registry, shown_as=str(source))


def _scenario(found: ScenarioFile, name: str) -> Scenario:
    chosen = [each for each in found.scenarios if not name or each.name == name]
    if len(chosen) != 1:
        names = ", ".join(each.name for each in found.scenarios)
        raise LookupError(f"{found.path}: choose one with scenario=...; there are: {names}")
    if isinstance(chosen[0], InvalidScenario):
        raise chosen[0].error
    return chosen[0]


def _variant(scenario: Scenario, name: str) -> Variant:
    chosen = [each for each in variants(scenario) if not name or each.name == name]
    if len(chosen) != 1:
        names = ", ".join(each.name for each in variants(scenario))
        raise LookupError(f"scenario {scenario.name}: choose one with variant=...; there are: {names}")
    return chosen[0]
