"""The overview of a project with a subject, a gate and the shipped suite: what it is called, what comes
first, and what the gate says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plugin.scenario_files import FAILING, PASSING, VARIANTS
from report.browser import Browser
from report.conftest import run_in
from report.projects import Page

SUBJECT = """\
from pytest_runcoord.reference import Reference

class Queue(Reference):
    name = "queue"
    version = "1.4"
    capabilities = frozenset({"runs", "starting", "leases", "expiry", "epochs", "owners", "outcomes"})
"""
TABLE = """\
subject = "queue_subject.py:Queue"
suite = true
min_scenarios = 2
required_invariants = ["one-outcome", "stop-wins"]

[[known_failures]]
scenario = "never-refused"
by = "maria"
why = "a first claim is <b>accepted</b>"
until = 2099-01-01
"""


def write_project(directory: Path) -> None:
    for name, text in {
        "queue_subject.py": SUBJECT,
        "runcoord.toml": TABLE,
        "pytest.ini": "[pytest]\naddopts = -p runcoord\n",
        "tests/own/a.runcoord.yaml": f"{PASSING}---\n{FAILING}---\n{VARIANTS}",
    }.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("queue")
    write_project(directory)
    ran = run_in(directory, "-q", "--runcoord-report=out")
    assert "stop-wins is required" in ran.stdout, ran.stdout[-3000:]
    return directory / "out" / "index.html"


@pytest.fixture(scope="module")
def data(report: Path) -> dict[str, Any]:
    return Page(report).data


def test_the_page_is_named_by_what_the_subject_calls_itself(data: dict[str, Any]) -> None:
    assert data["title"] == "Scenarios on queue 1.4"
    assert data["facts"][0] == ["subject", "queue 1.4 (queue_subject.py:Queue)"]


def test_workers_of_xdist_tell_the_name_of_the_subject(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    write_project(tmp_path)
    run_in(tmp_path, "-p", "xdist", "-n", "2", "-q", "--runcoord-report=out", "tests")
    assert Page(tmp_path / "out" / "index.html").data["title"] == "Scenarios on queue 1.4"


def test_own_areas_come_first_and_shipped_ones_have_short_names(data: dict[str, Any]) -> None:
    areas = list(dict.fromkeys(each["area"] for each in data["variants"]))
    assert areas[0] == "own"
    assert "portable (shipped)" in areas[1:]
    assert all(each.endswith(" (shipped)") for each in areas[1:])
    ran = {each["area"] for each in data["variants"] if each["verdict"] != "skipped"}
    assert [each in ran for each in areas] == sorted((each in ran for each in areas), reverse=True)
    files = {each["file"] for each in data["variants"] if each["area"] != "own"}
    assert not any(Path(file).is_absolute() for file in files)
    assert files <= data["files"].keys()


def test_the_gate_is_told_with_its_reasons_and_known_failures(data: dict[str, Any]) -> None:
    gate = data["gate"]
    assert [each["message"].partition(":")[0] for each in gate["reasons"]] == [
        "the invariant stop-wins is required, and was never exercised"
    ]
    assert gate["reasons"][0]["at"] == "runcoord.toml:4"
    assert gate["required"] == ["one-outcome", "stop-wins"]
    [known] = gate["known"]
    assert known["state"] == "fails as it says"
    assert (known["by"], known["until"], known["at"]) == ("maria", "2099-01-01", "runcoord.toml:6")
    assert known["node"] == "tests/own/a.runcoord.yaml::never-refused::default"
    assert data["leftOut"].startswith("deselected: ")


def test_a_project_that_asks_for_nothing_is_told_of_no_gate(tmp_path: Path) -> None:
    (tmp_path / "a.runcoord.yaml").write_text(PASSING, "utf-8")
    run_in(tmp_path, "-q", "--runcoord-report=out")
    assert Page(tmp_path / "out" / "index.html").data["gate"] is None


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_overview_shows_the_gate_and_opens_the_projects_own(
    browser: Browser, report: Path, width: int, dark: bool
) -> None:
    browser.complaints.clear()
    browser.look_like(width, 900, dark=dark)
    browser.open(report)
    assert browser.value("document.documentElement.scrollWidth <= innerWidth")
    assert browser.value("document.querySelector('.gate h2').textContent") == "Gate: red"
    assert browser.value("document.querySelector('.gate li').textContent").startswith(
        "the invariant stop-wins"
    )
    assert browser.value("document.querySelectorAll('.gate b.bold, .known td b').length") == 0
    opened = "[...document.querySelectorAll('details.area')].filter((e) => e.open).map((e) => "
    assert browser.value(f"{opened}e.querySelector('summary').firstChild.textContent.trim())") == ["own"]
    # No heading, and nothing else, is cut off at the edge of its box.
    wide = (
        "[...document.querySelectorAll('summary, .gate *')].filter((e) => e.scrollWidth > e.clientWidth + 1 "
    )
    assert browser.value(f"{wide}&& getComputedStyle(e).display === 'block').length") == 0
    browser.value("document.querySelector('.known a').click()")
    browser.wait_for("document.title.startsWith('never-refused')")
    assert browser.complaints == []
