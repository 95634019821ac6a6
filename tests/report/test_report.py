"""``--runcoord-report``: what is written, by whom, and that nothing is collected without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from plugin.scenario_files import FAILING_LINE, PASSING
from pytest_runcoord.html_report.gathering import areas_of
from pytest_runcoord.html_report.page import as_script, page
from report.conftest import Runs, run_in
from report.projects import Page, write_project

REPORT = ("-q", "--runcoord-report=out")


def without_times(data: dict[str, Any]) -> dict[str, Any]:
    variants = [{**each, "seconds": 0} for each in data["variants"]]
    return {**data, "variants": variants, "facts": []}


def test_every_variant_is_there_with_its_verdict_and_its_area(tmp_path: Path, run_pytest: Runs) -> None:
    write_project(tmp_path)
    result = run_pytest(*REPORT)
    assert result.returncode == 1, result.stdout
    assert f"runcoord: report in {tmp_path / 'out' / 'index.html'}" in result.stdout
    found = Page(tmp_path / "out" / "index.html").data["variants"]
    assert sorted((each["area"], each["scenario"], each["variant"], each["verdict"]) for each in found) == [
        (".", "hostile-text", "default", "passed"),
        (".", "not-for-real", "memory-real", "skipped"),
        (".", "not-for-real", "memory-sim", "passed"),
        ("leases", "never-refused", "default", "failed"),
        ("leases", "two-stores", "default", "passed"),
        ("leases", "two-stores", "memory", "passed"),
        ("outbox", "misspelt", "invalid", "invalid"),
        ("outbox", "told-once", "default", "passed"),
    ]


def test_a_failure_is_told_with_its_moment_its_line_and_its_text(tmp_path: Path, run_pytest: Runs) -> None:
    write_project(tmp_path)
    run_pytest(*REPORT)
    variant = Page(tmp_path / "out" / "index.html").variant("never-refused")
    assert variant["failure"]["line"] == FAILING_LINE
    assert variant["failure"]["expected"] == "refused as lease-held"
    picture = variant["picture"]
    assert picture["failed"] == len(picture["rows"]) - 1
    assert picture["rows"][-1][5] == FAILING_LINE
    assert "History, complete" in variant["text"]


def test_invariants_tiers_and_skips_are_told(tmp_path: Path, run_pytest: Runs) -> None:
    write_project(tmp_path)
    run_pytest(*REPORT)
    found = Page(tmp_path / "out" / "index.html")
    names = [each["id"] for each in found.data["invariants"]]
    assert "one-outcome" in names
    assert all(each["says"] for each in found.data["invariants"])
    assert len(found.variant("told-once")["exercised"]) == len(names)
    assert found.variant("told-once")["exercised"][names.index("one-outcome")] > 0
    assert found.variant("not-for-real", "memory-real")["tier"] == "real"
    assert "default store" in found.variant("not-for-real", "memory-real")["skipped"]
    assert [name for name, _ in found.data["facts"]][:3] == ["subject", "runcoord", "pytest"]


def test_a_known_failure_is_told_with_its_reason(tmp_path: Path, run_pytest: Runs) -> None:
    write_project(tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n", "utf-8")
    (tmp_path / "runcoord.toml").write_text(
        "[[known_failures]]\nscenario='never-refused'\nby = 'maria'\nwhy = 'let it be'\nuntil = 2099-01-01\n",
        "utf-8",
    )
    run_pytest(*REPORT)
    variant = Page(tmp_path / "out" / "index.html").variant("never-refused")
    assert variant["verdict"] == "xfailed"
    assert variant["known"] == "known failure, accepted by maria until 2099-01-01: let it be"
    assert variant["failure"]["line"] == FAILING_LINE


def test_the_page_needs_nothing_from_outside(tmp_path: Path, run_pytest: Runs) -> None:
    write_project(tmp_path)
    run_pytest(*REPORT)
    found = Page(tmp_path / "out" / "index.html")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["index.html"]
    for tag, attributes in found.tags:
        assert "src" not in attributes, tag
        assert tag != "link" or attributes["href"] == "data:,"
    assert [tag for tag, _ in found.tags].count("script") == 2
    style = "".join(text for tag, text in found.texts if tag == "style")
    assert "url(" not in style
    assert "@import" not in style


def test_texts_of_scenarios_stay_texts(tmp_path: Path, run_pytest: Runs) -> None:
    write_project(tmp_path)
    run_pytest(*REPORT)
    found = Page(tmp_path / "out" / "index.html")
    assert found.variant("hostile-text")["says"].startswith("</script><script>")
    assert "img" not in [tag for tag, _ in found.tags]


@pytest.mark.parametrize(
    "text", ["</script>", "<!--", "<script>", "\u2028", "\ud800", "{{title}}", "\\u003c"]
)
def test_any_text_can_stand_in_the_page(tmp_path: Path, text: str) -> None:
    data = {"title": text, "facts": [], "variants": [], "files": {"a": text}, "invariants": []}
    path = tmp_path / "index.html"
    path.write_text(page(data, text.encode("utf-8", "replace").decode()).encode("utf-8", "replace").decode())
    assert json.loads(as_script(data))["files"]["a"] == (text if text != "\ud800" else "\ud800")
    assert Page(path).data["files"]["a"] == text


def test_under_xdist_the_report_is_the_same(tmp_path: Path, run_pytest: Runs) -> None:
    pytest.importorskip("xdist")
    write_project(tmp_path)
    run_pytest(*REPORT)
    alone = Page(tmp_path / "out" / "index.html").data
    result = run_pytest("-p", "xdist", "-n", "2", "-q", "--runcoord-report", "spread")
    assert "report in" in result.stdout, result.stdout + result.stderr
    spread = Page(tmp_path / "spread" / "index.html").data
    for each in (*alone["variants"], *spread["variants"]):
        each.pop("text", None)  # is laid out for the terminal of the run
    assert without_times(spread) == without_times(alone)


def test_the_run_ends_as_it_would_without_the_report(tmp_path: Path, run_pytest: Runs) -> None:
    (tmp_path / "a.runcoord.yaml").write_text(PASSING, "utf-8")
    assert run_pytest(*REPORT).returncode == 0
    assert Page(tmp_path / "out" / "index.html").variant("plain-life")["verdict"] == "passed"


def test_a_run_without_scenarios_says_so_instead_of_leaving_an_old_report(
    tmp_path: Path, run_pytest: Runs
) -> None:
    (tmp_path / "a.runcoord.yaml").write_text(PASSING, "utf-8")
    run_pytest(*REPORT)
    (tmp_path / "a.runcoord.yaml").unlink()
    (tmp_path / "test_a.py").write_text("def test_a():\n    pass\n", "utf-8")
    assert run_pytest(*REPORT).returncode == 0
    assert Page(tmp_path / "out" / "index.html").data["variants"] == []


def test_a_directory_that_cannot_be_written_stops_the_run_before_it_begins(
    tmp_path: Path, run_pytest: Runs
) -> None:
    (tmp_path / "test_a.py").write_text("def test_a():\n    open('ran', 'w').close()\n", "utf-8")
    (tmp_path / "taken").write_text("a file", "utf-8")
    for given in ("taken", "taken/below", ""):
        result = run_pytest("-q", "--runcoord-report", given)
        assert result.returncode == pytest.ExitCode.USAGE_ERROR
        assert "--runcoord-report" in result.stderr
        assert "Traceback" not in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["taken", "test_a.py"]
    assert (tmp_path / "taken").read_text("utf-8") == "a file"


def test_a_directory_that_pytest_took_for_that_of_the_tests_is_refused(tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    project.mkdir()
    elsewhere.mkdir()
    (project / "pytest.ini").write_text("[pytest]\n", "utf-8")
    (project / "a.runcoord.yaml").write_text(PASSING, "utf-8")
    result = run_in(project, "-q", "--runcoord-report", str(elsewhere))
    assert result.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"--runcoord-report={elsewhere}" in result.stderr
    assert list(elsewhere.iterdir()) == []
    assert run_in(project, "-q", f"--runcoord-report={elsewhere}").returncode == 0


def test_a_report_that_cannot_be_written_at_the_end_fails_the_run(tmp_path: Path, run_pytest: Runs) -> None:
    (tmp_path / "test_a.py").write_text(
        "import shutil\ndef test_a():\n    shutil.rmtree('out'); open('out', 'w').close()\n", "utf-8"
    )
    result = run_pytest(*REPORT)
    assert result.returncode == 1
    assert "the report could not be written" in result.stdout


def test_collecting_alone_writes_nothing(tmp_path: Path, run_pytest: Runs) -> None:
    (tmp_path / "a.runcoord.yaml").write_text(PASSING, "utf-8")
    assert run_pytest("--collect-only", *REPORT).returncode == 0
    assert not (tmp_path / "out").exists()


def test_without_the_option_nothing_of_it_is_loaded_or_recorded(tmp_path: Path, run_pytest: Runs) -> None:
    (tmp_path / "a.runcoord.yaml").write_text(PASSING, "utf-8")
    (tmp_path / "conftest.py").write_text(
        "import sys\n"
        "def pytest_runtest_logreport(report):\n"
        "    assert not hasattr(report, 'runcoord_report')\n"
        "def pytest_unconfigure():\n"
        "    print('LOADED', [n for n in sys.modules if 'html_report' in n or 'runcoord.picture' in n])\n",
        "utf-8",
    )
    result = run_pytest("-q")
    assert result.returncode == 0, result.stdout
    assert "LOADED []" in result.stdout


def test_files_for_junit_hold_no_pictures(tmp_path: Path, run_pytest: Runs) -> None:
    (tmp_path / "a.runcoord.yaml").write_text(PASSING, "utf-8")
    run_pytest(*REPORT, "--junit-xml=junit.xml", "-o", "junit_family=xunit1")
    text = (tmp_path / "junit.xml").read_text("utf-8")
    assert "runcoord_verdict" in text
    assert "picture" not in text


@pytest.mark.parametrize(
    ("files", "areas"),
    [
        (["s/leases/a.yaml", "s/outbox/b.yaml"], {"leases", "outbox"}),
        (["s/a.yaml"], {"s"}),
        (["s/a.yaml", "s/x/y/b.yaml"], {".", "x/y"}),
        (["a.yaml"], {"."}),
        (["/abs/a.yaml", "rel/b.yaml"], {"/abs", "rel"}),
        ([], set()),
    ],
)
def test_an_area_is_the_folder_below_what_all_have_in_common(files: list[str], areas: set[str]) -> None:
    assert set(areas_of(files).values()) == areas
