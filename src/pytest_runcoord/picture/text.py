"""A picture as lines of text, for a terminal: the same lanes, rows and bars, one character wide each."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_runcoord.picture.model import NOWHERE, LaneKind, Lease, Mark, Picture, Row

MOST_ROWS = 16
"""Rows that a report shows: what led to a failure fits on half a screen."""
MOST_NAME = 10
"""Columns of a lane's name; longer ones are cut."""
LEAST_TEXT = 30
"""Columns that must be left for what a row says; with fewer there is no timeline."""
GAP = 2
"""Columns between two lanes, so that arrows are seen."""
SYMBOLS = {
    Mark.VERB: "●",
    Mark.MOMENT: "○",
    Mark.OPEN: "┬",
    Mark.CLOSE: "┴",
    Mark.CRASH: "✗",
    Mark.PAUSE: "=",
    Mark.TIME: "~",
    Mark.FAULT: "!",
    Mark.MESSAGE: "●",
    Mark.SIGNAL: "●",
    Mark.BIRTH: "┬",
    Mark.END: "┴",
    Mark.WORLD: "■",
    Mark.FOLD: "⋮",
    Mark.FAIL: "✘",
}
ALIVE, HELD, RENEWED, EXPIRED, WRITTEN = "│", "┃", "┣", "╎", "◆"
LEGEND = "  ┃ lease, with its epoch   ╎ run out   ◆ written   ✗ dies   ✘ failed here"
LEGEND_OF_RENEWALS = "  ┃ lease, epoch   ┣ renewed   ╎ run out   ◆ written   ✗ dies   ✘ failed here"


def timeline(picture: Picture, width: int, most: int = MOST_ROWS) -> list[str]:
    """The last ``most`` rows in at most ``width`` columns; empty where the lanes leave no room for words."""
    first = max(0, len(picture.rows) - most)
    shown = picture.rows[first:]
    lanes = _touched(picture, first)
    if not shown or not lanes:
        return []
    grid = _Grid(picture, lanes)
    times = [f"{row.at:.3f}".rstrip("0").rstrip(".") for row in shown]
    places = [f":{row.line}" if row.line else "heal" for row in shown]
    wide, broad = max(4, *map(len, times)), max(4, *map(len, places))
    left = width - 2 - wide - 2 - broad - 2 - grid.width - 2
    if left < LEAST_TEXT:
        return []
    count = f"the last {len(shown)} of {len(picture.rows)} rows" if first else "complete"
    lines = [
        f"Timeline, {count}; seconds since the start:",
        f"  {'time':>{wide}}  {'line':>{broad}}  {grid.head()}".rstrip(),
    ]
    for place, row in enumerate(shown, first):
        mark = ">" if place == picture.failed else " "
        when, where = times[place - first], places[place - first]
        lines.append(
            f"{mark} {when:>{wide}}  {where:>{broad}}  {grid.cells(place)}  {_words(row, left)}".rstrip()
        )
    renewed = any(row >= first for lease in picture.leases for row in lease.renewals)
    return [*lines, LEGEND_OF_RENEWALS if renewed else LEGEND]


def _touched(picture: Picture, first: int) -> list[int]:
    """The lanes in which something is to be seen from row ``first`` on."""
    found = {row.lane for row in picture.rows[first:]} | {row.to for row in picture.rows[first:]}
    found |= {life.lane for life in picture.lives if life.last >= first}
    return [
        place
        for place, lane in enumerate(picture.lanes)
        if place in found or (lane.kind is LaneKind.STORE and any(row.writes for row in picture.rows[first:]))
    ]


def _words(row: Row, most: int) -> str:
    text = f"{row.text} [{row.status}]" if row.status and row.mark is not Mark.FAIL else row.text
    return text if len(text) <= most else text[: most - 1] + "…"


class _Grid:
    """Where lanes stand, and what is drawn of them in a row."""

    def __init__(self, picture: Picture, lanes: Sequence[int]) -> None:
        self._picture = picture
        self._names = {place: _cut(picture.lanes[place].name) for place in lanes}
        self._columns: dict[int, int] = {}
        column = 0
        for place in lanes:
            self._columns[place] = column
            column += max(3, len(self._names[place])) + GAP
        self.width = column - GAP
        store = [place for place in lanes if picture.lanes[place].kind is LaneKind.STORE]
        self._store = store[0] if store else NOWHERE
        self._lives = [each for each in picture.lives if each.lane in self._columns]
        self._leases = [each for each in picture.leases if each.lane in self._columns]

    def head(self) -> str:
        line = [" "] * self.width
        for place, column in self._columns.items():
            name = self._names[place]
            line[column : column + len(name)] = name
        return "".join(line).rstrip()

    def cells(self, place: int) -> str:
        row = self._picture.rows[place]
        line = [" "] * self.width
        for life in self._lives:
            if life.first <= place <= life.last:
                line[self._columns[life.lane]] = ALIVE
        for lease in self._leases:
            self._draw_lease(line, lease, place)
        own = self._columns.get(row.lane, NOWHERE)
        if own != NOWHERE:
            line[own] = SYMBOLS[row.mark]
        if row.writes and self._store != NOWHERE:
            line[self._columns[self._store]] = WRITTEN
        target = self._columns.get(row.to, NOWHERE)
        if NOWHERE not in (own, target) and own != target:
            self._draw_arrow(line, own, target)
        return "".join(line)

    def _draw_lease(self, line: list[str], lease: Lease, place: int) -> None:
        if not lease.first <= place <= lease.last:
            return
        column = self._columns[lease.lane] + 1
        ran_out = lease.expired != NOWHERE and place >= lease.expired
        line[column] = RENEWED if place in lease.renewals else EXPIRED if ran_out else HELD
        if place == lease.first and lease.epoch:  # else it is not known
            line[column + 1] = str(lease.epoch)[-1]

    def _draw_arrow(self, line: list[str], own: int, target: int) -> None:
        step = 1 if target > own else -1
        for column in range(own + step, target, step):
            if line[column] == " ":
                line[column] = "─"
        line[target] = "▶" if step > 0 else "◀"


def _cut(name: str) -> str:
    return name if len(name) <= MOST_NAME else name[: MOST_NAME - 1] + "…"
