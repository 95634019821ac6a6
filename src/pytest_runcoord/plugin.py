"""The pytest plugin ``runcoord``; imports pytest and the standard library only, the rest at first use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_runcoord.collection import ScenarioFile

SUFFIX = ".runcoord.yaml"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("runcoord", "crash and recovery scenarios (runcoord)")
    group.addoption(
        "--runcoord-suite",
        action="store_true",
        help="run the scenarios that come with runcoord; without other arguments only those",
    )
    group.addoption(
        "--runcoord-subject",
        metavar="MODULE:CLASS",
        help="run scenarios on this coordinator instead of the reference (ini: runcoord_subject)",
    )
    group.addoption(
        "--runcoord-tier",
        action="append",
        metavar="TIER",
        help="only variants of this tier, sim or real; may be repeated (ini: runcoord_tier)",
    )
    group.addoption(
        "--runcoord-require",
        metavar="N",
        help="fail the run if fewer than N scenarios ran in it (ini: runcoord_min_scenarios)",
    )
    parser.addini("runcoord_subject", "the coordinator that scenarios run on, as module:Class")
    parser.addini("runcoord_tier", "tiers whose variants run: sim, real", type="args")
    parser.addini(
        "runcoord_min_scenarios",
        "fail a run of the whole selection (no paths, node ids, -k, -m, --lf) if fewer scenarios ran in it",
    )


def pytest_configure(config: pytest.Config) -> None:
    from pytest_runcoord.gate import Gate

    config.pluginmanager.register(Gate(config), "runcoord-gate")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
    if not file_path.name.endswith(SUFFIX):
        return None
    from pytest_runcoord.collection import ScenarioFile

    return ScenarioFile.from_parent(parent, path=file_path)
