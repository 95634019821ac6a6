"""The JSON documents. Their keys are interface: they are described in docs/reference/command-line.md.

Times are ISO 8601 in UTC, lengths of time are seconds. A key is always there; what has no value is null, or
the empty text where the library keeps an empty text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runcoord import Deadline, Event, EventState, Instant, Run, State, SweepReport
from runcoord._core.source_texts import source_document
from runcoord.cli.wording import iso_time
from runcoord.ports import BadRow, Group, RefusedFolder

if TYPE_CHECKING:
    from runcoord import ImportReport

Document = dict[str, Any]


def run_summary(run: Run, now: Instant) -> Document:
    """A run in a list: everything short."""
    spec = run.spec
    return {
        "run": run.run_id,
        "state": run.state.value,
        "outcome": run.outcome.value if run.outcome else None,
        "reported": run.reported.value if run.reported else None,
        "owner": run.owner,
        "epoch": run.epoch,
        "lease": lease_document(run, now),
        "created_at": iso_time(run.created_at),
        "age": _seconds(now.wall - run.created_at),
        "started_at": iso_time(run.started_at),
        "finished_at": iso_time(run.finished_at),
        "stop_requested_at": iso_time(run.stop_requested_at),
        "late": run.late,
        "retry_of": run.retry_of,
        "retried_as": run.retried_as,
        "task": spec.task,
        "agent": spec.agent,
        "destination": spec.destination,
        "conversation_key": spec.conversation_key,
        "group": spec.group,
        "imported": run.source is not None,
    }


def run_document(run: Run, now: Instant) -> Document:
    """A run with all that is stored of it. ``payload`` is JSON text, exactly as stored."""
    return {
        **run_summary(run, now),
        "stop_reason": run.stop_reason,
        "progress": run.progress,
        "error": run.error,
        "result": run.result,
        "result_truncated": run.result_truncated,
        "payload": run.spec.payload,
        "line": run.line,
        "interruptions": run.interruptions,
        "interruption_budget": run.spec.interruption_budget,
        "notes": run.notes,
        "version": run.version,
        "source": _source(run),
    }


def _source(run: Run) -> Document | None:
    """The folder that it was imported from, if it was; times as everywhere here."""
    document = source_document(run.source, run.run_id)
    if document is not None and run.source is not None:
        document["imported_at"] = iso_time(run.source.imported_at)
        document["state"] = run.source.state.value
        document["claims"]["pid_recorded_at"] = iso_time(run.source.claims.pid_recorded_at)
    return document


def lease_document(run: Run, now: Instant) -> Document | None:
    """The lease, if the run has one. ``remaining`` is negative when it ran out."""
    if run.lease is None:
        return None
    remaining = run.lease.remaining(now)
    return {
        "until": iso_time(now.wall + remaining),
        "remaining": _seconds(remaining),
        "seconds": run.lease_seconds,
        "expired": remaining <= 0,
    }


def group_document(group: Group) -> Document:
    """What is known of a group of runs."""
    return {
        "group": group.group_id,
        "size": group.size,
        "destination": group.destination,
        "completed": group.completed,
        "failed": group.failed,
        "stopped": group.stopped,
        "interrupted": group.interrupted,
    }


def event_document(event: Event, now: Instant) -> Document:
    """An event. ``body`` is JSON text, exactly as it is sent; ``due`` is null unless it will be sent."""
    return {
        "event": event.event_id,
        "seq": event.seq,
        "run": event.run_id,
        "kind": event.kind.value,
        "state": event.state.value,
        "destination": event.destination,
        "attempt": event.attempt,
        "failures": event.failures,
        "owner": event.owner,
        "due": due_document(event.due, now) if waits(event) else None,
        "reason": event.reason,
        "told": event.told,
        "created_at": iso_time(event.created_at),
        "delivered_at": iso_time(event.delivered_at),
        "body": event.body,
    }


def waits(event: Event) -> bool:
    """Whether the event will be sent by itself."""
    return event.state in {EventState.PENDING, EventState.SENDING}


def due_document(due: Deadline, now: Instant) -> Document:
    remaining = due.remaining(now)
    return {"at": iso_time(now.wall + remaining), "remaining": _seconds(remaining)}


def bad_row_document(row: BadRow) -> Document:
    """A stored row that cannot be read."""
    return {"table": row.table, "key": row.key, "problem": row.problem}


def stop_document(run: Run) -> Document:
    """The answer to a stop. ``noticed`` is false while the work has yet to notice it."""
    return {
        "run": run.run_id,
        "state": run.state.value,
        "outcome": run.outcome.value if run.outcome else None,
        "noticed": run.state is State.FINISHED,
    }


def sweep_document(report: SweepReport, waiting: int, waiting_more: bool) -> Document:
    """What one sweep did, and how many events wait for a process that serves their destinations."""
    return {
        "interrupted": report.interrupted,
        "stopped": report.stopped,
        "retried": report.retried,
        "recovered": report.recovered,
        "capped": report.capped,
        "proved_dead": report.proved_dead,
        "given_back": report.given_back,
        "redelivered": report.redelivered,
        "cleaned": report.cleaned,
        "killed": report.killed,
        "cleanup_deferred": report.cleanup_deferred,
        "survived": report.survived,
        "unaudited": report.unaudited,
        "pruned": report.pruned,
        "pruned_summaries": report.pruned_summaries,
        "digest": report.digest,
        "imports": [import_document(each) for each in report.imports],
        "unfinished": report.unfinished,
        "bad": [bad_row_document(row) for row in report.bad],
        "bad_count": report.bad_count,
        "serves_destinations": False,
        "events_waiting": waiting,
        "events_waiting_more": waiting_more,
    }


def import_document(report: ImportReport) -> Document:
    """What one pass over one root of run folders did. Lists of names are cut; the counts are whole."""
    return {
        "root": report.root,
        "problem": report.problem,
        "missing": list(report.missing),
        "looked_at": report.looked_at,
        "imported": report.imported,
        "history": report.history,
        "known": report.known,
        "changed": list(report.changed),
        "changed_count": report.changed_count,
        "refused": _folders(report.refused),
        "refused_count": report.refused_count,
        "corrupt": _folders(report.corrupt),
        "corrupt_count": report.corrupt_count,
        "held": report.held,
        "routed": report.routed,
        "tombstoned": report.tombstoned,
        "tombstones_failed": report.tombstones_failed,
        "tombstone_failures": _folders(report.tombstone_failures),
        "pruned": report.pruned,
        "prunings_failed": report.prunings_failed,
        "pruning_failures": _folders(report.pruning_failures),
        "gone": report.gone,
        "unfinished": report.unfinished,
    }


def _folders(folders: list[RefusedFolder]) -> list[Document]:
    return [{"name": each.name, "kind": each.kind, "reason": each.reason} for each in folders]


def _seconds(value: float) -> float:
    return round(value, 3)
