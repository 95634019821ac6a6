"""Reading from the memory store."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from runcoord._core.deliveries import may_send
from runcoord.errors import UndecodableRow, UnknownRun
from runcoord.ports import (
    Audit,
    BadRow,
    ClosableFolders,
    Command,
    Deadline,
    Event,
    EventKind,
    EventState,
    Group,
    Held,
    Instant,
    KnownFolders,
    Owner,
    RecordedProcess,
    RefusedFolder,
    Run,
    RunRecord,
    Snapshot,
    Source,
    SourceState,
    State,
    Teardown,
)
from runcoord.testing.memory_data import Opener

if TYPE_CHECKING:
    from runcoord._store_ports import R


class MemoryView:
    """Holds the lock for its whole block, so everything in it is one state."""

    def __init__(self, opener: Opener, verb: str) -> None:
        self._opener, self._data, self._verb = opener, opener.data, verb
        self._counters = opener.counters
        self._open = False

    def __enter__(self) -> Self:
        self._data.take(self._opener)
        self._open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open = False
        self._data.give_back()

    def _count(self, statements: int = 1) -> None:
        if not self._open:
            raise RuntimeError(f"the block of {self._verb!r} has ended; its view cannot be used any more")
        self._counters.statements += statements

    # --- bad rows ---

    def _require_decodable(self, table: str, key: str) -> None:
        planted = self._data.planted.get((table, key)) if self._data.planted else None
        if planted:
            raise UndecodableRow(
                f"row {key!r} of {table} cannot be understood: {planted[0]} is {planted[1]!r}",
                remedy="Only this row is affected.",
                table=table,
                key=key,
            )

    def _good(self, table: str, keys: Iterable[str], bad: list[BadRow] | None) -> list[str]:
        if not self._data.planted:
            return list(keys)
        good = []
        for key in keys:
            try:
                self._require_decodable(table, key)
            except UndecodableRow as error:
                if bad is not None:
                    bad.append(BadRow.of(error))
            else:
                good.append(key)
        return good

    def _state_unknown(self, table: str, key: str) -> bool:
        return self._data.planted.get((table, key), ("",))[0] == "state"

    def _one(self, table: str, rows: dict[str, Any], key: str) -> Any:
        self._count()
        self._require_decodable(table, key)
        return rows.get(key)

    # --- single look-ups ---

    def run(self, run_id: str) -> Run | None:
        found: Run | None = self._one("runs", self._data.runs, run_id)
        return found

    def command(self, key: str) -> Command | None:
        found: Command | None = self._one("commands", self._data.commands, key)
        return found

    def event(self, event_id: str) -> Event | None:
        found: Event | None = self._one("events", self._data.events, event_id)
        return found

    def group(self, group_id: str) -> Group | None:
        found: Group | None = self._one("groups", self._data.groups, group_id)
        return found

    # --- lists of runs ---

    def runs(
        self,
        *,
        states: Sequence[State] = (),
        after: str = "",
        newest_first: bool = False,
        limit: int,
        bad: list[BadRow] | None = None,
    ) -> list[Run]:
        self._count()
        data = self._data
        if after and after not in data.runs:
            raise UnknownRun(f"there is no run {after!r} to continue after", run=after)
        found: Iterable[str] = reversed(data.runs) if newest_first else data.runs
        if after:
            numbers, start = data.run_numbers, data.run_numbers[after]
            found = [each for each in found if _goes_on(numbers[each], start, newest_first)]
        if states:
            rows, unknown = data.runs, self._state_unknown
            found = [each for each in found if rows[each].state in states or unknown("runs", each)]
        return [data.runs[run_id] for run_id in self._good("runs", islice(found, limit), bad)]

    def claimable(self, now: Instant, limit: int) -> list[str]:
        self._count()
        accepted, expired = [], []
        for run in self._unfinished():
            if run.state is State.ACCEPTED:
                accepted.append(run.run_id)
            elif run.state is State.CLAIMED and run.lease is not None and run.lease.passed(now):
                expired.append(run.run_id)
        return (accepted + expired)[:limit]

    def recoverable(self, now: Instant, limit: int, after: str = "") -> list[str]:
        self._count()
        found = {
            run.run_id
            for run in self._unfinished()
            if run.run_id > after
            and run.lease is not None
            and (run.lease.implausible(now) or (run.state is State.RUNNING and run.lease.passed(now)))
        }
        for run_id in self._data.cleaning:
            due = _cleanup_due(self._data.runs[run_id])
            if run_id > after and due is not None and (due.passed(now) or due.implausible(now)):
                found.add(run_id)
        found |= {
            key
            for (table, key), (column, _) in self._data.planted.items()
            if table == "runs" and key > after and column in {"state", "lease_boottime"}
        }
        return sorted(found)[:limit]

    def _unfinished(self) -> list[Run]:
        return [self._data.runs[each] for each in self._with_known_state("runs", self._data.unfinished)]

    def _with_known_state(self, table: str, keys: Iterable[str]) -> Iterable[str]:
        return [each for each in keys if not self._state_unknown(table, each)] if self._data.planted else keys

    def finished_before(self, wall: float, limit: int) -> list[str]:
        self._count()
        data = self._data
        found = [
            (run.finished_at, data.run_numbers[run_id], run_id)
            for run_id, run in data.runs.items()
            if run.finished_at is not None
            and run.finished_at < wall
            and not self._state_unknown("runs", run_id)
            and run_id not in data.cleaning
            and (run.source is None or run.source.state is SourceState.GONE)
            and not (run.retry_of in data.runs and data.runs[run.retry_of].retried_as == run_id)
            and not any(event_id in data.undelivered for event_id in data.events_of_run.get(run_id, ()))
        ]
        return [run_id for _, _, run_id in sorted(found)[:limit]]

    # --- run folders ---

    def known_folders(self, root: str, after: str, last: str, limit: int) -> KnownFolders:
        self._count(3)
        sources = self._sources(root, after, last)
        refused = {
            name: folder
            for (where, name), folder in sorted(self._data.refused_folders.items())
            if where == root and after < name <= last
        }
        for names in (list(sources)[:limit], list(refused)[:limit]):
            if len(names) == limit:
                last = min(last, names[-1])
        good = self._good("refused_folders", [f"{root}/{name}" for name in refused], None)
        return KnownFolders(
            {name: source.mark for name, source in sources.items() if name <= last},
            frozenset(
                name for name, each in sources.items() if each.state is SourceState.GONE and name <= last
            ),
            {name: refused[name] for name in refused if name <= last and f"{root}/{name}" in good},
            last,
        )

    def closable_folders(
        self, root: str, after: str, last: str, ended_before: float | None = None
    ) -> ClosableFolders:
        self._count(1 if ended_before is None else 2)
        data = self._data
        told = {
            name: source.state
            for name, source in self._sources(root, after, last).items()
            if f"{name}/finished" not in data.undelivered
        }
        before = -math.inf if ended_before is None else ended_before
        old = [name for name, state in told.items() if state is SourceState.CLOSED]
        return ClosableFolders(
            tuple(name for name, state in told.items() if state is SourceState.OPEN),
            tuple(name for name in old if (data.runs[name].finished_at or 0.0) < before),
        )

    def _sources(self, root: str, after: str, last: str) -> dict[str, Source]:
        return {
            run_id: run.source
            for run_id, run in sorted(self._data.runs.items())
            if run.source is not None and run.source.root == root and after < run_id <= last
        }

    def refused_folders(
        self, *, after: tuple[str, str] = ("", ""), limit: int, bad: list[BadRow] | None = None
    ) -> list[RefusedFolder]:
        self._count()
        if not self._data.refused_folders:
            return []
        keys = {f"{root}/{name}": (root, name) for root, name in self._data.refused_folders}
        found = sorted((key, text) for text, key in keys.items() if key > after)[:limit]
        good = self._good("refused_folders", [text for _, text in found], bad)
        return [self._data.refused_folders[keys[text]] for text in good]

    def known_runs(self, run_ids: Sequence[str]) -> set[str]:
        self._count()
        return {run_id for run_id in run_ids if run_id in self._data.runs}

    # --- owners and processes ---

    def records(self, kind: type[R], run_id: str, *, limit: int, bad: list[BadRow] | None = None) -> list[R]:
        self._count()
        stored = self._data.records
        keys = sorted((each for each in stored if each[:2] == (kind, run_id)), key=lambda key: key[2])[:limit]
        found: list[R] = []
        for key in keys:
            record = stored[key]
            if isinstance(record, kind) and self._good(TABLES[kind], [key_text(key)], bad):
                found.append(record)
        return found

    def owners(self, limit: int, after: str = "", bad: list[BadRow] | None = None) -> list[Owner]:
        self._count()
        found = sorted(owner for owner in self._data.owners if owner > after)[:limit]
        return [self._data.owners[owner] for owner in self._good("owners", found, bad)]

    def held_by(self, owner: str, limit: int, after: str = "") -> Held:
        self._count(2)
        runs = {run.run_id for run in self._unfinished() if run.owner == owner and run.lease is not None}
        runs |= {run_id for run_id in self._data.cleaning if self._data.runs[run_id].owner == owner}
        sending = [
            event.event_id
            for event in self._undelivered()
            if event.state is EventState.SENDING and event.owner == owner
        ]
        return Held(tuple(sorted(each for each in runs if each > after)[:limit]), tuple(sending[:limit]))

    def count_unfinished(self, lineage: str) -> int:
        self._count()
        return sum(run.lineage == lineage for run in map(self._data.runs.__getitem__, self._data.unfinished))

    def runless_before(self, wall: float, limit: int) -> list[str]:
        self._count()
        found = [
            (event.delivered_at, event.seq, event.event_id)
            for event_id in self._data.events_of_run.get("", ())
            if self._runless_and_done(event := self._data.events[event_id])
            and event.delivered_at is not None
            and event.delivered_at < wall
        ]
        return [event_id for _, _, event_id in sorted(found)[:limit]]

    def _runless_and_done(self, event: Event) -> bool:
        """Whether it is delivered, belongs to no run, and no run is left of its group."""
        done = event.state is EventState.DELIVERED and not self._state_unknown("events", event.event_id)
        members = event.group and any(run.spec.group == event.group for run in self._data.runs.values())
        return done and not event.run_id and not members

    def load_runs(self, run_ids: Sequence[str], bad: list[BadRow]) -> list[Run]:
        self._count()
        runs = self._data.runs
        return [runs[run_id] for run_id in self._good("runs", filter(runs.__contains__, run_ids), bad)]

    # --- lists of events ---

    def events(
        self,
        *,
        states: Sequence[EventState] = (),
        run_id: str = "",
        after: int = 0,
        newest_first: bool = False,
        limit: int,
        bad: list[BadRow] | None = None,
    ) -> list[Event]:
        self._count()
        data = self._data
        ids = data.events_of_run.get(run_id, ()) if run_id else data.events
        found: Iterable[str] = reversed(ids) if newest_first else ids
        rows = data.events
        if after:
            found = [each for each in found if _goes_on(rows[each].seq, after, newest_first)]
        if states:
            unknown = self._state_unknown
            found = [each for each in found if rows[each].state in states or unknown("events", each)]
        return [rows[event_id] for event_id in self._good("events", islice(found, limit), bad)]

    def sendable(self, now: Instant, owner: str, limit: int, without: Sequence[str] = ()) -> list[str]:
        self._count()
        found = [
            event.event_id
            for event in self._undelivered()
            if event.destination not in without
            and (may_send(event, now) or (event.state is EventState.SENDING and event.owner == owner))
        ]
        return found[:limit]

    def next_due(self) -> Deadline | None:
        self._count()
        waiting = [event.due for event in self._undelivered() if event.state is not EventState.HELD]
        if not waiting:
            return None
        boots = sorted({due.boot_id for due in waiting})
        first = min(due.boottime for due in waiting) if len(boots) == 1 else -math.inf
        return Deadline(-math.inf, first, boots[0])

    def untold_held(self, limit: int) -> list[Event]:
        self._count()
        found = self._untold_held()
        return [self._data.events[event_id] for event_id in self._good("events", found[:limit], None)]

    def count_untold_held(self) -> int:
        self._count()
        return len(self._untold_held())

    def _untold_held(self) -> list[str]:
        return [
            event.event_id
            for event in self._undelivered()
            if event.state is EventState.HELD and not event.told and event.kind is not EventKind.DIGEST
        ]

    def _undelivered(self) -> list[Event]:
        return [self._data.events[each] for each in self._with_known_state("events", self._data.undelivered)]

    def load_events(self, event_ids: Sequence[str], bad: list[BadRow]) -> list[Event]:
        self._count()
        events = self._data.events
        return [events[key] for key in self._good("events", filter(events.__contains__, event_ids), bad)]


TABLES: dict[type[RunRecord], str] = {
    RecordedProcess: "processes",
    Audit: "audits",
    Teardown: "teardowns",
    Snapshot: "snapshots",
}


def key_text(key: tuple[type[RunRecord], str, int]) -> str:
    """The key of a record as bad rows name it."""
    _, run_id, number = key
    return f"{run_id}/{number}" if number else run_id


def _cleanup_due(run: Run) -> Deadline | None:
    return None if run.cleanup is None else run.cleanup.due


def _goes_on(number: int, after: int, newest_first: bool) -> bool:
    """Whether a list that goes on after the number ``after`` has this one."""
    return number < after if newest_first else number > after
