"""Removing what commands had on disk."""

from __future__ import annotations

import contextlib
import os

from runcoord._coordinator import RunVerbs
from runcoord._core.model import CleanupState, Run, State
from runcoord._core.records import Snapshot, SnapshotState
from runcoord._log import INFO, Log, say
from runcoord.errors import RuncoordError

log = Log("runcoord.commands")

FOLDERS_LOOKED_AT = 50
"""Directories of other commands that one command looks at when it has ended."""
NEVER_BEGAN_SECONDS = 3600.0
"""Age of a directory without a run after which its command cannot be about to begin."""


def remove(folder: str) -> None:
    """Remove a command's own directory, and the one around it if that is empty then. Never raises."""
    try:
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)
    except OSError:
        from shutil import rmtree  # takes long to load, and what is in there are files

        rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):  # others are in it
        os.rmdir(os.path.dirname(folder))


def tidy(verbs: RunVerbs, folders: str) -> None:
    """Remove what commands left that were killed when their end was recorded, but this was not done. Bounded:
    what is left waits for the next command. Never raises."""
    try:
        with os.scandir(folders) as entries:
            names = [entry.name for entry, _ in zip(entries, range(FOLDERS_LOOKED_AT), strict=False)]
        for name in names:
            folder = os.path.join(folders, name)
            if _is_needless(verbs, name, folder):
                remove(folder)
    except OSError:
        return
    except RuncoordError as error:
        say(log, INFO, "directories of commands not tidied", error=str(error))


def _is_needless(verbs: RunVerbs, run_id: str, folder: str) -> bool:
    with verbs.store.view("read-run") as view:
        run = view.run(run_id)
        if run is None:
            # Of a command that is about to begin, or was killed before it did.
            return verbs.clock.wall() - os.stat(folder).st_mtime > NEVER_BEGAN_SECONDS
        snapshots = view.records(Snapshot, run_id, limit=1)
    kept = bool(snapshots) and snapshots[0].state is not SnapshotState.RESTORED
    return _is_over(run) and not kept


def _is_over(run: Run) -> bool:
    return run.state is State.FINISHED and (
        run.cleanup is None or run.cleanup.state is not CleanupState.PENDING
    )
