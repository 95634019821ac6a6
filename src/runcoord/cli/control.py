"""``runcoord stop`` and ``runcoord recover``: what changes runs."""

from __future__ import annotations

import click

from runcoord import Coordinator, EventState, Happened, Run, State, StoreError, SweepReport
from runcoord._clock import SystemSleeper
from runcoord._core.limits import MAX_LIST, STOP_POLL_SECONDS
from runcoord._core.values import replace
from runcoord.cli import documents
from runcoord.cli.failures import Exit, failure_of
from runcoord.cli.global_options import UTF8, RuncoordCommand, pass_session
from runcoord.cli.lengths import Length
from runcoord.cli.session import Session, instant, leave
from runcoord.cli.wording import ago, counted, duration, printable

MAX_WAIT_SECONDS = 86_400.0
"""Longest wait for a run to stop: a day. Who needs longer asks again."""
FIRST_POLL_SECONDS = 0.05
"""Pause before the first look at a stopping run; it doubles up to the interval at which holders look."""


@click.command("stop", cls=RuncoordCommand)
@click.argument("run_id", metavar="RUN", type=UTF8)
@click.option(
    "--reason", type=UTF8, default="stopped by its user", show_default=True, help="Kept with the run."
)
@click.option(
    "--wait",
    type=Length(most=MAX_WAIT_SECONDS),
    default=None,
    metavar="TIME",
    help="Wait so long for the work to notice (30s, 5m; at most a day).",
)
@pass_session
def stop(session: Session, run_id: str, reason: str, wait: float | None) -> None:
    """Ask a run to stop, durably, and say how it ended.

    Work that has not begun never will, and the run ends at once. Work under way notices the stop at its
    next look: until then the exit code is 5. The outcome of a finished run stands, and is the answer.
    """
    with session.open(changes=True) as coordinator:
        coordinator.stop(run_id, reason)
        try:
            run = coordinator.run(run_id)
            code = Exit.SOMETHING_LEFT
            try:
                run = _awaited(coordinator, session, run, wait or 0.0)
            except KeyboardInterrupt:  # only the waiting ends: what is known is still said
                code = Exit.INTERRUPTED
            now = instant(coordinator.clock)
        except StoreError as error:
            # The stop is in the store; only looking at the run failed.
            problem = f"the stop of {run_id!r} is recorded, but the run cannot be read: {error.problem}"
            session.output.failure(replace(failure_of(error), problem=problem, happened=Happened.MAYBE))
            leave(Exit.SOMETHING_LEFT)
    if session.json:
        session.output.document(documents.stop_document(run))
    else:
        lease_left = run.lease.remaining(now) if run.lease is not None else None
        session.output.sentences(_answer(run, lease_left))
    if run.state is not State.FINISHED:
        leave(code)


def _awaited(coordinator: Coordinator, session: Session, run: Run, seconds: float) -> Run:
    """The run when it has finished, or as it is after ``seconds``."""
    ports = session.ports
    sleeper = ports.sleeper if ports is not None and ports.sleeper is not None else SystemSleeper()
    end = coordinator.clock.boottime() + seconds
    pause = FIRST_POLL_SECONDS
    while run.state is not State.FINISHED:
        left = end - coordinator.clock.boottime()
        if left <= 0:
            break
        sleeper.sleep(min(pause, left))
        pause = min(2 * pause, STOP_POLL_SECONDS)
        run = coordinator.run(run.run_id)
    return run


def _answer(run: Run, lease_left: float | None) -> list[str]:
    name = printable(run.run_id)
    if run.state is State.FINISHED:
        outcome = run.outcome.value if run.outcome else "?"
        if run.stop_requested_at is None:
            return [f"{name} had ended before: {outcome}. That stands."]
        return [f"{name} ended: {outcome}."]
    lines = [f"{name} is asked to stop; its work has yet to notice."]
    if lease_left is not None and lease_left <= 0:
        lines.append(f"Its lease ran out {ago(-lease_left)}; if its owner is gone: runcoord recover.")
    elif lease_left is not None:
        later = duration(lease_left)
        lines.append(f"If its owner is gone, recovery ends it: at once if that can be proved, or in {later}.")
    return lines


# --- recovering ----------------------------------------------------------------------------------


@click.command("recover", cls=RuncoordCommand)
@pass_session
def recover(session: Session) -> None:
    """Sweep once: end started runs whose owner is gone, with what they left running, and report.

    An owner is gone when its process is proved to have ended on this machine, or when its lease ran out.
    Nothing is executed again. This process serves no destinations, so events stay pending until a process
    that does delivers them.
    """
    with session.open(changes=True) as coordinator:
        report = coordinator.recover()
        waiting = coordinator.events(states=[EventState.PENDING, EventState.SENDING], limit=MAX_LIST)
    number, capped = len(waiting.events), len(waiting.events) + len(waiting.bad) >= MAX_LIST
    report.bad += waiting.bad
    report.bad_count += len(waiting.bad)
    if session.json:
        session.output.document(documents.sweep_document(report, number, capped))
    else:
        session.output.sentences(sweep_lines(report, number, capped))
    session.warn_of_bad_rows(report.bad, report.bad_count - len(report.bad))
    if report.unfinished:
        leave(Exit.SOMETHING_LEFT)


def sweep_lines(report: SweepReport, waiting: int, capped: bool) -> list[str]:
    """What one sweep did, for people."""
    done = {
        "ended as interrupted": report.interrupted,
        "ended as stopped": report.stopped,
        "ended as its command had ended by itself": report.recovered,
        "given back by an owner that is gone, to be claimed again": report.given_back,
        "retried automatically, as a new run": report.retried,
        "had its lease cut to the longest possible, because a clock was set": report.capped,
        "removed, being old enough": report.pruned,
    }
    lines = [f"{counted(number, 'run')} {what}" for what, number in done.items() if number]
    lines += _of_processes(report)
    if report.pruned_summaries:
        what = counted(report.pruned_summaries, "delivered summary", "delivered summaries")
        lines.append(f"{what} of groups or of held events removed, being old enough")
    if report.digest:
        lines.append("a digest of held events was written")
    if not lines:
        lines.append("Looked at every run whose owner is gone or whose lease ran out: nothing to recover.")
    if report.unfinished:
        lines.append("There is more to recover than one sweep does: run it again.")
    if waiting:
        number = f"{waiting:,} or more events" if capped else counted(waiting, "event")
        stay = "stays" if waiting == 1 and not capped else "stay"
        lines.append(
            f"{number} {stay} pending: this process serves no destinations; one that does will send."
        )
    else:
        lines.append("No event waits to be delivered.")
    return lines


def _of_processes(report: SweepReport) -> list[str]:
    lines = []
    if report.redelivered:
        lines.append(f"{counted(report.redelivered, 'delivery', 'deliveries')} under way begun anew")
    if report.killed:
        lines.append(f"{counted(report.killed, 'process', 'processes')} left running ended")
    if report.survived:
        lines.append(
            f"{counted(report.survived, 'run')} with processes that may be alive: see runcoord show RUN"
        )
    if report.cleanup_deferred:
        what = counted(report.cleanup_deferred, "run")
        lines.append(f"{what} with processes that cannot be dealt with now: tried again later")
    if report.unaudited:
        what = counted(report.unaudited, "run")
        lines.append(f"{what} of which nobody was signalled: what was intended could not be written down")
    return lines
