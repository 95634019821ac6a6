"""What ``pytest -rs`` says of scenarios that were skipped: one line for what is alike, not one for each."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pytest_runcoord.tally import VERDICT

SHIPPED = "the shipped suite"
LACKS = " lacks "
MOST_NAMED = 2
"""Capabilities that a line names; beyond, mixtures are many and each is rare."""


def group_skips(reports: list[Any], suite: Path | None, rootpath: Path) -> None:
    """Have pytest fold the reports on scenarios by folder and reason, the shipped ones as one folder, and put
    them last, the most frequent first.

    What a subject lacks it lacks for many scenarios, and in many mixtures: each by itself is a flood. JUnit
    files, the JSON report and ``-v`` have each in full.
    """
    of_ours = [each for each in reports if _is_ours(each)]
    places = [_folded(report, suite, rootpath) for report in of_ours]
    counts = Counter(places)
    for report, place in zip(of_ours, places, strict=True):
        if counts[place] > 1 or place[0] == SHIPPED:
            # Without a line pytest shows the place alone, and folds what is alike.
            report.longrepr = (place[0], None, place[1])
    of_ours.sort(key=lambda report: (-counts[report.longrepr[0], report.longrepr[2]], *_texts(report)))
    others = [each for each in reports if not _is_ours(each)]
    reports[:] = [*others, *of_ours]


def _folded(report: Any, suite: Path | None, rootpath: Path) -> tuple[str, str]:
    """Where, and why, for all that are alike."""
    file, _, reason = report.longrepr
    path = rootpath / file
    shipped = suite is not None and path.is_relative_to(suite)
    who, lacks, what = str(reason).rpartition(LACKS)
    if lacks and what.count(",") >= MOST_NAMED:
        reason = f"{who}{lacks}more than {MOST_NAMED} of what is needed"
    return SHIPPED if shipped else str(path.parent), str(reason)


def _texts(report: Any) -> tuple[str, str]:
    return str(report.longrepr[0]), str(report.longrepr[2])


def _is_ours(report: Any) -> bool:
    """Whether it is on a scenario that was skipped for what it needs, not by a mark or a fixture."""
    pairs = getattr(report, "user_properties", ())
    return (VERDICT, "skipped") in pairs and isinstance(report.longrepr, tuple)


def skipped_reports(terminalreporter: pytest.TerminalReporter) -> list[Any]:
    """The reports that pytest is about to summarise."""
    found: list[Any] = terminalreporter.stats.get("skipped", [])
    return found
