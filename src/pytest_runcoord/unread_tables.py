"""Tables of projects that a run did not read, although its scenarios lie there: then they ran on the wrong
coordinator, and nothing was required.

pytest takes its rootdir from the first configuration above what it is called with, from ``-c``, or from
``--rootdir``; none of them need be the folder that has the table.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from pytest_runcoord.options import read_table
from pytest_runcoord.project_place import Place
from pytest_runcoord.table_file import PYPROJECT, files_with_it, may_have_it

TOP = ".git"
"""What a folder has that is the top of a project; nothing above is looked at."""


def unread_table(config: pytest.Config, files: Iterable[Path]) -> Place | None:
    """Where the nearest table stands that was not read, for a run that read none."""
    directories = {each.resolve() for each in (config.rootpath, *{file.parent for file in files})}
    seen: set[Path] = set()
    for directory in sorted(directories):
        for each in (directory, *directory.parents):
            if each in seen:
                break
            seen.add(each)
            if found := _table_in(each):
                return found
            if (each / TOP).exists():
                break
    path = config.inipath
    if path is None or path.suffix != ".toml" or path.name == PYPROJECT or not may_have_it(path.read_bytes()):
        return None
    import tomllib

    tool = tomllib.loads(path.read_text("utf-8")).get("tool", {})
    return Place(path, str(path)) if isinstance(tool, dict) and "runcoord" in tool else None


def _table_in(directory: Path) -> Place | None:
    try:
        if files_with_it(directory) == (None, None):
            return None
        place = read_table(directory).place
    except (OSError, pytest.UsageError):  # it is there, whatever is wrong with it
        return Place(directory, str(directory))
    return None if place is None else Place(place.path, str(place.path), place.line)
