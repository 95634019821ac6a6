"""A failed scenario as text: where, what was expected and seen, the last of the history. No pytest in here.

The parts are kept apart, because each way of showing them (terminal, JUnit, an exception's text) has its own
idea of colour; :meth:`FailureText.lines` is all of them in their order.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from pytest_runcoord.verdict import Failure, FailureKind, Line, RunResult, Verdict
from runcoord.values import value

HISTORY_LINES = 12
"""Lines of history in a report: the step that failed and what led to it fit on half a screen."""
LAST_HISTORY_LINES = 6
"""The same of a longer history below a timeline, which shows what led to it."""
BRIEF_HISTORY_LINES = 4
"""The same with ``--tb=short``."""
WHOLE_HISTORY_LINES = 2_000
"""The same with ``-vv``: all of it, but for a scenario that went in circles."""
LINES_BEFORE, LINES_AFTER = 3, 2
"""Lines of the file around the one that failed."""
ONE_CLOCK = "time"
NEXT_DOCUMENT = "---"
NARROWEST, WIDEST = 60, 160
"""Columns: below, nothing is aligned any more; above, the eye loses the line. A file's lines are cut."""
LEAST_DETAIL = 40
"""Columns for details below which they stand under their line rather than beside it."""
MOST_DETAIL_LINES = 3
"""Lines that the details of one line of history may take before they are cut."""


class ScenarioFailed(AssertionError):
    """A scenario did not pass; as text the whole report."""

    def __init__(self, text: FailureText) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return "\n".join(self.text.lines())


@value
class FailureText:
    """The parts of a report on one failed scenario, as lines without line ends."""

    path: str
    line: int
    message: str
    """One line, for summaries and annotations."""
    excerpt: list[str]
    verdict: list[str]
    """Expected, seen, what to do."""
    history: list[str]
    """A lane for everybody and a row for what happened, then the last of it with every detail."""
    rerun: list[str]

    def lines(self) -> list[str]:
        parts = (self.excerpt, self.verdict, self.history, self.rerun)
        text = [f"{self.path}:{self.line}: {self.message}"]
        for part in parts:
            text += ["", *part] if part else []
        return text


def failure_text(
    result: RunResult,
    source: str,
    *,
    path: str,
    line: int,
    rerun: str,
    says: str = "",
    width: int = 80,
    brief: bool = False,
    whole: bool = False,
) -> FailureText:
    """Everything a report says about a result that is not a pass.

    ``says`` is the scenario's own sentence. ``source`` is the text of the file as it was when the scenario
    was read; ``path`` is how to name the file to the reader, ``line`` where the scenario begins, for results
    that name no line of their own. ``brief`` leaves out the file's lines around it and most of the history,
    ``whole`` nothing of it.
    """
    width = max(NARROWEST, min(width, WIDEST))
    failure = result.failure
    at = failure.line if failure is not None and failure.line > 0 else line
    shown = [] if brief else excerpt(source, at, failure.column if failure is not None else 0)
    lanes = _lanes(result, width, brief, whole)
    long = len(result.history) > HISTORY_LINES
    usual = LAST_HISTORY_LINES if lanes and long else HISTORY_LINES
    limit = BRIEF_HISTORY_LINES if brief else WHOLE_HISTORY_LINES if whole else usual
    history = [*lanes, *history_table(result.history, at, width, limit)]
    return FailureText(
        path,
        at,
        message(result),
        shown,
        _verdict(result, says, source if shown else "", at, width),
        history,
        [f"Rerun: {rerun}"] if rerun else [],
    )


def _lanes(result: RunResult, width: int, brief: bool, whole: bool) -> list[str]:
    """The timeline, and an empty line after it; nothing in a short report, or where it has no room."""
    if result.picture is None or brief:
        return []
    from pytest_runcoord.picture.text import MOST_ROWS, timeline

    lines = timeline(result.picture, width, WHOLE_HISTORY_LINES if whole else MOST_ROWS)
    return [*lines, ""] if lines else []


def message(result: RunResult) -> str:
    """The failure in one line; never empty."""
    failure = result.failure
    if failure is None:
        text = "failed, and nothing says why"
    elif failure.kind is FailureKind.INVARIANT:
        text = f"{failure.name}: {failure.problem}"
    elif failure.kind is FailureKind.EXPECTATION and failure.expected:
        text = f"{failure.problem} (expected: {failure.expected})"
    else:
        text = failure.problem or f"{failure.kind.value} {failure.name}"
    text = " ".join(text.split())
    return f"unknown, which is not a pass: {text}" if result.verdict is Verdict.UNKNOWN else text


def excerpt(source: str, line: int, column: int = 0) -> list[str]:
    """The lines of ``source`` around ``line``, that one marked, with a caret below ``column`` if it is known.

    Empty when there is no such line.
    """
    lines = source.splitlines()
    if not 1 <= line <= len(lines):
        return []
    first, last = max(1, line - LINES_BEFORE), min(len(lines), line + LINES_AFTER)
    # The next document is another scenario.
    while NEXT_DOCUMENT in lines[line:last]:
        last -= 1
    while NEXT_DOCUMENT in lines[first - 1 : line - 1]:
        first += 1
    digits = len(str(last))
    shown = []
    for number in range(first, last + 1):
        mark = ">" if number == line else " "
        shown.append(f"{mark} {number:>{digits}} | {_visible(lines[number - 1])}".rstrip())
        if number == line and column > 0:
            shown.append(f"  {'':>{digits}} | {' ' * (column - 1)}^")
    return shown


