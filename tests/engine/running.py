"""Run a scenario given as text, and give its one result or all of them."""

from __future__ import annotations

import textwrap

from pytest_runcoord.runner import run_variant
from pytest_runcoord.scenario import InvalidScenario, Scenario, load_text, variants
from pytest_runcoord.verbs import default_registry
from pytest_runcoord.verdict import RunResult

HEAD = "runcoord: 1\nscenario: tried\nsays: A scenario of a test.\n"


def text(body: str) -> str:
    """The whole document; the first line of ``body`` is line 4 of it."""
    return HEAD + textwrap.dedent(body).lstrip("\n")


def compiled(body: str) -> Scenario:
    """The scenario with these ``given``, ``steps``, ``expect`` …; a wrong one is an error here."""
    [scenario] = load_text(text(body), default_registry(), "tried.runcoord.yaml").scenarios
    assert isinstance(scenario, Scenario), scenario.error
    return scenario


def refused(body: str) -> InvalidScenario:
    """The scenario, which must be refused before it runs."""
    [scenario] = load_text(text(body), default_registry(), "tried.runcoord.yaml").scenarios
    assert isinstance(scenario, InvalidScenario)
    return scenario


def run(body: str) -> RunResult:
    """The result of the only variant."""
    [result] = run_all(body)
    return result


def run_all(body: str) -> list[RunResult]:
    """The results of all variants."""
    scenario = compiled(body)
    return [run_variant(scenario, variant) for variant in variants(scenario)]
