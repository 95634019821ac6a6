"""Writing to the memory store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from types import TracebackType
from typing import Any, NoReturn, TypeVar

from runcoord._core.evolving import evolved
from runcoord.errors import StoreError, VersionConflict
from runcoord.ports import Audit, Change, Event, EventState, Owner, Record, Run, Snapshot, Source, State
from runcoord.testing.memory_data import MISSING, Opener
from runcoord.testing.memory_view import MemoryView

V = TypeVar("V", Run, Event)


class MemoryTransaction(MemoryView):
    """Writes at once and remembers what was there, to put it back if the block raises."""

    def __init__(self, opener: Opener, verb: str) -> None:
        super().__init__(opener, verb)
        self._undo: list[tuple[dict[Any, Any], Any, Any]] = []
        self._rows = 0
        self._failure: StoreError | None = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        failed = kind is not None or self._failure is not None
        if failed:
            self._roll_back()
        elif self._rows:
            self._opener.counters.rows_written += self._rows
            self._opener.counters.commits += 1
        super().__exit__(kind, error, trace)
        if kind is None and self._failure is not None:
            raise self._failure

    def _roll_back(self) -> None:
        data = self._data
        for rows, key, before in reversed(self._undo):
            if before is MISSING:
                rows.pop(key, None)
            else:
                rows[key] = before
        self._undo.clear()
        # What was taken out and put back stands last now; lists are in the order of acceptance.
        for run_rows in (data.runs, data.unfinished):
            _sort(run_rows, data.run_numbers.__getitem__)
        for event_rows in (data.undelivered, data.events):
            _sort(event_rows, lambda event_id: data.events[event_id].seq)

    # --- writing ---

    def save(self, changes: Iterable[Change]) -> None:
        for change in changes:
            if change.run is not None:
                self._save_run(change.before, change.run)
            if change.command is not None:
                self._require_absent("command", self._data.commands, change.command.key)
                self._put(self._data.commands, change.command.key, change.command)
            if change.group is not None:
                self._put(self._data.groups, change.group.group_id, change.group)
            for event in change.new_events:
                self._new_event(event)
            for event in change.events:
                self._save_event(event)
            for record in change.records:
                self._save_record(record)
            for folder in change.refused:
                self._put(self._data.refused_folders, (folder.root, folder.name), folder)

    def remove_owner(self, owner: str) -> None:
        if owner in self._data.owners:
            self._put(self._data.owners, owner, MISSING)

    def mark_held_told(self) -> None:
        for event_id in self._untold_held():
            self._put(self._data.events, event_id, evolved(self._data.events[event_id], told=True))

    def remove_refused(self, root: str, names: Sequence[str]) -> None:
        for name in names:
            if (root, name) in self._data.refused_folders:
                self._put(self._data.refused_folders, (root, name), MISSING)

    def remove_runs(self, run_ids: Sequence[str]) -> None:
        data = self._data
        for run_id in run_ids:
            run = data.runs.get(run_id)
            if run is None or run.state is not State.FINISHED or self._state_unknown("runs", run_id):
                continue
            for event_id in data.events_of_run.get(run_id, ()):
                self._put(data.events, event_id, MISSING)
                self._index(data.undelivered, event_id, MISSING)
            for key in [command.key for command in data.commands.values() if command.run_id == run_id]:
                self._put(data.commands, key, MISSING)
            self._put(data.runs, run_id, MISSING)
            for record_key in [each for each in data.records if each[1] == run_id]:
                self._put(data.records, record_key, MISSING)
            for index in (data.run_numbers, data.events_of_run, data.unfinished, data.cleaning):
                self._index(index, run_id, MISSING)

    def remove_runless(self, event_ids: Sequence[str]) -> None:
        data = self._data
        for event_id in event_ids:
            event = data.events.get(event_id)
            if event is None or not self._runless_and_done(event):
                continue
            if event.group in data.groups:
                self._put(data.groups, event.group, MISSING)
            self._put(data.events, event_id, MISSING)
            others = tuple(each for each in data.events_of_run[""] if each != event_id)
            self._index(data.events_of_run, "", others)

    def _save_run(self, before: Run | None, run: Run) -> None:
        data = self._data
        if before is None:
            self._require_absent("run", data.runs, run.run_id)
            self._index(data.run_numbers, run.run_id, self._next_number("runs"))
        else:
            stored = data.runs.get(before.run_id)
            if stored is None or stored.version != before.version:
                self._conflict("run", before.run_id, "changed since it was loaded")
            run = _FIXED_OF_RUN.kept(run, stored)
            if run.source != stored.source:
                run = evolved(run, source=_source_after(stored.source, run.source))
        self._put(data.runs, run.run_id, run)
        unfinished = None if run.state is not State.FINISHED else MISSING
        self._index(data.unfinished, run.run_id, unfinished)
        waits = run.cleanup is not None and run.cleanup.due is not None
        if waits or run.run_id in data.cleaning:
            self._index(data.cleaning, run.run_id, None if waits else MISSING)

    def _save_record(self, record: Record) -> None:
        if isinstance(record, Owner):
            self._put(self._data.owners, record.owner, record)
            return
        number = 0
        if isinstance(record, Audit):
            number = record.round
        elif not isinstance(record, Snapshot):
            number = record.number
        self._put(self._data.records, (type(record), record.run_id, number), record)

    def _new_event(self, event: Event) -> None:
        data = self._data
        self._require_absent("event", data.events, event.event_id)
        of_run = (*data.events_of_run.get(event.run_id, ()), event.event_id)
        self._index(data.events_of_run, event.run_id, of_run)
        self._put_event(evolved(event, seq=self._next_number("events")))

    def _save_event(self, event: Event) -> None:
        stored = self._data.events.get(event.event_id)
        if stored is None:
            self._conflict("event", event.event_id, "is gone")
        self._put_event(_FIXED_OF_EVENT.kept(event, stored))

    def _next_number(self, table: str) -> int:
        number = self._data.last_numbers[table] + 1
        self._index(self._data.last_numbers, table, number)
        return number

    def _put_event(self, event: Event) -> None:
        self._put(self._data.events, event.event_id, event)
        undelivered = None if event.state is not EventState.DELIVERED else MISSING
        self._index(self._data.undelivered, event.event_id, undelivered)

    def _put(self, rows: dict[Any, Any], key: Any, value: Any) -> None:
        """Write or remove one row."""
        self._rows += 1
        self._count()
        self._index(rows, key, value)

    def _index(self, rows: dict[Any, Any], key: Any, value: Any) -> None:
        """Set or remove one entry, of a row or of what finds rows, and remember what was there."""
        self._undo.append((rows, key, rows.get(key, MISSING)))
        if value is MISSING:
            rows.pop(key, None)
        else:
            rows[key] = value

    def _require_absent(self, what: str, rows: dict[str, Any], key: str) -> None:
        if key in rows:
            self._conflict(what, key, "exists already")

    def _conflict(self, what: str, key: str, is_now: str) -> NoReturn:
        self._failure = VersionConflict(
            f"{what} {key!r} {is_now}; nothing of this transaction was written",
            remedy="Load it again and decide again.",
            what=what,
            key=key,
        )
        raise self._failure


class _Fixed:
    """Fields that are fixed when a row is first stored."""

    def __init__(self, *names: str) -> None:
        self._names, self._get = names, attrgetter(*names)

    def kept(self, value: V, stored: V) -> V:
        """``value`` with what is fixed as it is stored: an update changes none of that."""
        before = self._get(stored)
        if self._get(value) == before:
            return value
        return evolved(value, **dict(zip(self._names, before, strict=True)))


_FIXED_OF_RUN = _Fixed(
    "run_id", "spec", "created_at", "line", "retry_of", "interruptions", "lineage", "depth"
)
_FIXED_OF_EVENT = _Fixed("run_id", "group", "kind", "body", "created_at", "seq")


def _source_after(stored: Source | None, source: Source | None) -> Source | None:
    """Of where a run comes from, an update changes what is known of its folder."""
    if stored is None or source is None:
        return stored
    return evolved(stored, mark=source.mark, state=source.state)


def _sort(rows: dict[str, Any], order: Callable[[str], int]) -> None:
    keys = sorted(rows, key=order)
    entries = {key: rows[key] for key in keys}
    rows.clear()
    rows.update(entries)
