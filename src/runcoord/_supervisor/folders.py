"""Where a command under way has on disk what must survive a crash."""

from __future__ import annotations

import os

from runcoord._paths import joined

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from pathlib import Path

SUFFIX = ".snapshots"
SCHEME = "sqlite:///"


def folders_beside(url: str | Path) -> str:
    """The directory beside a store's file in which each command that is under way has one of its own."""
    folders = f"{os.fspath(url).removeprefix(SCHEME)}{SUFFIX}"
    return joined(folders) if os.path.isabs(folders) else joined(os.getcwd(), folders)
