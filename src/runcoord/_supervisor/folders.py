"""Where a command under way has on disk what must survive a crash."""

from __future__ import annotations

import os
from pathlib import Path

SUFFIX = ".snapshots"
SCHEME = "sqlite:///"


def folders_beside(url: str | Path) -> Path:
    """The directory beside a store's file in which each command that is under way has one of its own."""
    return Path(f"{os.fspath(url).removeprefix(SCHEME)}{SUFFIX}").absolute()
