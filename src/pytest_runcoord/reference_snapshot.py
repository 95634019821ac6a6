"""What is durable in the reference's store, as invariants and expectations see it."""

from __future__ import annotations

import json
from typing import Any

from pytest_runcoord.subject import EventSeen, RefusedSeen, RunSeen, Snapshot
from runcoord import BadRow, Event, Run
from runcoord.ports import Audit, Store, Teardown, View
from runcoord.ports import Snapshot as GitSnapshot
from runcoord.values import replace

CLAIMS = ("destination", "conversation_key", "pid", "pid_recorded_at")
PAGE = 1_000
"""Rows in one page of a snapshot."""
UNSAID: dict[str, Any] = {
    name: vars(RunSeen)[name] for name in RunSeen.__match_args__ if name in vars(RunSeen)
}
"""What a run has that nothing is said about: the defaults of its class, which has no slots."""


class Onlooker:
    """Reads every run and event of a store in one view. What is as it was last time is not made anew."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._runs: dict[str, tuple[Run, RunSeen]] = {}
        self._events: dict[str, tuple[Event, EventSeen]] = {}

    def look(self, rows_written: int | None) -> Snapshot:
        """What is durable now."""
        runs: dict[str, RunSeen] = {}
        events: dict[str, EventSeen] = {}
        bad: list[BadRow] = []
        with self._store.view("snapshot") as view:
            for run in _all_runs(view, bad):
                runs[run.run_id] = self._run(run, view, bad)
            refused = _all_refused(view, bad)
            for event in _all_events(view, bad):
                events[event.event_id] = self._event(event)
        return Snapshot(runs, events, rows_written, tuple(bad), refused)

    def close(self) -> None:
        self._store.close()

    def _run(self, run: Run, view: View, bad: list[BadRow]) -> RunSeen:
        known = self._runs.get(run.run_id)
        if run.cleanup is not None:
            seen = with_processes(run, _run_seen(run), view, bad)
            if known is not None and known[1] == seen:
                return known[1]
        elif known is not None and (
            # Another version is another run, which is seen without comparing all of its fields.
            known[0] is run or (known[0].version == run.version and known[0] == run)
        ):
            return known[1]
        else:
            seen = _run_seen(run)
        self._runs[run.run_id] = (run, seen)
        return seen

    def _event(self, event: Event) -> EventSeen:
        known = self._events.get(event.event_id)
        if known is not None and (known[0] is event or known[0] == event):
            return known[1]
        seen = _event_seen(event)
        self._events[event.event_id] = (event, seen)
        return seen


def _all_runs(view: View, bad: list[BadRow]) -> list[Run]:
    known = len(bad)
    found = page = view.runs(limit=PAGE, bad=bad)
    while page and len(page) + len(bad) - known >= PAGE:
        known = len(bad)
        page = view.runs(after=found[-1].run_id, limit=PAGE, bad=bad)
        found = found + page
    return found


def _all_events(view: View, bad: list[BadRow]) -> list[Event]:
    known = len(bad)
    found = page = view.events(limit=PAGE, bad=bad)
    while page and len(page) + len(bad) - known >= PAGE:
        known = len(bad)
        page = view.events(after=found[-1].seq, limit=PAGE, bad=bad)
        found = found + page
    return found


def _all_refused(view: View, bad: list[BadRow]) -> tuple[RefusedSeen, ...]:
    seen: list[RefusedSeen] = []
    after = ("", "")
    while page := view.refused_folders(after=after, limit=PAGE, bad=bad):
        seen += [RefusedSeen(each.root, each.name, each.kind, each.reason) for each in page]
        after = page[-1].root, page[-1].name
    return tuple(seen)


def _source_seen(run: Run) -> dict[str, Any] | None:
    """Where a run was imported from, in plain values."""
    source = run.source
    if source is None:
        return None
    claims, kept = source.claims, source.result
    return {
        "root": source.root,
        "mark": source.mark,
        "state": source.state.value,
        "imported_at": source.imported_at,
        "claims": {name: getattr(claims, name) for name in CLAIMS},
        "result": None if kept is None else {"file": kept.file, "size": kept.size},
        "notes": list(source.notes),
    }


def _run_seen(run: Run) -> RunSeen:
    spec, outcome, error, result, progress = run.spec, run.outcome, run.error, run.result, run.progress
    seen = object.__new__(RunSeen)
    seen.__dict__.update(  # the constructor of a frozen class sets each field by a call
        UNSAID,
        run_id=run.run_id,
        state=run.state.value,
        outcome=None if outcome is None else outcome.value,
        epoch=run.epoch,
        owner=run.owner,
        lease=run.lease,
        stop_requested=run.stop_requested_at is not None,
        result=result,
        error=error,
        late=run.late,
        destination=spec.destination,
        group=spec.group,
        line=run.line,
        retry_of=run.retry_of,
        retried_as=run.retried_as,
        progress=progress,
        interruptions=run.interruptions,
        result_truncated=run.result_truncated,
        sizes={
            "task": len(spec.task),
            "agent": len(spec.agent),
            "conversation_key": len(spec.conversation_key),
            "error": len(error),
            "result": len(result),
            "progress": len(progress),
        },
        inputs=(
            spec.payload,
            spec.destination,
            spec.agent,
            spec.task,
            spec.conversation_key,
            spec.interruption_budget,
        ),
        source=_source_seen(run),
    )
    return seen


def with_processes(run: Run, seen: RunSeen, view: View, bad: list[BadRow]) -> RunSeen:
    """The same with what is stored about the run's processes."""
    cleanup = run.cleanup
    assert cleanup is not None
    teardowns = view.records(Teardown, run.run_id, limit=PAGE, bad=bad)
    audits = view.records(Audit, run.run_id, limit=PAGE, bad=bad)
    git = [
        {"state": each.state.value, "directory": each.directory, "report": json.loads(each.report or "{}")}
        for each in view.records(GitSnapshot, run.run_id, limit=1, bad=bad)
    ]
    return replace(
        seen,
        cleanup=cleanup.state.value,
        survivors=tuple(each.pid for each in cleanup.survivors),
        survivors_unnamed=cleanup.unnamed,
        teardowns=tuple(each.report.document() for each in teardowns),
        audits=tuple((each.intent, each.result) for each in audits),
        exit_status=run.exit_status,
        git=git[0] if git else None,
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
