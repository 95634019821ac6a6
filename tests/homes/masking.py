"""Systems that lack something, made of this one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from runcoord._homes.capabilities import unable_to_hold


@contextmanager
def without_held_directories() -> Iterator[None]:
    """As on Windows: no flag for directories, no function that takes a descriptor of one."""
    system = getattr(os, "os_module", os)  # an emulated one passes on what it does not have itself
    with pytest.MonkeyPatch.context() as patch:
        for flag in ("O_DIRECTORY", "O_NOFOLLOW", "O_PATH", "O_NONBLOCK", "O_NOCTTY"):
            patch.delattr(system, flag)
        for functions in ("supports_dir_fd", "supports_fd", "supports_follow_symlinks"):
            patch.setattr(system, functions, set())
        # Asked when shutil was loaded; since Python 3.13 it would miss the flags while it removes a tree.
        patch.setattr(shutil, "_use_fd_functions", False)
        assert unable_to_hold()
        yield
