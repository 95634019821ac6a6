"""Names of scenarios that a run did not collect: of the shipped ones, and of a project's own.

Read by their text alone. It is asked for when a known failure is about nothing that was collected: then it
is either left over, or about something that this run did not have.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path

import pytest

from pytest_runcoord.known_failures import SUFFIX, KnownFailure

MOST_FOLDERS = 5_000
"""Folders of a project that are looked through; more take seconds, and most are not its own."""
MOST_BYTES = 1 << 20
"""Of a file of scenarios; the harness reads none that is larger."""
_NAME = re.compile(r"^scenario:\s*(\S+)\s*$", re.MULTILINE)


def shipped_names(directory: Path) -> set[str]:
    """Names of the scenarios that come with the distribution."""
    return {name for file in sorted(directory.rglob(f"*{SUFFIX}")) for name in _names(file)}


def not_found_in(
    config: pytest.Config, suite: Path | None, entries: Iterable[KnownFailure]
) -> list[KnownFailure]:
    """Those that are about no scenario of the project's own either; the suite is none of them."""
    own = [
        (file, name)
        for file in _own_files(config)
        if suite is None or not file.is_relative_to(suite)
        for name in _names(file)
    ]
    return [
        entry
        for entry in entries
        if not any(entry.is_about(file, name, entry.parts[2]) for file, name in own)
    ]


def _own_files(config: pytest.Config) -> Iterator[Path]:
    """Files of scenarios below the rootdir, without the folders that pytest does not look into."""
    left_out = config.getini("norecursedirs")
    for folder, below, files in islice(os.walk(config.rootpath), MOST_FOLDERS):
        below[:] = sorted(
            each
            for each in below
            if not any(fnmatch(each, pattern) for pattern in left_out)
            and not (Path(folder, each) / "pyvenv.cfg").exists()
        )
        yield from (Path(folder, each) for each in sorted(files) if each.endswith(SUFFIX))


def _names(file: Path) -> list[str]:
    try:
        with file.open("rb") as stream:
            text = stream.read(MOST_BYTES).decode("utf-8", "replace")
    except OSError:  # what cannot be read has no names; whoever collects it says so
        return []
    return [name.strip("\"'") for name in _NAME.findall(text)]
