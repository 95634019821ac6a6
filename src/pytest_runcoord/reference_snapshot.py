"""What is durable in the reference's store, as invariants and expectations see it."""

from __future__ import annotations

from pytest_runcoord.subject import EventSeen, RunSeen, Snapshot
from runcoord import BadRow, Coordinator, Event, Run

PAGE = 1_000
"""Rows in one page of a snapshot."""


def take_snapshot(observer: Coordinator, rows_written: int | None) -> Snapshot:
    """Every run and event, read through the public interface."""
    runs: dict[str, RunSeen] = {}
    bad: list[BadRow] = []
    after = ""
    while True:
        page = observer.runs(after=after, limit=PAGE)
        bad.extend(page.bad)
        for run in page.runs:
            runs[run.run_id] = _run_seen(run)
        if len(page.runs) + len(page.bad) < PAGE or not page.runs:
            break
        after = page.runs[-1].run_id
    events: dict[str, EventSeen] = {}
    seq = 0
    while True:
        found = observer.events(after=seq, limit=PAGE)
        bad.extend(found.bad)
        for event in found.events:
            events[event.event_id] = _event_seen(event)
        if len(found.events) + len(found.bad) < PAGE or not found.events:
            break
        seq = found.events[-1].seq
    return Snapshot(runs, events, rows_written, tuple(bad))


def _run_seen(run: Run) -> RunSeen:
    spec = run.spec
    return RunSeen(
        run.run_id,
        run.state.value,
        run.outcome.value if run.outcome is not None else None,
        run.epoch,
        run.owner,
        run.lease,
        run.stop_requested_at is not None,
        run.result,
        run.error,
        run.late,
        spec.destination,
        spec.group,
        run.line,
        run.retry_of,
        run.retried_as,
        run.progress,
        run.interruptions,
        run.result_truncated,
        {
            "task": len(spec.task),
            "agent": len(spec.agent),
            "conversation_key": len(spec.conversation_key),
            "error": len(run.error),
            "result": len(run.result),
            "progress": len(run.progress),
        },
        (
            spec.payload,
            spec.destination,
            spec.agent,
            spec.task,
            spec.conversation_key,
            spec.interruption_budget,
        ),
    )


def _event_seen(event: Event) -> EventSeen:
    return EventSeen(
        event.event_id,
        event.run_id,
        event.kind.value,
        event.state.value,
        event.destination,
        event.attempt,
        event.body,
        event.reason,
        event.due,
        event.told,
    )
