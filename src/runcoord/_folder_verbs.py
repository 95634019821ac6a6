"""The part of a coordinator that deals with run folders."""

from __future__ import annotations

from runcoord._core import limits, submission
from runcoord._core.values import value
from runcoord.errors import InvalidRequest, ResultUnreachable

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    import functools
    from collections.abc import Callable

    from runcoord._core.run_folders import RunFolders
    from runcoord._core.sources import Source
    from runcoord._importer import Importer, ImportReport
    from runcoord.ports import Event, Homes, Run


@value
class Result:
    """The result of a run, or its beginning."""

    text: str
    size: int
    """Bytes of all of it. Of a result that was cut when it was stored: of what is left."""
    truncated: bool
    """There is more of it than this text."""
    where: str
    """Path of the file that it stands in; empty where the store has it."""


class Folders:
    """Mixed into the coordinator. What it needs is loaded when the first folder is dealt with."""

    if TYPE_CHECKING:

        @functools.cached_property
        def _importer(self) -> Importer: ...

        def _open_homes(self) -> Homes: ...

        def run(self, run_id: str) -> Run: ...

        def replay(self, event_id: str, *, destination: str = "") -> Event: ...

    def import_folders(
        self, folders: RunFolders | str, *, progress: Callable[[int, int], None] | None = None
    ) -> ImportReport:
        """Make the run folders of one home runs of this coordinator: all of them, however long it takes.

        A folder without a tombstone was under way; its run ends as interrupted, and its event goes to
        ``folders.fallback``, or is held. One with a tombstone that names an outcome is history: a run of
        which nobody is told. A folder that is known is looked at, and not read again; importing twice changes
        nothing. Folders whose events were delivered get their tombstones, and old ones are removed, where
        that is asked for. For a home alone: a path in the place of :class:`RunFolders`.

        ``progress`` is called with the entries looked at, and with those that are listed so far. What cannot
        be read is named in the report, and is no error; neither is a home that cannot be. Raises
        :class:`~runcoord.errors.StoreError`: what was written by then stays, and importing again goes on.
        """
        if isinstance(folders, str):
            from runcoord._core.run_folders import RunFolders

            folders = RunFolders(folders)
        importer = self._importer
        return importer.run(folders) if progress is None else importer.run(folders, progress)

    def route(self, event_id: str, destination: str) -> Event:
        """Give a held event a destination: it is due at once, with the same id and body. Where an imported
        folder says that it goes is not believed; this is how somebody who may decides."""
        if not destination:
            raise InvalidRequest("no destination is given", remedy="Name one.", field="destination")
        return self.replay(event_id, destination=destination)

    def read_result(self, run_id: str, *, limit: int = limits.MAX_RESULT_CHARACTERS) -> Result:
        """The result of a run, at most ``limit`` bytes of it; that of an imported one from its folder, where
        it stays. It is reached without following any link out of the home.

        An empty text for a run without a result. Raises :class:`~runcoord.errors.UnknownRun`, and
        :class:`~runcoord.errors.ResultUnreachable` when its file is not what it was, or cannot be read now.
        """
        submission.require_count("limit", limit, 1, limits.MAX_RESULT_READ_BYTES)
        run = self.run(run_id)
        if run.source is None or run.source.result is None:
            return _beginning(run.result.encode(), limit, None, run.result_truncated, "")
        source, file = run.source, run.source.result.file
        where = f"{source.root}/{run_id}/{file}"
        from runcoord._home_ports import FolderRefused

        try:
            with (
                self._open_homes().open(_home_of(source), source.below) as root,
                root.folder(run_id) as folder,
            ):
                found = folder.read_beginning(file, limit)
        except FolderRefused as refused:
            raise _unreachable(run_id, where, f"{refused.kind}: {refused.reason}") from refused
        if found is None:
            raise _unreachable(run_id, where, "it is not there any more")
        return _beginning(found.data, limit, found.seen.size, found.truncated, where)


def _home_of(source: Source) -> str:
    """The home that a root is in: so many directories above as there are parts below it."""
    from pathlib import Path  # nothing else of a short command needs these

    from runcoord._core.layouts import parts_of

    root = Path(source.root)
    return str([root, *root.parents][len(parts_of(source.below))])


def _beginning(data: bytes, limit: int, size: int | None, truncated: bool, where: str) -> Result:
    """Text of whole characters; what is no UTF-8 is shown by the character that stands for it."""
    text = data[:limit].decode("utf-8", "replace")
    truncated = truncated or len(data) > limit
    if truncated and text.endswith("\ufffd"):
        text = text.rstrip("\ufffd")
    return Result(text, len(data) if size is None else size, truncated, where)


def _unreachable(run_id: str, where: str, problem: str) -> ResultUnreachable:
    return ResultUnreachable(
        f"the result of run {run_id!r} cannot be read from {where}: {problem}",
        remedy="Look at the folder; what is stored about the run is as it was.",
        run=run_id,
        path=where,
    )
