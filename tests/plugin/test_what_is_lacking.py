"""What a foreign subject lacks, and what can never run on it, as the end of a run and reports tell it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from plugin.conftest import Run
from plugin.scenario_files import DELIVERING, LITTLE_SUBJECT, VARIANTS
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
ON_EVERYTHING = VARIANTS.replace(
    "axes: {store: [memory, default]}", "axes: {store: [memory, default], tier: [sim, real]}"
)
LEFT_OUT = "runcoord: deselected: 3 variants of what only the reference has: store memory 1, tier real 2"
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


def test_what_only_the_reference_can_run_is_deselected_on_a_subject_and_counted(
    pytester: pytest.Pytester, write: Write, run: Run, run_apart: Run
) -> None:
    write("little.py", LITTLE_SUBJECT)
    write("a.runcoord.yaml", ON_EVERYTHING)
    on = "--runcoord-subject=little.py:Little"
    result = run(on, "--runcoord-json=r.json")
    assert result.parseoutcomes() == {"passed": 1, "deselected": 3}
    assert LEFT_OUT in result.outlines
    report = json.loads((pytester.path / "r.json").read_text("utf-8"))
    assert report["selection"]["left_out"] == {"store memory": 1, "tier real": 2}
    assert report["counts"]["variants"] == 1
    assert LEFT_OUT in run_apart("-p", "xdist", "-n2", on).outlines
    named = run(on, "-q", "a.runcoord.yaml::two-stores::memory-sim")
    assert named.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    alone = "runcoord: deselected: 1 variant of what only the reference has: store memory 1"
    assert alone in named.outlines


def test_on_the_reference_nothing_is_deselected_for_what_it_has(write: Write, run: Run) -> None:
    write("a.runcoord.yaml", VARIANTS)
    assert run().parseoutcomes() == {"passed": 2}


@pytest.mark.parametrize("how", ["option", "table"])
def test_a_required_tier_that_a_subject_cannot_have_is_not_deselected_away(
    write: Write, run: Run, how: str
) -> None:
    write("little.py", LITTLE_SUBJECT)
    write("a.runcoord.yaml", ON_EVERYTHING)
    required = "--runcoord-require-tier=real" if how == "option" else ""
    write("runcoord.toml", "" if required else "required_tiers = ['real']\n")
    result = run("--runcoord-subject=little.py:Little", *filter(None, [required]))
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.parseoutcomes() == {"passed": 1, "failed": 2, "deselected": 1}
    assert "the tier real is required, and could not be run" in result.stdout.str()
    assert "the real tier runs the reference on its default store" in result.stdout.str()
    assert "no scenario ran in the tier real, which is required" in result.stdout.str()
