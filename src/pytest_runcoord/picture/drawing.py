"""The whole picture of one history."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_runcoord.history import Entry
from pytest_runcoord.picture.bars import leases_of, lives_of
from pytest_runcoord.picture.lanes import Lanes
from pytest_runcoord.picture.model import NOWHERE, LeaseSeen, Mark, Picture, Row
from pytest_runcoord.picture.rows import table_of
from pytest_runcoord.verdict import Failure


def picture_of(
    entries: Sequence[Entry],
    seen: Sequence[LeaseSeen] = (),
    *,
    failure: Failure | None = None,
    message: str = "",
    directory: str = "",
) -> Picture:
    """The picture of a history.

    ``entries`` are numbered from 1 without a gap, as a history numbers them. ``failure`` and its one-line
    ``message`` make the last row, the moment at which it was found. ``directory`` is where the scenario kept
    its files; it is not shown.
    """
    if not entries:
        return Picture((), ())
    lanes = Lanes(entries)
    table = table_of(entries, lanes, directory, failure is not None)
    leases, more = leases_of(seen, entries, table, lanes)
    lives = lives_of(entries, table, lanes)
    rows, failed = table.rows, NOWHERE
    if failure is not None:
        failed = len(rows)
        last = entries[-1]
        rows.append(
            Row(
                Mark.FAIL,
                lanes.of(last.actor),
                NOWHERE,
                message,
                "failed",
                failure.line,
                rows[-1].at,
                rows[-1].ahead,
                stands_for=0,
            )
        )
    return Picture(tuple(lanes.lanes), tuple(rows), leases, lives, len(entries), table.left_out, more, failed)
