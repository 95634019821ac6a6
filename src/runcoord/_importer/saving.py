"""Writing what a pass found, a bounded number of rows at a time: nobody waits for more than one batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from runcoord._core.evolving import evolved
from runcoord._core.importing import Imported
from runcoord._core.limits import IMPORT_BATCH
from runcoord._core.model import EventState, Run
from runcoord._core.sources import RefusedFolder, SourceState
from runcoord._core.values import field, record, value
from runcoord._home_ports import RefusalKind
from runcoord._importer.report import ImportReport
from runcoord.errors import UndecodableRow, VersionConflict
from runcoord.ports import BadRow, Change, Store, Transaction

ROW_ERRORS = (VersionConflict, UndecodableRow)
"""What is the matter with one row, not with the store."""


@value
class Noticed:
    """What changed about the folder of a run that is known. ``None``: that stays as it is."""

    mark: str | None = None
    state: SourceState | None = None


@record
class Batch:
    """What is to be written next."""

    imported: list[Imported] = field(default_factory=list)
    refused: list[RefusedFolder] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    """Folders that were refused, and are not any more, or are gone."""
    noticed: dict[str, Noticed] = field(default_factory=dict)
    rows: int = 0


class Saver:
    """Collects what a pass over one root found, and writes it in batches."""

    def __init__(self, store: Store, root: str, report: ImportReport, wall: Callable[[], float]) -> None:
        self._store, self._root, self._report = store, root, report
        self._wall = wall
        self._batch = Batch()

    def add_imported(self, imported: Imported, *, was_refused: bool) -> None:
        """A folder that is a run now."""
        batch = self._batch
        batch.imported.append(imported)
        batch.rows += 1 if imported.event is None else 2
        if was_refused:
            self.forget(imported.run.run_id)
        self._full()

    def add_refused(self, folder: RefusedFolder) -> None:
        """A folder that is none, for a reason that is not stored yet."""
        self._batch.refused.append(folder)
        self._batch.rows += 1
        self._full()

    def forget(self, name: str) -> None:
        """A folder that was refused before."""
        self._batch.forgotten.append(name)
        self._batch.rows += 1
        self._full()

    def notice(self, run_id: str, *, mark: str | None = None, state: SourceState | None = None) -> None:
        """Something about the folder of a run that is known."""
        before = self._batch.noticed.get(run_id, Noticed())
        after = Noticed(before.mark if mark is None else mark, before.state if state is None else state)
        self._batch.noticed[run_id] = after
        self._batch.rows += 1
        self._full()

    def _full(self) -> None:
        if self._batch.rows >= IMPORT_BATCH - 1:
            self.flush()

    def flush(self) -> None:
        """Write what was collected. When the batch fails because of a row, it is written one by one, and the
        bad row alone is left out, and named."""
        batch, self._batch = self._batch, Batch()
        if not batch.rows:
            return
        try:
            self._write(batch)
        except ROW_ERRORS:
            for single in _singles(batch):
                try:
                    self._write(single)
                except ROW_ERRORS as error:
                    self._note_bad(single, error)

    def _write(self, batch: Batch) -> None:
        bad: list[BadRow] = []
        with self._store.transaction("import") as tx:
            there = tx.known_runs([each.run.run_id for each in batch.imported])
            new = [each for each in batch.imported if each.run.run_id not in there]
            changes = [
                Change(run=each.run, new_events=() if each.event is None else (each.event,)) for each in new
            ]
            changes += self._noticed(tx, batch.noticed, bad)
            if batch.refused:
                changes.append(Change(refused=tuple(batch.refused)))
            tx.save(changes)
            if batch.forgotten:
                tx.remove_refused(self._root, batch.forgotten)
        self._count(new, len(there))
        for row in bad:
            self._note_row(row.key, row.problem)

    def _noticed(self, tx: Transaction, noticed: dict[str, Noticed], bad: list[BadRow]) -> Iterable[Change]:
        for run in tx.load_runs([*noticed], bad) if noticed else ():
            after = _after(run, noticed[run.run_id])
            if after is not run:
                yield Change(before=run, run=after)

    def _count(self, new: list[Imported], there: int) -> None:
        report = self._report
        report.known += there
        for each in new:
            if each.event is None:
                report.history += 1
                continue
            report.imported += 1
            report.held += each.event.state is EventState.HELD
            report.routed += each.event.state is EventState.PENDING

    def _note_bad(self, single: Batch, error: VersionConflict | UndecodableRow) -> None:
        names = [each.run.run_id for each in single.imported] + [each.name for each in single.refused]
        for name in names or single.forgotten or single.noticed:
            self._note_row(name, error.problem)

    def _note_row(self, name: str, problem: str) -> None:
        reason = f"its row cannot be written: {problem}"
        kind = RefusalKind.UNREADABLE.value
        folder = RefusedFolder(self._root, name, "", kind, reason, self._wall())
        self._report.note_refused(folder)


def _singles(batch: Batch) -> Iterable[Batch]:
    for imported in batch.imported:
        forgotten = [name for name in batch.forgotten if name == imported.run.run_id]
        yield Batch(imported=[imported], forgotten=forgotten, rows=1)
    for refused in batch.refused:
        yield Batch(refused=[refused], rows=1)
    for run_id, noticed in batch.noticed.items():
        yield Batch(noticed={run_id: noticed}, rows=1)
    for name in batch.forgotten:
        yield Batch(forgotten=[name], rows=1)


def _after(run: Run, noticed: Noticed) -> Run:
    source = run.source
    if source is None:
        return run
    mark = source.mark if noticed.mark is None else noticed.mark
    state = source.state if noticed.state is None else noticed.state
    if (mark, state) == (source.mark, source.state):
        return run
    return evolved(run, version=run.version + 1, source=evolved(source, mark=mark, state=state))
