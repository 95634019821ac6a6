"""The page in a real browser: it draws, complains of nothing, asks for nothing, and works by keyboard."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugin.scenario_files import FAILING_LINE
from report.browser import Browser
from report.conftest import run_in
from report.projects import Page, write_project

WIDE, NARROW = (1280, 900), (390, 844)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("project")
    write_project(directory)
    run_in(directory, "-q", "--runcoord-report=out")
    return directory / "out" / "index.html"


@pytest.fixture(autouse=True)
def _at_peace(request: pytest.FixtureRequest) -> None:
    browser: Browser = request.getfixturevalue("browser")
    browser.complaints.clear()
    browser.requests.clear()


def at(report: Path, scenario: str) -> str:
    """The place of a scenario's first variant in the page."""
    names = [each["scenario"] for each in Page(report).data["variants"]]
    return f"#/{names.index(scenario)}"


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_draws_at_every_width_in_light_and_dark_and_asks_for_nothing(
    browser: Browser, report: Path, size: tuple[int, int], dark: bool
) -> None:
    browser.look_like(*size, dark=dark)
    backgrounds = []
    for place in ("#/", at(report, "never-refused"), at(report, "told-once"), at(report, "misspelt")):
        browser.open(report, place)
        assert browser.value("document.querySelectorAll('h1').length") == 1
        assert browser.value("document.documentElement.scrollWidth <= innerWidth"), place
        backgrounds.append(browser.value("getComputedStyle(document.body).backgroundColor"))
    assert set(backgrounds) == {"rgb(20, 23, 28)" if dark else "rgb(251, 251, 250)"}
    assert browser.complaints == []
    assert {each.partition("#")[0] for each in browser.requests} <= {report.as_uri(), "about:blank", "data:,"}


def test_the_overview_counts_and_filters(browser: Browser, report: Path) -> None:
    browser.look_like(*WIDE)
    browser.open(report)
    assert browser.value("document.querySelectorAll('.list > li').length") == 6
    browser.press("/")
    assert browser.value("document.activeElement.id") == "q"
    browser.type("told")
    assert browser.value("[...document.querySelectorAll('.list .name')].map((e) => e.textContent)") == [
        "told-once"
    ]
    assert browser.value("document.getElementById('shown').textContent") == "1 scenario shown"
    assert browser.complaints == []


def test_hostile_text_is_text(browser: Browser, report: Path) -> None:
    browser.look_like(*WIDE)
    browser.open(report, at(report, "hostile-text"))
    assert browser.value("document.title") == "hostile-text (default): passed"
    assert browser.value("document.querySelectorAll('img, b.bold').length") == 0
    assert browser.value("document.querySelector('.says').textContent.startsWith('</script>')")
    assert browser.complaints == []


def test_a_picture_has_a_row_and_a_lane_for_everything_and_marks_the_failing_moment(
    browser: Browser, report: Path
) -> None:
    browser.look_like(*WIDE)
    browser.open(report, at(report, "never-refused"))
    picture = Page(report).variant("never-refused")["picture"]
    assert browser.value("document.querySelectorAll('.row').length") == len(picture["rows"])
    assert browser.value("document.querySelectorAll('.lane').length") == len(picture["lanes"])
    assert browser.value("document.querySelectorAll('.row.fail').length") == 1
    assert browser.value("document.querySelector('.yaml li.bad').dataset.n") == str(FAILING_LINE)
    # The failing moment is chosen from the start: who opens it sees the step and its rows lit.
    assert browser.value("document.querySelector('[aria-selected=true]').className").split()[:2] == [
        "row",
        "fail",
    ]


def test_rows_are_walked_by_keys_and_light_the_step_that_they_belong_to(
    browser: Browser, report: Path
) -> None:
    browser.look_like(*WIDE)
    browser.open(report, at(report, "told-once"))
    browser.press("ArrowDown")
    browser.press("ArrowDown")
    chosen = "document.activeElement"
    assert (
        browser.value(f"{chosen}.classList.contains('row') && {chosen}.getAttribute('aria-selected')")
        == "true"
    )
    line = Page(report).variant("told-once")["picture"]["rows"][1][5]
    assert browser.value("[...document.querySelectorAll('.yaml .same')].map((e) => +e.dataset.n)") == [line]
    assert browser.value("document.querySelector('.detail').textContent").startswith("gw1: submit r1")
    browser.press("End")
    assert browser.value("document.activeElement === [...document.querySelectorAll('.row')].at(-1)")
    assert browser.value(
        "(() => { const b = document.activeElement.getBoundingClientRect();"
        " return b.top >= 0 && b.bottom <= innerHeight; })()"
    )
    assert browser.complaints == []


def test_a_step_in_the_yaml_lights_its_rows_by_pointer_and_by_keys(browser: Browser, report: Path) -> None:
    browser.look_like(*WIDE)
    browser.open(report, at(report, "told-once"))
    lit = "[...document.querySelectorAll('.row.same')].map((e) => +e.dataset.k)"
    rows = Page(report).variant("told-once")["picture"]["rows"]
    step = rows[2][5]
    wanted = [place for place, row in enumerate(rows) if row[5] == step]
    browser.point_at(f".yaml li[data-n='{step}']")
    assert browser.value(lit) == wanted
    browser.point_at("h1")
    assert browser.value(lit) == []
    browser.value(f"document.querySelector(\".yaml li[data-n='{step}']\").focus()")
    assert browser.value(lit) == wanted
    browser.press("Enter")
    assert browser.value("+document.activeElement.dataset.k") == wanted[0]
    browser.point_at(".row:last-child")
    assert browser.value("document.querySelectorAll('.yaml .same').length") <= 1
    assert browser.complaints == []


def test_one_goes_from_scenario_to_scenario_and_back_by_keys(browser: Browser, report: Path) -> None:
    browser.look_like(*WIDE)
    browser.open(report, "#/0")
    first = browser.value("document.querySelector('h1').textContent")
    browser.press("]")
    browser.wait_for(f"document.querySelector('h1').textContent !== {first!r}")
    browser.press("[")
    browser.wait_for(f"document.querySelector('h1').textContent === {first!r}")
    browser.press("Escape")
    browser.wait_for("document.getElementById('areas') !== null")
    assert browser.complaints == []


def test_everything_that_can_be_chosen_is_reached_by_tab(browser: Browser, report: Path) -> None:
    browser.look_like(*WIDE)
    browser.open(report, at(report, "told-once"))
    reached = set()
    for _ in range(30):
        browser.press("Tab")
        reached.add(browser.value("document.activeElement.className.split(' ')[0]"))
    assert {"row", "step", "home"} <= reached
