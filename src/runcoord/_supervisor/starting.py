"""Starting what a command hangs on, while nothing of the command itself executes.

It needs no store, so it may begin while the store is being opened.
"""

from __future__ import annotations

import os

from runcoord._core.limits import MAX_ID_CHARACTERS
from runcoord._core.values import record
from runcoord._supervisor.preparing import Prepared

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
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
    folder: str | None
    """Directory where its git state is written down, and how it ended when nobody can be told. ``None``:
    nowhere, the store is no file."""
    saved: GitSnapshot | None = None
    """The git state before, once it was written down; ``None`` outside of a checkout."""

    @property
    def last_words(self) -> str:
        return _last_words(self.folder)


def launch(prepared: Prepared, launcher: Launcher, run_id: str, folders: str | None) -> Launched:
    """Start it, gate closed. Raises :class:`~runcoord.errors.LaunchFailed`; then nothing is running."""
    # An id that will be refused must not name a directory: it is removed with all that is in it.
    named = run_id if _names_an_entry(run_id) else prepared.line.own
    folder = os.path.join(folders, named) if folders is not None else None
    tree = launcher.launch(prepared.launch_order(_last_words(folder)))
    return Launched(prepared, run_id, tree, folder)


def _names_an_entry(name: str) -> bool:
    """Whether it is the name of one entry of a directory, and of nothing around or above it."""
    plain = name.isprintable() and "/" not in name and "\\" not in name
    return plain and 0 < len(name) <= MAX_ID_CHARACTERS and name not in (os.curdir, os.pardir)


def _last_words(folder: str | None) -> str:
    return os.path.join(folder, LAST_WORDS) if folder is not None else ""
