"""Annotations for GitHub Actions: on the line of the step, escaped, and no more than are shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from plugin.conftest import Run
from plugin.scenario_files import (
    FAILING,
    FAILING_LINE,
    PASSING,
    UNREADABLE,
    WRONG,
    WRONG_LINE,
    failing,
    together,
)
from plugin.test_known_failures import entry
from pytest_runcoord.annotations import MOST_OF_A_KIND, Annotation, lines

pytest_plugins = ["pytester"]
Write = Callable[[str, str], Path]
ON = "--runcoord-annotations"


def annotations(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if line.startswith("::")]


@pytest.fixture(autouse=True)
def _rootdir(write: Write) -> None:
    write("pytest.ini", "[pytest]\n")


@pytest.mark.parametrize("quiet", ["-v", "-q", "-qq"])
def test_a_failure_is_annotated_on_the_line_and_column_of_its_step(
    write: Write, run: Run, quiet: str
) -> None:
    write("below/a.runcoord.yaml", together(PASSING, FAILING, WRONG))
    line = PASSING.count("\n") + 1 + FAILING_LINE
    wrong = PASSING.count("\n") + FAILING.count("\n") + 2 + WRONG_LINE
    assert annotations(run(ON, quiet)) == [
        (
            f"::error file=below/a.runcoord.yaml,line={line},col=5,title=never-refused"
            "::claim was accepted (expected: refused as lease-held)"
        ),
        f"::error file=below/a.runcoord.yaml,line={wrong},col=5,title=misspelt::unknown step 'opne'",
    ]


def test_on_github_they_are_there_by_themselves_and_elsewhere_not(
    write: Write, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("project/a.runcoord.yaml", FAILING)
    assert annotations(run()) == []
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(path.parent.parent.parent))
    monkeypatch.chdir(path.parent)
    [line] = annotations(run())
    inside = path.relative_to(path.parent.parent.parent).as_posix()
    assert line.startswith(f"::error file={inside},line={FAILING_LINE},")


def test_a_file_that_cannot_be_read_and_a_gate_that_is_red_are_annotated(write: Write, run: Run) -> None:
    write("a.runcoord.yaml", UNREADABLE)
    [line] = annotations(run(ON))
    assert re.match(r"::error file=a\.runcoord\.yaml,line=\d,col=\d+,title=unreadable scenario file::", line)
    write("a.runcoord.yaml", PASSING)
    write("runcoord.toml", "\nmin_scenarios = 2\n")
    [line] = annotations(run(ON))
    assert line == (
        "::error file=runcoord.toml,line=2,title=runcoord::"
        "1 scenario ran, at least 2 are required by min_scenarios"
    )


def test_a_known_failure_is_a_notice(write: Write, run: Run) -> None:
    write("a.runcoord.yaml", FAILING)
    write("runcoord.toml", entry("never-refused"))
    [line] = annotations(run(ON))
    assert line.startswith(f"::notice file=a.runcoord.yaml,line={FAILING_LINE},col=5,")
    assert "title=known failure%3A never-refused::" in line


def test_under_xdist_they_are_the_same_and_each_is_there_once(write: Write, run: Run, run_apart: Run) -> None:
    write("a.runcoord.yaml", together(failing("a1"), failing("a2"), WRONG))
    alone = annotations(run(ON))
    assert len(alone) == 3
    assert sorted(annotations(run_apart("-p", "xdist", "-n2", ON))) == sorted(alone)
    write("b.runcoord.yaml", UNREADABLE)
    spread = annotations(run_apart("-p", "xdist", "-n2", ON))
    assert len([line for line in spread if "b.runcoord.yaml" in line]) == 1


def test_variants_that_fail_alike_are_one_annotation(write: Write, run: Run) -> None:
    write("a.runcoord.yaml", FAILING.replace("steps:", "axes: {store: [memory, default]}\nsteps:"))
    [line] = annotations(run(ON))
    assert line.endswith("(in 2 variants: memory, default)")


def test_github_shows_ten_of_a_kind_so_the_rest_is_counted(write: Write, run: Run) -> None:
    write("a.runcoord.yaml", together(*(failing(f"s{number}") for number in range(13))))
    found = annotations(run(ON))
    assert len(found) == MOST_OF_A_KIND
    assert found[-1] == "::error title=runcoord::4 more are not annotated: see the end of the log"


@pytest.mark.parametrize(
    ("text", "data", "name"),
    [
        ("100%", "100%25", "100%25"),
        ("a\r\nb", "a%0D%0Ab", "a%0D%0Ab"),
        ("a: b, c", "a: b, c", "a%3A b%2C c"),
        ("%0A", "%250A", "%250A"),
        ("x::error::y", "x::error::y", "x%3A%3Aerror%3A%3Ay"),
        ("a\x1b[31m\x00b", "a [31m b", "a [31m b"),
        ("\ud800", "\\ud800", "\\ud800"),
    ],
)
def test_whatever_a_text_holds_it_stays_one_command(text: str, data: str, name: str) -> None:
    [line] = lines([Annotation("error", text, text, Path("/r/x"), 1)], Path("/r"))
    assert line == f"::error file=x,line=1,title={name}::{data}"
    assert len(line.splitlines()) == 1


def test_what_lies_outside_of_the_repository_is_named_in_the_message() -> None:
    [line] = lines([Annotation("error", "t", "m", Path("/elsewhere/s.yaml"), 3, 4)], Path("/r"))
    assert line == "::error title=t::/elsewhere/s.yaml:3: m"


def test_a_failure_that_pytest_tells_in_words_only_is_annotated_at_its_scenario(
    write: Write, run: Run
) -> None:
    write("a.runcoord.yaml", PASSING)
    write(
        "conftest.py",
        "import pytest\n\ndef pytest_collection_modifyitems(items):\n"
        "    items[0].add_marker(pytest.mark.xfail(strict=True, reason='it fails'))\n",
    )
    result = run("--runcoord-annotations")
    assert result.parseoutcomes() == {"failed": 1}
    line = "::error file=a.runcoord.yaml,line=1,title=plain-life::[XPASS(strict)] it fails"
    assert line in result.outlines


def test_a_repository_that_is_reached_by_a_link_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    for name, workspace in (("real", "link"), ("link", "real")):
        said = Annotation("error", "x", "y", tmp_path / name / "a.yaml", 3)
        assert lines([said], tmp_path / workspace) == ["::error file=a.yaml,line=3,title=x::y"]
