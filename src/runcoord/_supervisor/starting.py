"""Starting what a command hangs on, while nothing of the command itself executes.

It needs no store, so it may begin while the store is being opened.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from runcoord._core.limits import MAX_ID_CHARACTERS
from runcoord._core.values import record
from runcoord._supervisor.preparing import Prepared

if TYPE_CHECKING:  # without a checkout nothing of git is loaded
    from runcoord._git.values import GitSnapshot
    from runcoord.ports import Launcher, Tree

LAST_WORDS = "last-words.json"


@record
class Launched:
    """A command behind its gate."""

    prepared: Prepared
    run_id: str
    """The id that its run is to have."""
    tree: Tree
    folder: Path | None
    """Where its git state is written down, and how it ended when nobody can be told. ``None``: nowhere, the
    store is no file."""
    saved: GitSnapshot | None = None
    """The git state before, once it was written down; ``None`` outside of a checkout."""

    @property
    def last_words(self) -> str:
        return _last_words(self.folder)


def launch(prepared: Prepared, launcher: Launcher, run_id: str, folders: Path | None) -> Launched:
    """Start it, gate closed. Raises :class:`~runcoord.errors.LaunchFailed`; then nothing is running."""
    named = run_id if len(run_id) <= MAX_ID_CHARACTERS and "/" not in run_id else prepared.line.own
    folder = folders / named if folders is not None else None
    tree = launcher.launch(prepared.launch_order(_last_words(folder)))
    return Launched(prepared, run_id, tree, folder)


def _last_words(folder: Path | None) -> str:
    return str(folder / LAST_WORDS) if folder is not None else ""
