"""A view: reading over one connection, within one read transaction or one write transaction."""

from __future__ import annotations

import heapq
import json
import math
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType

from runcoord._core.limits import (
    DELIVERY_CLAIM_SECONDS,
    MAX_DELIVERY_BACKOFF_SECONDS,
    MAX_LEASE_SECONDS,
)
from runcoord._core.model import Command, Deadline, Event, EventState, Group, Instant, Run, State
from runcoord._core.records import Held, Owner
from runcoord._core.values import value
from runcoord._stores import records, rows, statements
from runcoord._stores.connections import Connections, Link, forked_in_use
from runcoord._stores.failures import BINDING_ERRORS, is_bad_text, is_locked, translated
from runcoord._stores.paging import BothWays
from runcoord._stores.rows import Decoder, Row
from runcoord._stores.waiting import LockWait
from runcoord.errors import StoreError, UndecodableRow, UnknownRun
from runcoord.ports import BadRow, ClosableFolders, KnownFolders, RefusedFolder

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import Self, TypeVar

    from runcoord._store_ports import R

    T = TypeVar("T")

Params = Sequence[object] | dict[str, object]
_HIGHEST_SEQ = 2**63 - 1
"""SQLite gives no higher number to a row."""


@value
class _Page:
    """Part of a list that is ordered by ``seq``: what comes after the number ``after``, from the beginning
    if that is 0."""

    after: int
    newest_first: bool
    limit: int

    def bounds(self) -> dict[str, object]:
        """The parameters of :class:`~runcoord._stores.paging.BothWays`."""
        if not self.newest_first:
            return {"after": self.after, "limit": self.limit}
        return {"last": self.after - 1 if self.after else _HIGHEST_SEQ, "limit": self.limit}

    def merged(self, lists: list[list[Row]]) -> list[Row]:
        """The page of all that is in several lists; their rows begin with ``seq``."""
        if len(lists) == 1:
            return lists[0]
        merged = heapq.merge(*lists, key=lambda row: row[0], reverse=self.newest_first)
        return [row for row, _ in zip(merged, range(self.limit), strict=False)]


