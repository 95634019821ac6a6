"""Layouts of run folders by name: ours, those of other distributions, and those in a file.

Another distribution joins with an entry point of the group ``runcoord.layouts`` that names a
:class:`~runcoord.Layout`; the entry point's name is the layout's. A file is TOML: the tables of
:func:`runcoord._core.layouts.layout_from`.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from runcoord import RUN_FOLDERS, Layout
from runcoord.cli.contributed import REASON_CHARACTERS, Source, installed
from runcoord.errors import InvalidRequest

GROUP = "runcoord.layouts"
FILE_SUFFIX = ".toml"
MAX_FILE_BYTES = 64 * 1024
"""Size of a layout's file; one that says everything has a thousandth of it."""


class LayoutChoice(click.ParamType):  # type: ignore[type-arg]
    """A layout's name, or a file's path."""

    name = "layout"

    def __init__(self, source: Source | None = None) -> None:
        """``source`` finds the layouts of others; ``None``: those that are installed."""
        self._source = source or partial(installed, GROUP)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Layout:
        if isinstance(value, Layout):
            return value
        text = str(value)
        try:
            if text.endswith(FILE_SUFFIX):
                return _from_file(Path(text))
            return self._named(text)
        except InvalidRequest as error:
            self.fail(f"{error.problem}", param, ctx)
        except _Unusable as error:
            self.fail(str(error), param, ctx)

    def _named(self, name: str) -> Layout:
        if name == RUN_FOLDERS.name:
            return RUN_FOLDERS
        entries = {entry.name: entry for entry in self._source()}
        entry = entries.get(name)
        if entry is None:
            known = ", ".join(sorted({RUN_FOLDERS.name, *entries}))
            raise _Unusable(f"{name!r:.80} is no layout. There are: {known}; a file ends in {FILE_SUFFIX}.")
        try:
            found = entry.load()
        except Exception as error:  # whatever somebody else's module does when it is loaded
            raise _Unusable(
                f"the layout {name!r} of {entry.value!r} cannot be loaded: {error!r:.{REASON_CHARACTERS}}"
            ) from error
        if not isinstance(found, Layout):
            raise _Unusable(
                f"the layout {name!r} of {entry.value!r} is {found!r:.80}, and no runcoord.Layout"
            )
        return found


class _Unusable(Exception):
    """Why a layout cannot be used, for people."""


def _from_file(path: Path) -> Layout:
    import tomllib

    from runcoord._core.layouts import layout_from

    if path.exists() and not path.is_file():  # a FIFO would be waited for
        raise _Unusable(f"{path} is no plain file.")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise _Unusable(f"{path} has more than {MAX_FILE_BYTES:,} bytes, and is no layout.")
        document = tomllib.loads(data.decode("utf-8"))
    except OSError as error:
        raise _Unusable(f"{path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise _Unusable(f"{path} is not UTF-8 (byte {error.start}).") from error
    except tomllib.TOMLDecodeError as error:
        raise _Unusable(f"{path} is not TOML: {error}.") from error
    try:
        return layout_from(document)
    except InvalidRequest as error:
        raise _Unusable(f"{path}: {error.problem}.") from error
