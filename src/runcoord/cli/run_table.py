"""The table of runs, and the words and styles for what a run is."""

from __future__ import annotations

from collections.abc import Sequence

from runcoord import Instant, Outcome, Run, State
from runcoord.cli.tables import Cell, Column, Table
from runcoord.cli.wording import age, duration, one_line, printable

RUN_STYLES = {
    State.ACCEPTED.value: "",
    State.CLAIMED.value: "cyan",
    State.RUNNING.value: "bold cyan",
    State.FINISHED.value: "dim",
    Outcome.COMPLETED.value: "green",
    Outcome.FAILED.value: "red",
    Outcome.STOPPED.value: "yellow",
    Outcome.INTERRUPTED.value: "magenta",
}

_ROOM_FOR_OUTCOME = 100
"""On narrower terminals a column of its own for the outcome would take the room of the task."""
_RUN_COLUMNS, _NARROW_RUN_COLUMNS = 36, 26
"""Room for a run id, on a wide terminal and a narrow one; ids made here have 24 characters."""
_OWNER_COLUMNS = 28
_NAME_COLUMNS = 20


def runs_table(runs: Sequence[Run], now: Instant, width: int | None) -> Table:
    """The table of runs for a terminal of ``width`` columns, or for none.

    On a narrow terminal the outcome stands in place of the state.
    """
    on_terminal = width is not None
    merged = width is not None and width < _ROOM_FOR_OUTCOME
    columns = [
        Column("RUN", whole=True, most=_NARROW_RUN_COLUMNS if merged else _RUN_COLUMNS),
        Column("STATE"),
        *([] if merged else [Column("OUTCOME")]),
        Column("LEASE", right=True, leave_out=7),
        Column("AGE", right=True),
        Column("FLAGS", leave_out=6),
        Column("EPOCH", right=True, leave_out=1),
        Column("OWNER", most=_OWNER_COLUMNS, leave_out=3),
        Column("DESTINATION", most=_NAME_COLUMNS, leave_out=4),
        Column("TASK", stretch=True, leave_out=5),
    ]
    table = Table(columns)
    for run in runs:
        outcome = run.outcome.value if run.outcome else ""
        state = outcome or run.state.value if merged else run.state.value
        table.rows.append(
            [
                Cell(printable(run.run_id)),
                Cell(state, RUN_STYLES[state]),
                *([] if merged else [Cell(outcome, RUN_STYLES.get(outcome, ""))]),
                _lease_cell(run, now),
                Cell(age(now.wall - run.created_at)),
                Cell(" ".join(flags_of(run)) if on_terminal else ",".join(flags_of(run)), "yellow"),
                Cell(str(run.epoch) if run.epoch else ""),
                Cell(printable(short_owner(run.owner) if on_terminal else run.owner)),
                Cell(printable(run.spec.destination)),
                Cell(one_line(run.spec.task) if on_terminal else printable(run.spec.task)),
            ]
        )
    return table


def _lease_cell(run: Run, now: Instant) -> Cell:
    if run.lease is None:
        return Cell()
    left = run.lease.remaining(now)
    return Cell("expired", "bold red") if left <= 0 else Cell(duration(left))


def flags_of(run: Run) -> list[str]:
    """What is out of the ordinary about a run."""
    flags = {
        "stopping": run.stop_requested_at is not None and run.state is not State.FINISHED,
        "late": run.late,
        "retry": bool(run.retry_of),
        "retried": bool(run.retried_as),
    }
    return [flag for flag, holds in flags.items() if holds]


def short_owner(owner: str) -> str:
    """``host:process`` of an owner name in the default form, without its random part; others as they are."""
    start, _, chance = owner.rpartition(":")
    random = len(chance) == 16 and all(each in "0123456789abcdef" for each in chance)
    return start if random and start else owner
