"""``runcoord runs`` and ``runcoord show``: looking at runs."""

from __future__ import annotations

from collections.abc import Sequence

import click

from runcoord import Instant, Run, RunList, State
from runcoord._core.limits import MAX_LIST
from runcoord.cli import documents
from runcoord.cli.failures import Exit, Failure
from runcoord.cli.portrait import Portrait
from runcoord.cli.session import UTF8, RuncoordCommand, Session, instant, leave, pass_session
from runcoord.cli.wording import counted, printable

DEFAULT_LIMIT = 100
"""Rows of a list unless told otherwise: a few screens."""


@click.command("runs", cls=RuncoordCommand)
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice([state.value for state in State]),
    metavar="STATE",
    help=f"Only runs that are {', '.join(State)}; may be repeated.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, MAX_LIST),
    default=DEFAULT_LIMIT,
    show_default=True,
    metavar="NUMBER",
    help="At most so many runs.",
)
@click.option("--after", type=UTF8, default="", metavar="RUN", help="Only runs accepted after this one.")
@pass_session
def runs(session: Session, states: Sequence[str], limit: int, after: str) -> None:
    """List runs, in the order in which they were accepted."""
    wanted = [State(state) for state in states]
    with session.open() as coordinator:
        found = coordinator.runs(states=wanted, after=after, limit=limit)
        last = found.runs[-1].run_id if found.runs else None
        more = len(found.runs) + len(found.bad) >= limit
        if more and last is not None:
            following = coordinator.runs(states=wanted, after=last, limit=1)
            more = bool(following.runs or following.bad)
        now = instant(coordinator.clock)
    if session.json:
        session.output.document(
            {
                "runs": [documents.run_summary(run, now) for run in found.runs],
                "bad": [documents.bad_row_document(row) for row in found.bad],
                "more": more,
                "after": last,
            }
        )
    else:
        _tell_runs(session, found, now, more)
    session.warn_of_bad_rows(found.bad)


def _tell_runs(session: Session, found: RunList, now: Instant, more: bool) -> None:
    from runcoord.cli.run_table import runs_table

    output, width = session.output, session.output.width
    if found.runs:
        table = runs_table(found.runs, now, width)
        output.lines(table.lines(width))
        left_out = table.left_out(width)
        if left_out:
            output.note(f"Not shown at this width: {', '.join(left_out)}.")
    elif not found.bad:
        output.note("No runs.")
    if more:
        last = printable(found.runs[-1].run_id) if found.runs else ""
        output.note(f"There are more: --after {last}" if last else "There are more: raise --limit.")


# --- one run -------------------------------------------------------------------------------------


@click.command("show", cls=RuncoordCommand)
@click.argument("run_id", metavar="RUN", type=UTF8)
@click.option("--result", "only_result", is_flag=True, help="Print the whole result, and nothing else.")
@pass_session
def show(session: Session, run_id: str, only_result: bool) -> None:
    """Show everything about one run, with its events.

    With --result only its result is printed: exactly as stored into a file or a pipe, with control
    characters escaped on a terminal.
    """
    with session.open() as coordinator:
        if only_result:
            _tell_result(session, coordinator.run(run_id))
            return
        seen = Portrait.of(coordinator, run_id)
    if session.json:
        session.output.document(seen.document())
    else:
        from runcoord.cli.portrait_text import portrait_lines

        session.output.lines(portrait_lines(seen, session.output.width))
    session.warn_of_bad_rows(seen.bad)


def _tell_result(session: Session, run: Run) -> None:
    if run.state is not State.FINISHED:
        session.output.failure(
            Failure(
                "not-finished",
                f"run {run.run_id!r} is {run.state.value} and has no result yet",
                Exit.SOMETHING_LEFT,
                "Ask again when it has finished.",
                details={"run": run.run_id, "state": run.state.value},
            )
        )
        leave(Exit.SOMETHING_LEFT)
    if session.json:
        session.output.document(
            {"run": run.run_id, "result": run.result, "result_truncated": run.result_truncated}
        )
    elif run.result:
        session.output.exact(run.result)
    else:
        session.output.note("The result is empty.")
    if run.result_truncated:
        session.output.failure(
            Failure(
                "result-truncated",
                f"only the first {counted(len(run.result), 'character')} of the result were kept",
                Exit.SOMETHING_LEFT,
                details={"run": run.run_id, "characters": len(run.result)},
            )
        )
        leave(Exit.SOMETHING_LEFT)
