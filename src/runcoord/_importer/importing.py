"""A pass over one root: what is there against what is known, a page of names at a time.

Known folders are looked at and not opened; only new ones, and refused ones that changed, are read. Nothing is
read while the store is locked. What a pass did not come to, the next one does: it goes on behind it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from runcoord._coordinator import instant
from runcoord._core import limits
from runcoord._core.folders import name_problem, shown_name
from runcoord._core.run_folders import RunFolders
from runcoord._core.sources import ClosableFolders, KnownFolders, RefusedFolder, SourceState
from runcoord._core.texts import storable
from runcoord._core.values import value
from runcoord._home_ports import FolderRefused, Homes, OpenRoot, RefusalKind
from runcoord._importer.closing import Closer
from runcoord._importer.reading import FolderReader, Said
from runcoord._importer.report import ImportReport
from runcoord._importer.saving import Saver
from runcoord._log import WARNING, Log, say
from runcoord.errors import Happened, StoreError, StoreTimeout, StoreUnavailable
from runcoord.ports import Bounded, Clock, Store

log = Log("runcoord.importer")

_LAST = "\U0010ffff"
"""Behind every name: no run id begins with it."""
_NO_TEXT = re.compile("[\ud800-\udfff].*", re.DOTALL)
"""From the first byte of a name that is no text (PEP 383)."""
_SHOWN_CHARACTERS = 200
_PASSING = frozenset(kind.value for kind in RefusalKind if kind.passing)

Progress = Callable[[int, int], None]
"""Told how many entries were looked at, and how many are listed so far."""


def _quiet(looked_at: int, listed: int) -> None:
    del looked_at, listed


@value
class Bounds:
    """How far one pass goes."""

    folders: int
    """New or changed folders that it takes up."""
    until: float
    """Boottime (seconds) at which it takes up no further page."""


@value
class Compared:
    """A page of names against the store."""

    names: list[str]
    known: KnownFolders
    """Also folders between those names that are not there any more."""
    foreign: set[str]
    """Names that are ids of runs which come from elsewhere."""
    closable: ClosableFolders


class Importer:
    """Imports run folders into one store. A sweep bounds each pass, and goes on where the last one ended.

    ``bounded`` carries out the passes of sweeps: the directories of a file system that hangs never answer.
    """

    def __init__(self, store: Store, clock: Clock, homes: Callable[[], Homes], bounded: Bounded) -> None:
        self._store, self._clock, self._homes = store, clock, homes
        self._bounded = bounded
        self._after: dict[tuple[str, str], str] = {}
        """By home and root: the name behind which the next bounded pass begins."""
        self._under_way: set[tuple[str, str]] = set()
        """Homes with a pass that has not returned, though a sweep may have given it up."""

    def sweep(self, folders: RunFolders) -> ImportReport:
        """One bounded pass. A store that fails, and a home that does not answer, is a problem in the report:
        the next sweep tries again, unless the pass that did not answer is still under way."""
        key = (folders.home, folders.layout.root)
        if key in self._under_way:
            report = ImportReport(_spelled(folders))
            report.problem = "an earlier look at it has not returned, so none was made"
        else:
            self._under_way.add(key)
            try:
                report = self._bounded.call(limits.HOME_SECONDS, partial(self._swept, folders, key))
            except StoreTimeout:
                report = ImportReport(_spelled(folders))
                report.problem = f"it did not answer within {limits.HOME_SECONDS:g} s"
            except StoreUnavailable as error:  # no thread can be had: nothing was begun
                self._under_way.discard(key)
                report = ImportReport(_spelled(folders))
                report.problem = f"it was not looked at: {error.problem}"
        if report.problem is not None:
            say(log, WARNING, "folders were not imported", root=report.root, problem=report.problem)
        return report

    def _swept(self, folders: RunFolders, key: tuple[str, str]) -> ImportReport:
        until = self._clock.boottime() + limits.IMPORT_SWEEP_SECONDS
        bounds = Bounds(limits.FOLDERS_PER_SWEEP, until)
        report, after = ImportReport(), self._after.get(key, "")
        try:
            self._after[key] = self._run(folders, report, bounds, after, _quiet)
        except StoreError as error:
            report.problem = f"the store failed: {error}"
        finally:
            self._under_way.discard(key)
        return report

    def not_reached(self, folders: RunFolders) -> ImportReport:
        """What is said of a home for which a sweep had no time; nothing is looked at."""
        return ImportReport(_spelled(folders), unfinished=True)

    def run(self, folders: RunFolders, progress: Progress = _quiet) -> ImportReport:
        """One pass over all that is there, however long it takes."""
        report = ImportReport(named_at_most=limits.FOLDERS_NAMED_WHEN_ASKED)
        try:
            self._run(folders, report, None, "", progress)
        except StoreError as error:
            # Of its last write nothing happened; of the pass what was written before stays.
            if report.imported or report.history or report.tombstoned or report.pruned:
                error.happened = Happened.MAYBE
                error.remedy = f"{error.remedy} What was imported by then stays: import again.".lstrip()
            raise
        return report

    def _run(
        self,
        folders: RunFolders,
        report: ImportReport,
        bounds: Bounds | None,
        after: str,
        progress: Progress,
    ) -> str:
        report.root = _spelled(folders)
        try:
            with self._homes().open(folders.home, folders.layout.root) as root:
                report.root, report.missing = root.path, root.missing
                return _Pass(self._store, self._clock, root, folders, report, bounds, progress).go(after)
        except FolderRefused as refused:
            report.problem = f"{refused.kind}: {refused.reason}"
            return after


def _spelled(folders: RunFolders) -> str:
    """The root as it is named, before its home is opened."""
    below = folders.layout.root
    return storable(folders.home if below == "." else f"{folders.home}/{below}")


class _Pass:
    """One pass over one root."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        root: OpenRoot,
        folders: RunFolders,
        report: ImportReport,
        bounds: Bounds | None,
        progress: Progress,
    ) -> None:
        self._store, self._clock = store, clock
        self._root, self._folders, self._report = root, folders, report
        self._bounds, self._progress = bounds, progress
        self._reader = FolderReader(root, folders, instant(clock))
        self._saver = Saver(store, root.path, report, clock.wall)
        self._closer = Closer(store, root, folders, self._saver, report, bounded=bounds is not None)
        self._taken = 0
        """Folders that were read."""
        self._routed = 0
        self._sees_all = True
        """No name can be missing in the lists of this pass."""
        age = folders.prune_after
        self._prune_before = None if age is None else clock.wall() - age

    def go(self, after: str) -> str:
        """Gives the name behind which the next pass begins; empty: at the beginning."""
        looked_at = 0
        for number, (names, listed, whole) in enumerate(self._pages(after)):
            if number and self._over():  # a home that opens slowly gets on, page by page
                self._report.unfinished = True
                break
            if not names and self._forsaken():
                break
            stopped = self._page(names, after, whole)
            if stopped is not None:
                self._report.unfinished, after = True, stopped
                break
            looked_at += len(names)
            after = names[-1] if names else after
            self._progress(looked_at, listed)
        else:
            after = ""
        self._saver.flush()
        return after

    def _pages(self, after: str) -> Iterator[tuple[list[str], int, bool]]:
        """Pages of names; how many are listed by then; and whether it is the last one."""
        listed = 0
        while True:
            found = self._root.names(limits.FOLDER_NAMES_LISTED, after)
            self._sees_all = self._sees_all and not found.uncounted
            if found.uncounted:
                most = limits.FOLDER_ENTRIES_LOOKED_AT
                self._report.problem = f"it has more than {most} entries; some were not looked at"
            names, listed = found.names, listed + len(found.names)
            for start in range(0, max(1, len(names)), limits.FOLDER_PAGE):
                page = names[start : start + limits.FOLDER_PAGE]
                last = not found.more and start + limits.FOLDER_PAGE >= len(names)
                yield page, listed, last
            if not found.more or not names:
                return
            after = names[-1]

    def _over(self) -> bool:
        bounds = self._bounds
        return bounds is not None and (
            self._taken >= bounds.folders or self._clock.boottime() >= bounds.until
        )

    def _forsaken(self) -> bool:
        """An empty root of which folders are known is rather a disk that is not mounted."""
        after = _LAST if self._root.names(1).names else ""
        while after != _LAST:
            with self._store.view("read-folders") as view:
                known = view.known_folders(self._root.path, after, _LAST, limits.KNOWN_FOLDERS_READ)
            if not known.gone.issuperset(known.marks):
                self._report.problem = (
                    "it is empty, though folders in it are known: is its file system mounted?"
                )
                return True
            after = known.upto
        return False

    # --- a page ---

    def _page(self, names: list[str], after: str, whole: bool) -> str | None:
        """Deal with the names behind ``after``. Gives the one after which it stopped, if it did."""
        after, upto = _bound(after), _LAST if whole or not names else _bound(names[-1])
        usable = [name for name in names if name.isascii() or storable(name) == name]
        if len(usable) < len(names):
            for name in sorted(set(names) - set(usable)):
                self._refuse_name(name, "its name is not UTF-8")
        while after != upto:
            compared = self._compare(usable, after, upto)
            stopped = self._deal_with(compared)
            if stopped is not None:
                return stopped
            usable = usable[len(compared.names) :]
            after = compared.known.upto
        return None

    def _compare(self, names: list[str], after: str, upto: str) -> Compared:
        root = self._root.path
        with self._store.view("read-folders") as view:
            known = view.known_folders(root, after, upto, limits.KNOWN_FOLDERS_READ)
            if known.upto != upto:  # many vanished: the rest comes next
                names = [name for name in names if name <= known.upto]
            unknown = [name for name in names if name not in known.marks and name not in known.refused]
            foreign = view.known_runs(unknown) if unknown else set()
            closable = view.closable_folders(root, after, known.upto, self._prune_before)
        return Compared(names, known, foreign, closable)

    def _deal_with(self, compared: Compared) -> str | None:
        names, known = compared.names, compared.known
        marks, todo = known.marks, list[str]()
        if known.refused or names != list(marks):
            for name in names:
                if name in known.refused:
                    self._meet_refused(known.refused[name], todo)
                elif name not in marks:
                    self._meet(name, name in compared.foreign, todo)
            present = set(names)
            for name in [name for name in (*marks, *known.refused) if name not in present]:
                self._vanish(name, known)
            marks = {name: mark for name, mark in marks.items() if name in present}
        self._report.known += len(marks)
        for name in known.gone.intersection(marks):
            self._return(name)
        changed = self._notice_changed(marks)
        closable = compared.closable
        self._closer.tombstone([name for name in closable.delivered if name in marks and name not in changed])
        # A removal that was interrupted leaves a folder without a state file; it is ended now.
        self._closer.prune([name for name in closable.old if name in marks and not changed.get(name)])
        return self._read(todo, known.refused)

    def _meet(self, name: str, foreign: bool, todo: list[str]) -> None:
        problem = None if foreign else name_problem(name)
        if foreign:
            self._report.known += 1
        elif problem is not None:
            self._refuse_name(name, problem)
        else:
            todo.append(name)

    def _refuse_name(self, name: str, reason: str) -> None:
        """Not stored: the name alone says it, whenever it is met."""
        self._refuse(shown_name(name)[:_SHOWN_CHARACTERS], "", RefusalKind.NAME.value, reason)

    def _meet_refused(self, folder: RefusedFolder, todo: list[str]) -> None:
        as_it_was = (
            folder.kind not in _PASSING and self._root.mark(folder.name, *self._reader.files) == folder.mark
        )
        if as_it_was:
            self._refuse(folder.name, folder.mark, folder.kind, folder.reason)
        else:
            todo.append(folder.name)

    def _refuse(self, name: str, mark: str, kind: str, reason: str) -> None:
        wall = self._clock.wall()
        self._report.note_refused(RefusedFolder(self._root.path, name, mark, kind, reason, wall))

    # --- known folders ---

    def _return(self, name: str) -> None:
        """A folder that was gone is there again."""
        try:
            grave = self._root.seen(name, self._folders.layout.tombstone_file)
        except FolderRefused:
            return
        self._saver.notice(name, state=SourceState.OPEN if grave is None else SourceState.CLOSED)

    def _vanish(self, name: str, known: KnownFolders) -> None:
        if not self._sees_all:
            return  # it may be there
        if name in known.refused:
            self._saver.forget(name)
        elif name not in known.gone:
            self._report.gone += 1
            self._saver.notice(name, state=SourceState.GONE)

    def _notice_changed(self, marks: dict[str, str]) -> dict[str, str]:
        """Known folders whose state file is another one now, with its mark; empty: there is none."""
        file, changed = self._folders.layout.state_file, dict[str, str]()
        for name in self._root.changed(marks, file) if marks else ():
            mark = ""
            try:
                seen = self._root.seen(name, file)
                mark = "" if seen is None else seen.mark
            except FolderRefused as refused:
                mark = f"!{refused.kind}"
                self._refuse(name, mark, refused.kind.value, refused.reason)
                self._report.known -= 1  # each folder counts once
                if refused.kind.passing:  # that says nothing of whether it changed
                    changed[name] = mark
                    continue
            if mark != marks[name]:
                self._report.note_changed(name)
                self._saver.notice(name, mark=mark)
            changed[name] = mark
        return changed

    # --- new folders ---

    def _read(self, names: list[str], refused: dict[str, RefusedFolder]) -> str | None:
        """Read folders, up to the bounds. Gives the one after which it stopped, if it did."""
        done = 0
        self._reader.now = instant(self._clock)
        for some in self._reader.read(names):
            for found in some:
                name = found.name if isinstance(found, RefusedFolder) else found.files.name
                if isinstance(found, RefusedFolder):
                    self._refused(found, refused.get(name))
                else:
                    self._found(found, was_refused=name in refused)
            done += len(some)
            self._taken += len(some)
            if done < len(names) and self._over():
                return names[done - 1]
        return None

    def _found(self, said: Said, *, was_refused: bool) -> None:
        flooded = bool(self._folders.fallback) and self._routed >= limits.ROUTED_IMPORTS_PER_SWEEP
        imported = self._reader.made(said, flooded=flooded)
        self._routed += imported.event is not None
        self._saver.add_imported(imported, was_refused=was_refused)

    def _refused(self, folder: RefusedFolder, before: RefusedFolder | None) -> None:
        self._report.note_refused(folder)
        if before is not None:
            was, now = (before.kind, before.reason), (folder.kind, folder.reason)
            if was == now and (before.mark == folder.mark or folder.kind in _PASSING):
                return
        self._saver.add_refused(folder)


def _bound(name: str) -> str:
    """Where a name stands among the ids of runs, as a text that can be stored: what is no text is above
    U+D7FF, which no id has, and below all that follows it."""
    return _NO_TEXT.sub("\ud7ff", name)
