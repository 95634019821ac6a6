"""The report of everything that is shipped: small enough to send around, and there when it is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from report.browser import Browser
from report.conftest import run_in
from report.projects import Page

pytestmark = pytest.mark.soak

MOST_BYTES = 5_000_000
SOON_SECONDS = 1.0
"""From asking for the page until the overview is drawn; the best of some, since others may be busy."""
TRIES = 5


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("suite")
    ran = run_in(directory, "-q", "--runcoord-suite", "--runcoord-tier=sim", "--runcoord-report=out")
    assert ran.returncode == 0, ran.stdout[-3000:]
    return directory / "out" / "index.html"


def test_it_has_every_scenario_and_stays_below_five_megabytes(report: Path) -> None:
    assert len(Page(report).data["variants"]) > 450
    assert report.stat().st_size < MOST_BYTES


def test_it_is_drawn_in_under_a_second_without_a_complaint(browser: Browser, report: Path) -> None:
    browser.look_like(1280, 900)
    took = []
    for _ in range(TRIES):
        browser.open(report)
        browser.wait_for("document.querySelectorAll('.list > li').length > 300")
        took.append(browser.value("performance.getEntriesByType('navigation')[0].loadEventEnd") / 1000)
    assert min(took) < SOON_SECONDS, took
    assert browser.complaints == []


@pytest.mark.parametrize("width", [390, 1280])
def test_every_scenario_fits_its_window(browser: Browser, report: Path, width: int) -> None:
    browser.look_like(width, 900)
    for place in range(0, len(Page(report).data["variants"]), 20):
        browser.open(report, f"#/{place}")
        assert browser.value("document.documentElement.scrollWidth <= innerWidth"), place
    assert browser.complaints == []