class SqliteView:
    """Everything that one block reads is one state of the store."""

    def __init__(self, connections: Connections, wait: LockWait, verb: str) -> None:
        self._connections, self._wait, self._verb = connections, wait, verb
        self._statements = self._rows_written = 0
        self._link: Link | None = None

    # --- the transaction ---

    def __enter__(self) -> Self:
        self._link = self._connections.take(self)
        try:
            self._control(statements.BEGIN_READ)
        except BaseException:
            self._leave(spoiled=True)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        spoiled = True
        try:
            if self._inherited:
                return
            # Nothing was written, so there is nothing that a failure could undo.
            self._connection.execute(statements.COMMIT)
            spoiled = False
        except sqlite3.Error:
            pass
        finally:
            self._leave(spoiled=spoiled)

    def _leave(self, *, spoiled: bool) -> None:
        link = self._link
        if link is not None:
            self._connections.give_back(
                link, spoiled=spoiled, statements=self._statements, rows_written=self._rows_written
            )
            self._link = None

    @property
    def _path(self) -> str:
        return self._connections.path

    @property
    def _inherited(self) -> bool:
        return self._link is not None and self._link.inherited

    @property
    def _connection(self) -> sqlite3.Connection:
        link = self._link
        if link is not None and link.connection is not None:
            return link.connection
        if link is not None and link.inherited:
            raise forked_in_use(self._path)
        raise RuntimeError(f"the block of {self._verb!r} has ended; its view cannot be used any more")

    def _control(self, statement: str) -> None:
        """A statement of transaction control, repeated while the store is locked."""
        connection = self._connection
        try:
            connection.execute(statement)
        except sqlite3.Error as error:
            self._failed(error, lambda: connection.execute(statement))

    def _rows(self, statement: str, params: Params = ()) -> list[Row]:
        self._statements += 1
        connection = self._connection
        try:
            return connection.execute(statement, params).fetchall()
        except BINDING_ERRORS as error:
            if is_bad_text(error):
                return self._lenient_rows(statement, params)
            return self._failed(error, lambda: connection.execute(statement, params).fetchall())

    def _failed(self, error: Exception, again: Callable[[], T]) -> T:
        """Repeat a call that met a lock; raise what any other error means. No COMMIT, so nothing happened."""
        try:
            if isinstance(error, sqlite3.Error) and is_locked(error):
                return self._wait.repeat(again, error, self._path, self._verb)
            raise error
        except StoreError:
            raise
        except Exception as last:
            raise translated(last, self._path, self._verb) from last

    def _lenient_rows(self, statement: str, params: Params) -> list[Row]:
        """The rows of a result in which some text is not UTF-8; that text comes as bytes, which no decoder
        accepts, so only its row falls out."""
        connection = self._connection
        connection.text_factory = _text_or_bytes
        try:
            return connection.execute(statement, params).fetchall()
        except sqlite3.Error as error:
            raise translated(error, self._path, self._verb) from error
        finally:
            connection.text_factory = str

    def _one(self, statement: str, key: str, decode: Decoder[T]) -> T | None:
        found = self._rows(statement, (key,))
        return decode(found[0]) if found else None

    def _ids(self, statement: str, params: Params) -> list[str]:
        # An id that is no text cannot be asked for; its row is named by the lists of values.
        return [key for (key,) in self._rows(statement, params) if type(key) is str]

    def _by_keys(self, statement_for: Callable[[int], str], keys: Sequence[str]) -> list[Row]:
        found: list[Row] = []
        for start in range(0, len(keys), statements.KEYS_A_STATEMENT):
            some = keys[start : start + statements.KEYS_A_STATEMENT]
            found += self._rows(statement_for(len(some)), some)
        return found

    # --- single look-ups ---

    def run(self, run_id: str) -> Run | None:
        return self._one(statements.RUN_BY_ID, run_id, rows.decode_run)

    def command(self, key: str) -> Command | None:
        return self._one(statements.COMMAND_BY_KEY, key, rows.decode_command)

    def event(self, event_id: str) -> Event | None:
        return self._one(statements.EVENT_BY_ID, event_id, rows.decode_event)

    def group(self, group_id: str) -> Group | None:
        return self._one(statements.GROUP_BY_ID, group_id, rows.decode_group)

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
        page = _Page(self._run_number(after) if after else 0, newest_first, limit)
        lists = [self._page_of(statements.RUNS_UNKNOWN if states else statements.RUNS_ALL, page)]
        for state in set(states):
            if state is State.FINISHED:
                lists.append(self._page_of(statements.RUNS_FINISHED, page))
            elif state is State.ACCEPTED:
                lists.append(self._page_of(statements.RUNS_ACCEPTED, page))
            else:
                lists.append(self._page_of(statements.RUNS_LEASED, page, state=state.value))
        return _decoded((row[1:] for row in page.merged(lists)), rows.decode_run, bad)

    def _run_number(self, run_id: str) -> int:
        found = self._rows(statements.RUN_SEQ, (run_id,))
        if not found:
            raise UnknownRun(
                f"there is no run {run_id!r} to continue after",
                remedy="It was pruned, or never was; start from the beginning.",
                run=run_id,
            )
        return int(found[0][0])

    def _page_of(self, listed: BothWays, page: _Page, **more: object) -> list[Row]:
        text = listed.newest_first if page.newest_first else listed.oldest_first
        return self._rows(text, {**page.bounds(), **more})

    def claimable(self, now: Instant, limit: int) -> list[str]:
        found = self._ids(statements.CLAIMABLE_ACCEPTED, {"limit": limit})
        if len(found) < limit:
            found += self._ids(statements.CLAIMABLE_EXPIRED, {**_clocks(now), "limit": limit - len(found)})
        return found

    def recoverable(self, now: Instant, limit: int, after: str = "") -> list[str]:
        params = {**_clocks(now), "cap": MAX_LEASE_SECONDS, "limit": limit, "after": after}
        return self._ids(statements.RECOVERABLE, params)

    def finished_before(self, wall: float, limit: int) -> list[str]:
        return self._ids(statements.FINISHED_BEFORE, {"wall": wall, "limit": limit})

    # --- owners and processes ---

    def records(self, kind: type[R], run_id: str, *, limit: int, bad: list[BadRow] | None = None) -> list[R]:
        found = self._rows(records.OF_RUN[kind], {"run_id": run_id, "limit": limit})
        return _decoded(found, records.KINDS[kind].decode, bad)

    def owners(self, limit: int, after: str = "", bad: list[BadRow] | None = None) -> list[Owner]:
        found = self._rows(statements.OWNERS, {"after": after, "limit": limit})
        return _decoded(found, records.KINDS[Owner].decode, bad)

    def held_by(self, owner: str, limit: int, after: str = "") -> Held:
        whose = {"owner": owner, "limit": limit}
        return Held(
            tuple(self._ids(statements.RUNS_OF_OWNER, {**whose, "after": after})),
            tuple(self._ids(statements.EVENTS_OF_OWNER, whose)),
        )

    def count_unfinished(self, lineage: str) -> int:
        [(count,)] = self._rows(statements.COUNT_UNFINISHED, {"lineage": lineage})
        return int(count)

    def runless_before(self, wall: float, limit: int) -> list[str]:
        return self._ids(statements.RUNLESS_BEFORE, {"wall": wall, "limit": limit})

    # --- run folders ---

    def known_folders(self, root: str, after: str, last: str, limit: int) -> KnownFolders:
        from runcoord._stores import folder_statements  # most stores have no folders

        params: dict[str, object] = {"root": root, "after": after, "last": last, "limit": limit}
        marks: dict[str, str] = dict(self._rows(folder_statements.KNOWN_MARKS, params))
        found = self._rows(folder_statements.REFUSED_FOLDERS, params)
        for some in (marks, [row[1] for row in found]):
            if len(some) == limit:
                last = min(last, next(reversed(some)))
        params["last"] = last
        refused = {each.name: each for each in _decoded(found, folder_statements.decode_refused, None)}
        return KnownFolders(
            {name: mark for name, mark in marks.items() if name <= last} if len(marks) == limit else marks,
            frozenset(self._ids(folder_statements.GONE_FOLDERS, params)),
            {name: each for name, each in refused.items() if name <= last},
            last,
        )

    def closable_folders(
        self, root: str, after: str, last: str, ended_before: float | None = None
    ) -> ClosableFolders:
        from runcoord._stores import folder_statements

        params: Params = {"root": root, "after": after, "last": last, "before": ended_before}
        delivered = self._ids(folder_statements.DELIVERED_FOLDERS, params)
        old = [] if ended_before is None else self._ids(folder_statements.OLD_FOLDERS, params)
        return ClosableFolders(tuple(delivered), tuple(old))

    def refused_folders(
        self, *, after: tuple[str, str] = ("", ""), limit: int, bad: list[BadRow] | None = None
    ) -> list[RefusedFolder]:
        from runcoord._stores import folder_statements

        params: Params = {"root": after[0], "folder": after[1], "limit": limit}
        found = self._rows(folder_statements.REFUSED_AFTER, params)
        return _decoded(found, folder_statements.decode_refused, bad)

    def known_runs(self, run_ids: Sequence[str]) -> set[str]:
        from runcoord._stores import folder_statements

        return {key for (key,) in self._by_keys(folder_statements.known_runs, run_ids)}

    # --- lists of runs by id ---

    def load_runs(self, run_ids: Sequence[str], bad: list[BadRow]) -> list[Run]:
        found = {row[0]: row for row in self._by_keys(statements.runs_by_ids, run_ids)}
        return _decoded((found[key] for key in run_ids if key in found), rows.decode_run, bad)

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
        page = _Page(after, newest_first, limit)
        if run_id:
            wanted = {"run_id": run_id, "any": not states, "states": json.dumps([*states])}
            return _decoded(self._page_of(statements.EVENTS_OF_RUN, page, **wanted), rows.decode_event, bad)
        lists = [self._page_of(statements.EVENTS_UNKNOWN if states else statements.EVENTS_ALL, page)]
        for state in set(states):
            if state is EventState.HELD:
                lists.append(self._page_of(statements.EVENTS_HELD, page))
            elif state is EventState.DELIVERED:
                lists.append(self._page_of(statements.EVENTS_DELIVERED, page))
            else:
                lists.append(self._page_of(statements.EVENTS_WAITING, page, state=state.value))
        return _decoded(page.merged(lists), rows.decode_event, bad)

    def sendable(self, now: Instant, owner: str, limit: int, without: Sequence[str] = ()) -> list[str]:
        params = {
            **_clocks(now),
            "pending": MAX_DELIVERY_BACKOFF_SECONDS,
            "sending": DELIVERY_CLAIM_SECONDS,
            "owner": owner,
            "limit": limit,
        }
        if without:
            return self._ids(statements.SENDABLE_ELSEWHERE, {**params, "without": json.dumps([*without])})
        return self._ids(statements.SENDABLE, params)

    def next_due(self) -> Deadline | None:
        [found] = self._rows(statements.NEXT_DUE)
        boots = sorted({boot for boot in found[:4] if boot is not None})
        if not boots:
            return None
        # Exact on the boot of all events. Elsewhere wall time would decide, and there is no order of the
        # events that holds for both clocks: then the answer is "already", and sendable() says what is.
        first = min(at for at in found[4:] if at is not None) if len(boots) == 1 else -math.inf
        return Deadline(-math.inf, first, boots[0])

    def untold_held(self, limit: int) -> list[Event]:
        return _decoded(self._rows(statements.UNTOLD_HELD, {"limit": limit}), rows.decode_event, None)

    def count_untold_held(self) -> int:
        [(count,)] = self._rows(statements.COUNT_UNTOLD_HELD)
        return int(count)

    def load_events(self, event_ids: Sequence[str], bad: list[BadRow]) -> list[Event]:
        found = {row[1]: row for row in self._by_keys(statements.events_by_ids, event_ids)}
        return _decoded((found[key] for key in event_ids if key in found), rows.decode_event, bad)


def _clocks(now: Instant) -> dict[str, object]:
    return {"wall": now.wall, "boottime": now.boottime, "boot": now.boot_id}


def _text_or_bytes(stored: bytes) -> str | bytes:
    try:
        return stored.decode()
    except UnicodeDecodeError:
        return stored


def _decoded(found: Iterable[Row], decode: Decoder[T], bad: list[BadRow] | None) -> list[T]:
    values = []
    for row in found:
        try:
            values.append(decode(row))
        except UndecodableRow as error:
            if bad is not None:
                bad.append(BadRow.of(error))
    return values
