"""The documentation points at files that exist, and the README keeps the two commands for a fresh machine."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from source_tree import ROOT

#: Inline links and pictures of Markdown, and reference definitions. A title in quotes may follow.
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\[[^\]]+\]:\s+(\S+)", re.MULTILINE)
FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1\s*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:", re.IGNORECASE)

MAKES_AN_ENVIRONMENT = "python3 -m venv .venv && .venv/bin/pip install -q -e "


def pages(root: Path) -> list[Path]:
    built = root / "docs" / "_build"
    found = [*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "scenarios").rglob("*.md")]
    return sorted(path for path in found if built not in path.parents)


def broken_links(root: Path) -> list[str]:
    """Relative links whose file is not there, or lies outside of the project."""
    findings = []
    for page in pages(root):
        text = CODE.sub("", FENCE.sub("", page.read_text("utf-8")))
        for match in LINK.finditer(text):
            link = match.group(1) or match.group(2)
            path = unquote(link.partition("#")[0])
            if not path or ELSEWHERE.match(link):
                continue
            target = (page.parent / path).resolve()
            if not target.exists() or not target.is_relative_to(root.resolve()):
                findings.append(f"{page.relative_to(root).as_posix()} points at {link}")
    return findings


def test_every_relative_link_points_at_a_file_of_the_project() -> None:
    assert len(pages(ROOT)) > 5
    assert broken_links(ROOT) == []


@pytest.mark.parametrize(
    "link", ["[a](gone.md)", "[a](gone.md#part)", '![a](gone.png "title")', "[a]: gone.md"]
)
def test_a_broken_link_is_found(tmp_path: Path, link: str) -> None:
    (tmp_path / "README.md").write_text(f"text\n\n{link}\n", "utf-8")
    [finding] = broken_links(tmp_path)
    assert finding.startswith("README.md points at gone.")


def test_a_link_out_of_the_project_is_found(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "other.md").touch()
    (project / "README.md").write_text("[a](../other.md)\n", "utf-8")
    assert broken_links(project) == ["README.md points at ../other.md"]


def test_links_elsewhere_within_the_page_and_inside_code_are_left_alone(tmp_path: Path) -> None:
    text = "[a](https://example.org/x) [b](#part) [c](mailto:x@example.org) `[d](gone.md)`\n"
    text += "\n```\n[e](gone.md)\n```\n"
    (tmp_path / "README.md").write_text(text, "utf-8")
    assert broken_links(tmp_path) == []


def test_the_readme_has_one_line_that_runs_the_shipped_scenarios_and_one_that_runs_the_tests() -> None:
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert [
        line.removeprefix(MAKES_AN_ENVIRONMENT) for line in lines if line.startswith(MAKES_AN_ENVIRONMENT)
    ] == [
        "'.[pytest]' && .venv/bin/python -m pytest -p runcoord --runcoord-suite",
        "'.[dev]' && .venv/bin/python -m pytest -n auto",
    ]
