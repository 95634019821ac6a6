"""A transaction: reading and writing over one connection, under the write lock."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from types import TracebackType

from runcoord._core.model import Event, Run
from runcoord._core.records import Record
from runcoord._stores import records, rows, statements
from runcoord._stores.failures import BINDING_ERRORS, is_locked, translated
from runcoord._stores.reading import SqliteView
from runcoord._stores.rows import Params
from runcoord.errors import RuncoordError, StoreLocked, VersionConflict
from runcoord.ports import Change, RefusedFolder

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import NoReturn, Self

MANY_EVENTS = 32
"""So many new events in one call are numbered here: looking for each number takes a fifth of an insert."""


class SqliteTransaction(SqliteView):
    """Takes the write lock at once, so that what it reads is what it changes."""

    _failure: RuncoordError | None = None
    _number = 0
    """Of the row that was inserted last, by itself."""

    # --- the transaction ---

    def __enter__(self) -> Self:
        self._link = self._connections.take(self)
        try:
            self._control(statements.BEGIN_WRITE)
            self._remembered = self._link.remembered
            self._recall()
        except BaseException:
            self._leave(spoiled=True)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        spoiled = True
        try:
            if kind is None and self._failure is not None:
                # The block swallowed a failed write. What came before it must not stand alone.
                raise self._failure
            if kind is None:
                self._commit()
                spoiled = False
                self._remembered.committed()
        finally:
            if spoiled:
                self._rows_written = 0
                spoiled = not self._inherited and not self._rolled_back()
            self._leave(spoiled=spoiled)

    def _commit(self) -> None:
        connection = self._connection
        self._connections.place.require_same_file()
        try:
            try:
                connection.execute(statements.COMMIT)
            except sqlite3.Error as error:
                if not is_locked(error):
                    raise
                # A reader is in the way. New ones are kept out meanwhile, so it is the last.
                self._wait.repeat(
                    lambda: connection.execute(statements.COMMIT), error, self._path, self._verb
                )
        except StoreLocked:
            raise
        except sqlite3.Error as error:
            raise translated(error, self._path, self._verb, committing=True) from error

    def _recall(self) -> None:
        try:
            self._remembered.begin(self._connection, self._connections.whose)
        except sqlite3.Error as error:
            raise translated(error, self._path, self._verb) from error

    def _rolled_back(self) -> bool:
        self._remembered.forget()
        try:
            if self._connection.in_transaction:
                self._connection.execute(statements.ROLLBACK)
        except sqlite3.Error:
            return False
        return True

    # --- reading ---

    def run(self, run_id: str) -> Run | None:
        link = self._link
        found = None if link is None or link.connection is None else link.remembered.runs.get(run_id)
        return super().run(run_id) if found is None else found

    def event(self, event_id: str) -> Event | None:
        link = self._link
        found = None if link is None or link.connection is None else link.remembered.events.get(event_id)
        return super().event(event_id) if found is None else found

    # --- writing ---

    def save(self, changes: Iterable[Change]) -> None:
        every, number = [*changes], 0
        self._remembered.saving(every)
        new_runs: list[Params] = []
        imported: list[Run] = []
        refused: list[RefusedFolder] = []
        runs: list[tuple[Run, Run]] = []
        new_events: list[Params] = []
        events: list[Event] = []
        commands: list[Params] = []
        groups: list[Params] = []
        more: list[Record] = []
        for change in every:
            if change.run is not None:
                if change.before is None and change.run.source is not None:
                    imported.append(change.run)
                elif change.before is None:
                    new_runs.append(rows.encode_run(change.run))
                else:
                    runs.append((change.before, change.run))
            if change.new_events:
                new_events.extend(map(rows.encode_new_event, change.new_events))
            if change.events:
                events.extend(change.events)
            if change.command is not None:
                commands.append(rows.encode_command(change.command))
            if change.group is not None:
                groups.append(rows.encode_group(change.group))
            if change.records:
                more.extend(change.records)
            if change.refused:
                refused.extend(change.refused)
        if new_runs:
            self._write(statements.INSERT_RUN, new_runs)
        if imported or refused:
            self._save_folders(imported, refused)
        if runs:
            self._update_runs(runs)
        if commands:
            self._write(statements.INSERT_COMMAND, commands)
        if groups:
            self._write(statements.UPSERT_GROUP, groups)
        if len(new_events) >= MANY_EVENTS:
            [(number,)] = self._rows(statements.NEXT_EVENT)
            numbered = [(seq, *params) for seq, params in enumerate(new_events, number)]
            self._write(statements.INSERT_NUMBERED_EVENT, numbered)
        elif new_events:
            self._write(statements.INSERT_EVENT, new_events)
            number = self._number
        if events:
            self._update_events(events)
        for record in more:
            self._write(records.UPSERTS[type(record)], [records.KINDS[type(record)].encode(record)])
        self._remembered.saved(every, number)

    def remove_owner(self, owner: str) -> None:
        self._write(statements.REMOVE_OWNER, [(owner,)])

    def _save_folders(self, imported: list[Run], refused: list[RefusedFolder]) -> None:
        from runcoord._stores import folder_statements  # most stores have no folders

        if imported:
            self._write(
                folder_statements.INSERT_IMPORTED, [*map(folder_statements.encode_imported, imported)]
            )
        if refused:
            self._write(folder_statements.UPSERT_REFUSED, [*map(folder_statements.encode_refused, refused)])

    def remove_refused(self, root: str, names: Sequence[str]) -> None:
        from runcoord._stores import folder_statements

        self._write(folder_statements.REMOVE_REFUSED, [(root, name) for name in names])

    def mark_held_told(self) -> None:
        self._remembered.forget()
        self._write(statements.MARK_HELD_TOLD, [()])

    def remove_runs(self, run_ids: Sequence[str]) -> None:
        self._remembered.forget()
        self._write(statements.NOTE_LAST_EVENT, [()])
        self._write(statements.REMOVE_USUAL_EVENT, [(run_id, run_id, run_id) for run_id in run_ids])
        self._write(statements.REMOVE_OTHER_EVENTS, [(run_id, run_id) for run_id in run_ids])
        self._write(statements.REMOVE_OWN_COMMAND, [(run_id, run_id, run_id) for run_id in run_ids])
        self._write(statements.REMOVE_OTHER_COMMANDS, [(run_id, run_id) for run_id in run_ids])
        if self._rows(statements.ANY_RECORDS)[0][0]:
            for removal in records.REMOVALS:
                self._write(removal, [(run_id, run_id) for run_id in run_ids])
        self._write(statements.REMOVE_RUN, [(run_id,) for run_id in run_ids])

    def remove_runless(self, event_ids: Sequence[str]) -> None:
        self._remembered.forget()
        self._write(statements.NOTE_LAST_EVENT, [()])
        self._write(statements.REMOVE_GROUP, [(event_id,) for event_id in event_ids])
        self._write(statements.REMOVE_RUNLESS, [(event_id,) for event_id in event_ids])

    def _update_runs(self, runs: list[tuple[Run, Run]]) -> None:
        imported = [pair for pair in runs if pair[0].source is not pair[1].source]
        plain = [pair for pair in runs if pair[0].source is pair[1].source] if imported else runs
        params = [(*rows.run_changing(after), before.run_id, before.version) for before, after in plain]
        written = self._write(statements.UPDATE_RUN, params) if params else 0
        if imported:
            written += self._update_imported(imported)
        if written == len(runs):
            return
        # Undone first: then the stored versions are those that did not match.
        self._rolled_back()
        for before, _ in runs:
            found = self._rows(statements.RUN_VERSION, (before.run_id,))
            if not found:
                self._conflict("run", before.run_id, "is gone")
            if found[0][0] != before.version:
                self._conflict("run", before.run_id, f"has version {found[0][0]}, not {before.version}")
        self._conflict("run", runs[0][0].run_id, "was changed twice at once, or one of its batch was")

    def _update_imported(self, runs: list[tuple[Run, Run]]) -> int:
        """Those of which it changed what is known of their folders."""
        from runcoord._stores import folder_statements

        params = [folder_statements.update_imported(before, after) for before, after in runs]
        return self._write(folder_statements.UPDATE_IMPORTED, params)

    def _update_events(self, events: list[Event]) -> None:
        params = [(*rows.event_changing(event), event.event_id) for event in events]
        if self._write(statements.UPDATE_EVENT, params) == len(events):
            return
        for event in events:
            if not self._rows(statements.EVENT_BY_ID, (event.event_id,)):
                self._conflict("event", event.event_id, "is gone")

    def _conflict(self, what: str, key: str, is_now: str) -> NoReturn:
        self._failure = VersionConflict(
            f"{what} {key!r} {is_now}; it changed since it was loaded, and nothing of this transaction was"
            f" written: {self._path}",
            remedy="Load it again and decide again.",
            path=self._path,
            what=what,
            key=key,
        )
        raise self._failure

    def _write(self, statement: str, many: list[Params]) -> int:
        """Run a statement once for each of ``many``; the number of rows it wrote."""
        if self._failure is not None:
            raise self._failure
        self._statements += len(many)
        try:
            if len(many) == 1:
                cursor = self._connection.execute(statement, many[0])
                written, self._number = cursor.rowcount, cursor.lastrowid or 0
            else:
                written = self._connection.executemany(statement, many).rowcount
        except BINDING_ERRORS as error:
            self._failure = translated(error, self._path, self._verb)
            raise self._failure from error
        self._rows_written += written
        return written