def _visible(line: str) -> str:
    """A line of any file on one line of a terminal, each character in its column."""
    text = "".join("→" if each == "\t" else each if each.isprintable() else "�" for each in line[:WIDEST])
    return text if len(line) <= WIDEST else f"{text}…"


def _verdict(result: RunResult, says: str, source: str, line: int, width: int) -> list[str]:
    """``source`` is empty where the reader does not see the lines around."""
    failure = result.failure
    rows = [("says", says)]
    if failure is not None:
        if failure.step and not (source and _stands_at(source, line, failure)):
            rows.append(("step", failure.step))
        rows += [("expected", failure.expected), ("seen", failure.seen), ("remedy", failure.remedy)]
    if result.choices:
        rows.append(("variant", ", ".join(f"{axis} {value}" for axis, value in result.choices.items())))
    rows = [(label, " ".join(text.split())) for label, text in rows if text]
    indent = max((len(label) for label, _ in rows), default=0) + 2
    lines: list[str] = []
    for label, text in rows:
        lines += textwrap.wrap(
            text,
            width - 4,
            initial_indent=f"{label}:".ljust(indent),
            subsequent_indent=" " * indent,
            break_on_hyphens=False,
        )
    return lines


def _stands_at(source: str, line: int, failure: Failure) -> bool:
    """Whether the line is the step itself, and not what is nearest to a failure after the last one."""
    return failure.step.partition(":")[0] in source.splitlines()[line - 1]


# --- history ---


def history_table(history: Sequence[Line], line: int, width: int, limit: int = HISTORY_LINES) -> list[str]:
    """The last lines of a history as a table, those of the step at ``line`` marked.

    Clocks that agree in all lines shown share a column: mostly there is one, and where there are more, that
    they differ is worth seeing. Details that do not fit go on below, up to a bound.
    """
    if not history:
        return []
    shown = history[-limit:]
    table = [
        *_clock_columns(shown),
        ("line", [f":{each.step}" if each.step else "heal" for each in shown], ">"),
    ]
    table += [("actor", [each.actor for each in shown], "<"), ("what", [each.what for each in shown], "<")]
    table.append(("status", [each.status for each in shown], "<"))
    widths = [max(len(title), *map(len, cells)) for title, cells, _ in table]
    left = width - 2 - sum(widths) - 2 * len(widths)
    below = 2 + sum(widths[:-3]) + 2 * len(widths[:-3])
    rows = [_row([title for title, _, _ in table], [align for _, _, align in table], widths)]
    rows[0] = f"  {rows[0]}  detail" if left >= LEAST_DETAIL else f"  {rows[0]}".rstrip()
    for index, each in enumerate(shown):
        cells = [cells[index] for _, cells, _ in table]
        row = _row(cells, [align for _, _, align in table], widths)
        mark = ">" if each.step == line else " "
        rows += _with_detail(f"{mark} {row}", each.detail, left, width, below)
    total = len(history)
    count = f"the last {len(shown)} of {total} lines" if total > len(shown) else "complete"
    clocks = "the same on all three clocks" if table[0][0] == ONE_CLOCK else "by clock"
    return [f"History, {count}; seconds since the start, {clocks}:", *rows]


def _row(cells: Sequence[str], aligns: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(
        f"{cell:{align}{width}}" for cell, align, width in zip(cells, aligns, widths, strict=True)
    )


def _with_detail(row: str, detail: str, left: int, width: int, below: int) -> list[str]:
    if not detail:
        return [row.rstrip()]
    beside = left >= LEAST_DETAIL
    indent = f"{row}  " if beside else " " * below
    wrapped = textwrap.wrap(
        " ".join(detail.split()),
        width - len(indent),
        max_lines=MOST_DETAIL_LINES,
        placeholder=" …",
        break_on_hyphens=False,
    )
    if not beside:
        return [row.rstrip(), *(f"{indent}{each}" for each in wrapped)]
    return [f"{indent}{wrapped[0]}", *(f"{'':{len(indent)}}{each}" for each in wrapped[1:])]


def _clock_columns(shown: Sequence[Line]) -> list[tuple[str, list[str], str]]:
    clocks = {
        "wall": [each.at.wall for each in shown],
        "mono": [each.at.monotonic for each in shown],
        "boot": [each.at.boottime for each in shown],
    }
    groups: list[tuple[list[str], list[float]]] = []
    for name, values in clocks.items():
        for names, same in groups:
            if same == values:
                names.append(name)
                break
        else:
            groups.append(([name], values))
    if len(groups) == 1:
        return [(ONE_CLOCK, _numbers(groups[0][1]), ">")]
    return [("=".join(names), _numbers(values), ">") for names, values in groups]


def _numbers(values: Sequence[float]) -> list[str]:
    """With as many decimals as the column needs, at most three."""
    decimals = next(
        (places for places in range(3) if all(abs(round(each, places) - each) < 0.0005 for each in values)), 3
    )
    return [f"{each:.{decimals}f}" for each in values]
