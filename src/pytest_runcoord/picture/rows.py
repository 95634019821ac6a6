"""From entries of a history to rows: what belongs together in one, what repeats itself folded, bounded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pytest_runcoord.history import Entry
from pytest_runcoord.picture.lanes import COMMITS, PROCESS_EVENTS, Lanes, target_of
from pytest_runcoord.picture.model import NOWHERE, LaneKind, Mark, Row
from pytest_runcoord.picture.words import detail_of, status_of, text_of

MAX_ROWS = 600
"""Rows of a picture; the longest that is written to be read has some 300 when what repeats is folded."""
LONGEST_PATTERN = 8
"""Rows of a pattern that is recognised when it repeats: a run that is submitted, claimed, done, told."""
LEAST_REPEATS = 4
"""Times that a pattern stands there before it is folded; three of a kind are read faster than a sentence."""
KEPT_AT_END = 12
"""Rows before a failing moment that are never folded."""
ABSORBING = frozenset({"verb", "message", "signal"})
"""Kinds of entries that take the moments that follow them into their row."""
MARKS = {
    "verb": Mark.VERB,
    "moment": Mark.MOMENT,
    "tick": Mark.MOMENT,
    "message": Mark.MESSAGE,
    "signal": Mark.SIGNAL,
}
WORLD_MARKS = {
    "open": Mark.OPEN,
    "close": Mark.CLOSE,
    "crash": Mark.CRASH,
    "pause": Mark.PAUSE,
    "resume": Mark.OPEN,
    "exit": Mark.END,
    "killed": Mark.END,
}
CLOCK = "clock"


@dataclass(slots=True)
class Table:
    """Rows, and for each entry (by number, from 1) the row that it is in."""

    rows: list[Row] = field(default_factory=list)
    row_of: list[int] = field(default_factory=lambda: [0])
    left_out: int = 0


@dataclass(slots=True)
class _Group:
    """An entry with the moments that it takes into its row."""

    entry: Entry
    moments: list[Entry] = field(default_factory=list)

    def key(self) -> tuple[object, ...]:
        entry = self.entry
        return (
            entry.kind,
            entry.actor,
            entry.what,
            status_of(entry),
            entry.step,
            *[each.what for each in self.moments],
        )


def table_of(entries: Sequence[Entry], lanes: Lanes, directory: str, failed: bool) -> Table:
    """The rows of a history. ``failed`` keeps what led to the end as it was."""
    groups = _grouped(entries)
    table = Table()
    at, free = 0, len(groups) - (KEPT_AT_END if failed else 0)
    keys = [group.key() for group in groups]
    while at < len(groups):
        period, repeats = _pattern(keys, at, free)
        if repeats < LEAST_REPEATS:
            _put(table, groups[at], entries, lanes, directory)
            at += 1
            continue
        for group in groups[at : at + period]:
            _put(table, group, entries, lanes, directory)
        _put_fold(table, groups[at + period : at + period * repeats], repeats - 1, entries)
        at += period * repeats
    _bound(table)
    return table


def _grouped(entries: Sequence[Entry]) -> list[_Group]:
    groups: list[_Group] = []
    for entry in entries:
        last = groups[-1] if groups else None
        fits = (
            last is not None
            and entry.kind == "moment"
            and last.entry.kind in ABSORBING
            and last.entry.actor == entry.actor
            and last.entry.step == entry.step
            and last.entry.boottime == entry.boottime
        )
        if fits and last is not None:
            last.moments.append(entry)
        else:
            groups.append(_Group(entry))
    return groups


def _pattern(keys: list[tuple[object, ...]], at: int, free: int) -> tuple[int, int]:
    """The length of the pattern that begins here and covers most, and how often it stands there."""
    best = (1, 1)
    for period in range(1, min(LONGEST_PATTERN, (free - at) // LEAST_REPEATS) + 1):
        end = at + period
        while end < free and keys[end] == keys[end - period]:
            end += 1
        repeats = (end - at) // period
        if repeats >= LEAST_REPEATS and repeats * period > best[0] * best[1]:
            best = (period, repeats)
    return best


def _put(table: Table, group: _Group, entries: Sequence[Entry], lanes: Lanes, directory: str) -> None:
    entry, first = group.entry, entries[0]
    at = entry.boottime - first.boottime
    row = Row(
        _mark(entry),
        lanes.of(entry.actor),
        lanes.reached(entry),
        text_of(entry),
        status_of(entry),
        entry.step,
        at,
        (entry.wall - first.wall) - at,
        detail_of(entry.data, directory),
        tuple(each.what for each in (entry, *group.moments) if each.kind == "moment"),
        any(each.what in COMMITS for each in (entry, *group.moments)),
        1 + len(group.moments),
    )
    table.row_of += [len(table.rows)] * row.stands_for
    table.rows.append(row)


def _put_fold(table: Table, groups: list[_Group], times: int, entries: Sequence[Entry]) -> None:
    last, first = groups[-1].entry, entries[0]
    count = sum(1 + len(group.moments) for group in groups)
    at = last.boottime - first.boottime
    above = "the row" if len(groups) == times else f"the {len(groups) // times} rows"
    text = f"{above} above, {times} times more"
    row = Row(
        Mark.FOLD,
        table.rows[-1].lane,
        NOWHERE,
        text,
        "",
        last.step,
        at,
        (last.wall - first.wall) - at,
        stands_for=count,
    )
    table.row_of += [len(table.rows)] * count
    table.rows.append(row)


def _bound(table: Table) -> None:
    """Leave out the middle of what is too long; the begin explains it, the end decides it."""
    excess = len(table.rows) - MAX_ROWS
    if excess <= 0:
        return
    head = MAX_ROWS // 2
    gone = table.rows[head : head + excess + 1]
    instead = replace(
        gone[0],
        mark=Mark.FOLD,
        to=NOWHERE,
        text=f"{len(gone)} rows are not shown",
        status="",
        detail="",
        moments=(),
        writes=False,
        stands_for=sum(row.stands_for for row in gone),
    )
    table.left_out = len(gone)
    table.rows[head : head + len(gone)] = [instead]
    table.row_of = [
        row if row < head else head if row < head + len(gone) else row - len(gone) + 1 for row in table.row_of
    ]


def _mark(entry: Entry) -> Mark:
    if entry.kind != "world":
        return MARKS.get(entry.kind, Mark.WORLD)
    if entry.actor == CLOCK:
        return Mark.TIME
    if entry.what.startswith("fault "):
        return Mark.FAULT
    reached = target_of(entry)
    if entry.what in ("starts", "gets the pid") or (reached and reached[0] is LaneKind.PROCESS):
        return Mark.BIRTH
    if entry.what in WORLD_MARKS:
        return WORLD_MARKS[entry.what]
    return Mark.END if entry.what in PROCESS_EVENTS else Mark.WORLD
