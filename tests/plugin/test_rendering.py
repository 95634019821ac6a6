"""Reports as text, without pytest around them."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_runcoord.rendering import excerpt, failure_text, history_table, message
from pytest_runcoord.verdict import Failure, FailureKind, Line, Moment, RunResult, Verdict

SOURCE = "\n".join(f"line {number}" for number in range(1, 31))

Clocks = tuple[float, float, float]


def entry(number: int, *, step: int = 5, detail: str = "", at: Clocks | None = None) -> Line:
    wall, mono, boot = at or (float(number),) * 3
    return Line(number, "gw1", "claim", "ok", detail, Moment(wall, mono, boot), step)


def failed(kind: FailureKind = FailureKind.EXPECTATION, **changes: Any) -> RunResult:
    values: dict[str, Any] = {
        "kind": kind,
        "name": "one-outcome",
        "problem": "r1 ended twice",
        "path": "a.runcoord.yaml",
        "line": 10,
        "column": 3,
        "step": "line: {number: 10}",
        "expected": "one outcome",
        "seen": "two",
    }
    return RunResult("s", "default", Verdict.FAILED, Failure(**{**values, **changes}))


# --- the file ---


def test_an_excerpt_marks_its_line_and_column() -> None:
    assert excerpt(SOURCE, 10, 3) == [
        "   7 | line 7",
        "   8 | line 8",
        "   9 | line 9",
        "> 10 | line 10",
        "     |   ^",
        "  11 | line 11",
        "  12 | line 12",
    ]


@pytest.mark.parametrize(
    ("line", "first", "last"), [(1, "> 1 | line 1", "  3 | line 3"), (30, "  27 | line 27", "> 30 | line 30")]
)
def test_an_excerpt_ends_where_the_file_ends(line: int, first: str, last: str) -> None:
    shown = excerpt(SOURCE, line)
    assert (shown[0], shown[-1]) == (first, last)


@pytest.mark.parametrize("line", [0, -1, 31])
def test_there_is_no_excerpt_of_a_line_that_is_not_there(line: int) -> None:
    assert excerpt(SOURCE, line, 1) == []
    assert excerpt("", 1) == []


def test_what_cannot_be_seen_in_a_line_keeps_its_column() -> None:
    assert excerpt("\ta\x07b\x1b[31m", 1, 4) == ["> 1 | →a�b�[31m", "    |    ^"]


def test_a_very_long_line_is_cut() -> None:
    [shown] = excerpt("x" * 10_000, 1)
    assert len(shown) < 200
    assert shown.endswith("…")


# --- the verdict ---


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (FailureKind.INVARIANT, "one-outcome: r1 ended twice"),
        (FailureKind.EXPECTATION, "r1 ended twice (expected: one outcome)"),
        (FailureKind.STEP, "r1 ended twice"),
    ],
)
def test_the_message_says_what_the_reader_needs_in_one_line(kind: FailureKind, text: str) -> None:
    assert message(failed(kind)) == text
    assert message(failed(kind, problem="r1\n  ended twice")) == text


def test_a_result_without_a_verdict_is_never_shown_as_a_pass() -> None:
    result = failed(FailureKind.BOUND, problem="it did not end")
    result.verdict = Verdict.UNKNOWN
    assert message(result) == "unknown, which is not a pass: it did not end"
    assert message(RunResult("s", "default", Verdict.FAILED)) == "failed, and nothing says why"


def rows(result: RunResult, **options: Any) -> list[str]:
    return failure_text(result, SOURCE, path="a", line=1, rerun="", **options).verdict


def test_the_step_is_repeated_only_where_its_line_does_not_show_it() -> None:
    assert not any("step:" in row for row in rows(failed()))
    assert any("step:     after the last step" in row for row in rows(failed(step="after the last step")))
    assert any("step:     line: {number: 10}" in row for row in rows(failed(), brief=True))


def test_long_values_go_on_below_in_their_column() -> None:
    shown = rows(failed(seen="word " * 40), width=60)
    at = next(index for index, row in enumerate(shown) if row.startswith("seen:"))
    assert shown[at + 1].startswith(" " * len("expected: ") + "word")
    assert all(len(row) <= 56 for row in shown)


def test_a_failure_without_a_line_of_its_own_points_at_the_scenario() -> None:
    text = failure_text(failed(line=0), SOURCE, path="a.runcoord.yaml", line=4, rerun="again")
    assert text.lines()[0].startswith("a.runcoord.yaml:4: ")
    assert "> 4 | line 4" in text.excerpt
    assert text.lines()[-1] == "Rerun: again"


# --- history ---


@pytest.mark.parametrize(
    ("options", "begins"),
    [
        ({}, "History, the last 12 of 40 lines; "),
        ({"brief": True}, "History, the last 4 of 40 lines; "),
        ({"whole": True}, "History, complete; "),
        ({"brief": True, "whole": True}, "History, the last 4 of 40 lines; "),
    ],
)
def test_the_reader_chooses_how_much_history_is_shown(options: dict[str, Any], begins: str) -> None:
    result = failed()
    result.history = [entry(number) for number in range(1, 41)]
    text = failure_text(result, SOURCE, path="a", line=1, rerun="", **options)
    assert text.history[0].startswith(begins)


def test_an_empty_history_is_left_out() -> None:
    assert history_table([], 5, 80) == []


def test_only_the_last_lines_are_shown_and_the_others_counted() -> None:
    table = history_table([entry(number) for number in range(1, 41)], 9, 80)
    assert table[0].startswith("History, the last 12 of 40 lines; ")
    assert len(table) == 2 + 12
    assert table[-1].split()[0] == "40"


def test_lines_of_the_failing_step_are_marked() -> None:
    table = history_table([entry(1, step=4), entry(2, step=5), entry(3, step=5)], 5, 80)
    assert [row[0] for row in table[2:]] == [" ", ">", ">"]


def test_what_happened_after_the_last_step_is_called_healing() -> None:
    assert history_table([entry(1, step=0)], 5, 80)[2].split()[1] == "heal"


@pytest.mark.parametrize(
    ("moments", "titles"),
    [
        ([(1.0, 1.0, 1.0), (2.0, 2.0, 2.0)], ["time", "line"]),
        ([(1.0, 1.0, 1.0), (9.0, 2.0, 2.0)], ["wall", "mono=boot", "line"]),
        ([(1.0, 1.0, 1.0), (9.0, 2.0, 9.0)], ["wall=boot", "mono", "line"]),
        ([(1.0, 1.0, 1.0), (9.0, 2.0, 5.0)], ["wall", "mono", "boot", "line"]),
    ],
)
def test_clocks_that_agree_share_a_column(moments: list[Clocks], titles: list[str]) -> None:
    table = history_table([entry(number, at=each) for number, each in enumerate(moments)], 5, 80)
    assert table[1].split()[: len(titles)] == titles


@pytest.mark.parametrize(
    ("seconds", "texts"),
    [([1, 90], ["1", "90"]), ([0.5, 90], ["0.5", "90.0"]), ([0.001, 2.25], ["0.001", "2.250"])],
)
def test_a_column_of_time_has_the_decimals_that_it_needs(seconds: list[float], texts: list[str]) -> None:
    table = history_table([entry(1, at=(each, each, each)) for each in seconds], 9, 80)
    assert [row.split()[0] for row in table[2:]] == texts


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_details_never_pass_the_edge_and_are_bounded(width: int) -> None:
    table = history_table([entry(1, detail="name=value " * 100), entry(2)], 9, width)
    assert max(map(len, table[1:])) <= width
    # One line and its details, at most three lines of them, and the second line.
    assert 2 + 3 <= len(table) <= 2 + 1 + 3 + 1
    assert any(row.rstrip().endswith("…") for row in table)
