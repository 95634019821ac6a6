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
    from pathlib import Path

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
    place: str | None
    """Directory where its git state is written down, and how it ended when nobody can be told. ``None``:
    nowhere, the store is no file."""
    saved: GitSnapshot | None = None
    """The git state before, once it was written down; ``None`` outside of a checkout."""

    @property
    def folder(self) -> Path | None:
        """The directory."""
        from pathlib import Path

        return Path(self.place) if self.place is not None else None

    @property
    def last_words(self) -> str:
        return _last_words(self.place)


def launch(prepared: Prepared, launcher: Launcher, run_id: str, folders: str | None) -> Launched:
    """Start it, gate closed. Raises :class:`~runcoord.errors.LaunchFailed`; then nothing is running."""
    named = run_id if len(run_id) <= MAX_ID_CHARACTERS and "/" not in run_id else prepared.line.own
    place = os.path.join(folders, named) if folders is not None else None
    tree = launcher.launch(prepared.launch_order(_last_words(place)))
    return Launched(prepared, run_id, tree, place)


def _last_words(place: str | None) -> str:
    return os.path.join(place, LAST_WORDS) if place is not None else ""
