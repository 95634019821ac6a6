"""``runcoord runs`` and ``runcoord show``: looking at runs."""

from __future__ import annotations

from collections.abc import Sequence

import click

from runcoord import Coordinator, Instant, Result, RunList, State
from runcoord._core.limits import MAX_RESULT_READ_BYTES
from runcoord.cli import documents, paging
from runcoord.cli.failures import Exit, Failure
from runcoord.cli.global_options import UTF8, RuncoordCommand, pass_session
from runcoord.cli.portrait import Portrait
from runcoord.cli.session import Session, instant, leave
from runcoord.cli.wording import counted


@click.command("runs", cls=RuncoordCommand)
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice([state.value for state in State]),
    metavar="STATE",
    help=f"Only runs that are {', '.join(State)}; may be repeated.",
)
@paging.limit_option("runs")
@paging.oldest_option("runs")
@click.option(
    "--after",
    type=UTF8,
    default="",
    metavar="RUN",
    help="Go on after this run: with those accepted before it, with --oldest after it.",
)
@pass_session
@click.pass_context
def runs(
    ctx: click.Context, session: Session, states: Sequence[str], limit: int, oldest: bool, after: str
) -> None:
    """List the runs that were accepted last; the newest is the last line.

    As JSON the newest is the first.
    """
    wanted = [State(state) for state in states]
    with session.open() as coordinator:
        found = coordinator.runs(states=wanted, after=after, newest_first=not oldest, limit=limit)
        last = found.runs[-1].run_id if found.runs else None
        more = len(found.runs) + len(found.bad) >= limit
        if more and last is not None:
            following = coordinator.runs(states=wanted, after=last, newest_first=not oldest, limit=1)
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
        _tell_runs(session, found, oldest, now)
        if more:
            paging.tell_of_more(ctx, session, last)
    session.warn_of_bad_rows(found.bad)


def _tell_runs(session: Session, found: RunList, oldest: bool, now: Instant) -> None:
    from runcoord.cli.run_table import runs_table

    output = session.output
    if found.runs:
        page = paging.oldest_above(found.runs, oldest=oldest)
        paging.tell_table(output, runs_table(page, now, output.width))
    elif not found.bad:
        output.note("No runs.")


# --- one run -------------------------------------------------------------------------------------


@click.command("show", cls=RuncoordCommand)
@click.argument("run_id", metavar="RUN", type=UTF8)
@click.option("--result", "only_result", is_flag=True, help="Print the whole result, and nothing else.")
@click.option(
    "--as-scenario", is_flag=True, help="Print it as a scenario for pytest, to start a reproduction from."
)
@pass_session
def show(session: Session, run_id: str, only_result: bool, as_scenario: bool) -> None:
    """Show everything about one run, with its events.

    With --result only its result is printed: exactly as stored into a file or a pipe, with control
    characters escaped on a terminal.

    With --as-scenario what the store knows of the run is written as steps and expectations, without its
    inputs, texts and result. Save it as NAME.runcoord.yaml and run it with pytest -p runcoord.
    """
    if only_result and as_scenario:
        raise click.UsageError("--result and --as-scenario are two things; ask for one of them")
    with session.open() as coordinator:
        if only_result:
            _tell_result(session, coordinator, run_id)
            return
        seen = Portrait.of(coordinator, run_id)
    if as_scenario:
        _tell_scenario(session, seen)
    elif session.json:
        session.output.document(seen.document())
    else:
        from runcoord.cli.portrait_text import portrait_lines

        session.output.lines(portrait_lines(seen, session.output.width))
    session.warn_of_bad_rows(seen.bad)


def _tell_scenario(session: Session, seen: Portrait) -> None:
    from runcoord.cli.as_scenario import scenario_text

    text = scenario_text(seen)
    if session.json:
        session.output.document({"run": seen.run.run_id, "scenario": text})
    else:
        session.output.exact(text)


def _tell_result(session: Session, coordinator: Coordinator, run_id: str) -> None:
    run = coordinator.run(run_id)
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
    result = coordinator.read_result(run_id, limit=MAX_RESULT_READ_BYTES)
    if session.json:
        session.output.document(
            {
                "run": run.run_id,
                "result": result.text,
                "result_truncated": result.truncated,
                "size": result.size,
                "where": result.where,
            }
        )
    elif result.text:
        session.output.exact(result.text)
    else:
        session.output.note("The result is empty.")
    if result.truncated:
        session.output.failure(_truncated(run_id, result))
        leave(Exit.SOMETHING_LEFT)


def _truncated(run_id: str, result: Result) -> Failure:
    """There is more of the result than was printed: left out when it was stored, or left in its file."""
    size = counted(len(result.text), "character")
    details = {"run": run_id, "characters": len(result.text), "where": result.where}
    if not result.where:
        problem, remedy = f"only the first {size} of the result were kept", ""
    else:
        problem = f"only the first {size} of the result are shown, of {counted(result.size, 'byte')}"
        remedy = f"All of it: {result.where}"
    return Failure("result-truncated", problem, Exit.SOMETHING_LEFT, remedy, details=details)
