"""The table of events: what is held is marked, with its reason below it or in the last column."""

from __future__ import annotations

from collections.abc import Sequence

from runcoord import Event, EventState, Instant
from runcoord.cli.documents import waits
from runcoord.cli.tables import Cell, Column, Table
from runcoord.cli.wording import age, duration, one_line, printable

EVENT_STYLES = {
    EventState.PENDING.value: "cyan",
    EventState.SENDING.value: "bold cyan",
    EventState.HELD.value: "bold yellow",
    EventState.DELIVERED.value: "green",
}

_EVENT_COLUMNS = 36
"""Room for an event id; those of runs with an id made here have 33 characters."""
_OVERDUE_SECONDS = 60.0
"""An event that waits longer than a sweep after it fell due: it seems that nobody serves its destination."""
_NAME_COLUMNS = 20


def events_table(events: Sequence[Event], now: Instant, width: int | None) -> Table:
    """The table of events for a terminal of ``width`` columns, or for none: there, reasons are a column."""
    on_terminal = width is not None
    columns = [
        Column("EVENT", whole=True, most=_EVENT_COLUMNS),
        Column("STATE"),
        Column("DESTINATION", most=_NAME_COLUMNS),
        Column("TRIES", right=True, leave_out=3),
        Column("DUE", right=True, leave_out=2),
        Column("AGE", right=True, leave_out=1),
    ]
    if not on_terminal:
        columns += [Column("SEQ", right=True), Column("REASON")]
    table = Table(columns)
    for number, event in enumerate(events):
        row = [
            Cell(printable(event.event_id)),
            Cell(event.state.value, EVENT_STYLES[event.state.value]),
            Cell(printable(event.destination)),
            Cell(str(event.attempt) if event.attempt else ""),
            _due_cell(event, now),
            Cell(age(now.wall - event.created_at)),
        ]
        if not on_terminal:
            row += [Cell(str(event.seq)), Cell(printable(event.reason))]
        elif event.reason:
            held = event.state is EventState.HELD
            text = f"{'held' if held else 'last try'}: {one_line(event.reason)}"
            table.below[number] = Cell(text, "yellow" if held else "dim")
        table.rows.append(row)
    return table


def _due_cell(event: Event, now: Instant) -> Cell:
    if not waits(event):
        return Cell()
    left = event.due.remaining(now)
    if left > 0:
        return Cell(duration(left))
    return Cell("overdue", "yellow") if -left > _OVERDUE_SECONDS else Cell("now")
