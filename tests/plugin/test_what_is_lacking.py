"""What a foreign subject lacks, and what can never run on it, as the end of a run and reports tell it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from plugin.conftest import Run
from plugin.scenario_files import DELIVERING, LITTLE_SUBJECT
from plugin.test_gate import summary

pytest_plugins = ["pytester"]
Write = Callable[[str, str], Path]

AT_A_MOMENT = """\
runcoord: 1
scenario: dies-in-a-claim
says: An owner dies while it claims.
steps:
  - open: gw1
  - submit: {run: r1}
  - during:
      step: {claim: {run: r1, by: gw1, lease: 90s}}
      at: before-claim
      do:
        - crash: gw1
"""
MOMENT = "the moment before-claim"


def test_a_moment_that_a_subject_does_not_announce_is_told_as_one_thing(
    pytester: pytest.Pytester, write: Write, run: Run
) -> None:
    write("little.py", LITTLE_SUBJECT.replace("(Reference):\n", "(Reference):\n    moments = ()\n"))
    write("a.runcoord.yaml", AT_A_MOMENT)
    options = ("--runcoord-json=r.json", "--junit-xml=j.xml")
    result = run("--runcoord-subject=little.py:Little", "-rs", *options)
    assert result.parseoutcomes() == {"skipped": 1}
    assert f"skipped for what the subject lacks: {MOMENT} 1" in summary(result).splitlines()
    report = json.loads((pytester.path / "r.json").read_text("utf-8"))
    assert report["subject"]["lacks"] == [{"capability": MOMENT, "variants": 1, "alone": 1}]
    assert report["variants"][0]["missing"] == [MOMENT]
    properties = ElementTree.parse(pytester.path / "j.xml").iter("property")
    assert [each.get("value") for each in properties if each.get("name") == "runcoord_missing"] == [MOMENT]


def test_the_summary_says_what_would_run_with_one_thing_more(write: Write, run: Run) -> None:
    write("poor.py", LITTLE_SUBJECT.replace('{"outbox"}', '{"outbox", "stop"}'))
    write("a.runcoord.yaml", DELIVERING)
    write(
        "b.runcoord.yaml", DELIVERING.replace("told-once", "both").replace("expect:", "  - stop: r1\nexpect:")
    )
    lines = summary(run("--runcoord-subject=poor.py:Little")).splitlines()
    assert "skipped for what the subject lacks: outbox 2, stop 1" in lines
    assert "of these, would run with one thing more: outbox 1" in lines
