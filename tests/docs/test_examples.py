"""What README and documentation show is what happens: scenarios, Python, and commands with their output."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from docs.blocks import Block, UnreadableBlock, blocks, blocks_of, commands, pages
from docs.normal import agree
from docs.sessions import Session, Wrong

RUN = ("console", "python", "yaml")
PAGES = [page for page in pages() if any(block.language in RUN for block in blocks_of(page))]

NOT_RUN = {
    "README.md": 2,
    "docs/how-to/gate-ci.md": 1,
    "docs/how-to/prove-that-the-gate-bites.md": 2,
    "docs/reference/hooks.md": 5,
    "docs/tutorial/first-program.md": 1,
    "docs/tutorial/first-scenario.md": 1,
}
"""Blocks that say that they are not run, by page. The reason stands in the page."""


def follow(page: list[Block], directory: Path) -> None:
    with Session(directory) as session:
        for block in page:
            session.follow(block)
        session.end()


@pytest.mark.parametrize("page", PAGES)
def test_what_the_page_shows_is_what_happens(page: str, tmp_path: Path) -> None:
    follow(blocks_of(page), tmp_path)


def test_only_the_listed_blocks_are_not_run() -> None:
    found = Counter(block.page for page in pages() for block in blocks_of(page) if "not run" in block.says)
    assert dict(found) == NOT_RUN


# --- that the checks find something ----------------------------------------------------------------

SCENARIO = """\
runcoord: 1
scenario: s
says: It holds.
steps:
  - open: gw1
  - submit: {run: r1, refused: lease-held}
"""
LINE = 6


def planted(text: str) -> list[Block]:
    return list(blocks("page.md", text))


def fenced(language: str, text: str, *comments: str) -> str:
    lines = [f"<!-- {comment} -->" for comment in comments]
    return "\n".join([*lines, f"```{language}", f"{text.rstrip()}\n```\n"])


def test_a_scenario_that_fails_without_saying_so_is_found(tmp_path: Path) -> None:
    with pytest.raises(Wrong, match=rf"page.md:2: {LINE}: submit was accepted"):
        follow(planted(fenced("yaml", SCENARIO)), tmp_path)


@pytest.mark.parametrize("says", [f"fails: {LINE} submit was accepted", f"fails: {LINE}"])
def test_a_scenario_may_fail_where_it_says(tmp_path: Path, says: str) -> None:
    follow(planted(fenced("yaml", SCENARIO, says)), tmp_path)


@pytest.mark.parametrize("says", [f"fails: {LINE - 1} submit", f"fails: {LINE} something else"])
def test_a_scenario_that_fails_elsewhere_or_otherwise_is_found(tmp_path: Path, says: str) -> None:
    with pytest.raises(Wrong, match="does not fail as it says"):
        follow(planted(fenced("yaml", SCENARIO, says)), tmp_path)


FILE = fenced("python", "class A:\n    def f(self):\n        return 1\n", "file: a.py")
CHANGE = "def f(self):\n    return 2\n"


def test_functions_of_a_block_take_the_place_of_those_in_a_file(tmp_path: Path) -> None:
    page = FILE + fenced("python", CHANGE, "replaces: a.py") + fenced("console", "$ cat a.py")
    follow(planted(page), tmp_path)
    assert (tmp_path / "a.py").read_text("utf-8") == "class A:\n    def f(self):\n        return 2\n"


@pytest.mark.parametrize("before", ["", FILE.replace("def f", "def g")])
def test_a_block_that_replaces_what_is_not_there_is_found(tmp_path: Path, before: str) -> None:
    with pytest.raises(Wrong, match=r"there is no a.py|a.py has 0 functions named f"):
        follow(planted(before + fenced("python", CHANGE, "replaces: a.py")), tmp_path)


def test_a_part_of_a_scenario_with_an_unknown_word_is_found(tmp_path: Path) -> None:
    follow(planted(fenced("yaml", "- crash: gw1\n- run: {id: r1, outcome: failed}")), tmp_path)
    with pytest.raises(Wrong, match="no part of a scenario"):
        follow(planted(fenced("yaml", "- crahs: gw1")), tmp_path / "other")


def test_python_that_raises_or_prints_something_else_is_found(tmp_path: Path) -> None:
    good = fenced("python", "x = 1") + fenced("python", "print(x + 1)") + fenced("text", "2", "prints")
    (tmp_path / "good").mkdir()
    follow(planted(good), tmp_path / "good")
    with pytest.raises(Wrong, match="shows other output"):
        follow(planted(fenced("python", "print(1)") + fenced("text", "2", "prints")), tmp_path)


def test_a_test_on_a_page_that_fails_is_found(tmp_path: Path) -> None:
    with pytest.raises(Wrong, match="1 failed"):
        follow(planted(fenced("python", "def test_a():\n    assert False")), tmp_path)


def test_other_output_and_another_exit_code_are_found(tmp_path: Path) -> None:
    (tmp_path / "good").mkdir()
    page = fenced("python", "print(1)\nraise SystemExit(3)", "file: a.py")
    follow(planted(page + fenced("console", "$ python a.py\n1", "exit: 3")), tmp_path / "good")
    (tmp_path / "code").mkdir()
    with pytest.raises(Wrong, match="ended with 3, not 0"):
        follow(planted(page + fenced("console", "$ python a.py\n1")), tmp_path / "code")
    with pytest.raises(Wrong, match="--- seen ---\n1\n"):
        follow(planted(page + fenced("console", "$ python a.py\n2", "exit: 3")), tmp_path)


def test_a_file_that_nothing_uses_is_found(tmp_path: Path) -> None:
    with pytest.raises(Wrong, match=r"nothing that follows uses a\.py"):
        follow(planted(fenced("python", "x = 1", "file: a.py")), tmp_path)


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        (fenced("console", "$ make all"), "'make' is not run here"),
        (fenced("yaml", "a: 1", "filee: a.yaml"), "nothing is known about"),
        (fenced("ruby", "1"), "a block is one of"),
        (fenced("console", "no command"), "begins with"),
        (fenced("console", "$ make all", "not run:"), "say why"),
    ],
)
def test_a_block_that_nothing_can_be_done_with_is_found(tmp_path: Path, page: str, problem: str) -> None:
    with pytest.raises(UnreadableBlock, match=problem):
        follow(planted(page), tmp_path)


def test_the_commands_of_a_block_have_their_output() -> None:
    [block] = planted(fenced("console", "$ a b\none\ntwo\n$ c"))
    assert [(each.text, each.shown) for each in commands(block)] == [("a b", "one\ntwo\n"), ("c", "")]


@pytest.mark.parametrize(
    ("shown", "output", "same"),
    [
        ("=== 1 passed in 0.02s ===", "========= 1 passed in 1.50s ==========", True),
        ("=== 1 passed in 0.02s ===", "=== 2 passed in 0.02s ===", False),
        ("a\n...\nd", "a\nb\nc\nd", True),
        ("a\n...\nd", "b\nd", False),
        ("a", "a\nb", False),
    ],
)
def test_only_what_may_differ_is_passed_over(shown: str, output: str, same: bool) -> None:
    assert agree(shown, output) is same


def test_ages_and_the_width_of_columns_may_differ_in_tables() -> None:
    assert agree("RUN  AGE\nr1    5s", "RUN   AGE\nr1   1m10s", tables=True)
    assert not agree("RUN  AGE\nr1    5s", "RUN   AGE\nr2   1m10s", tables=True)
