"""Which run folders are imported, and how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runcoord._core import limits
from runcoord._core.layouts import RUN_FOLDERS, Layout
from runcoord._core.redaction import redacted
from runcoord._core.values import value
from runcoord.errors import InvalidConfiguration


@value
class RunFolders:
    """The run folders of one home. Raises :class:`~runcoord.errors.InvalidConfiguration`."""

    home: str
    """A directory that is trusted, spelled in any way; what is below it is not."""
    layout: Layout = RUN_FOLDERS
    fallback: str = ""
    """Destination of the events of imported runs. Empty: they are held until somebody routes them; whatever
    the folders themselves say of it is not believed."""
    prune_after: float | None = None
    """Age in seconds, since its run ended, at which a folder that has a tombstone is removed. ``None``:
    never."""
    redact: Callable[[str], str] = redacted
    """Takes credentials out of what the folders say, before it is cut to its limit."""

    def __post_init__(self) -> None:
        home: Any = self.home
        if hasattr(home, "__fspath__"):
            home = home.__fspath__()
            object.__setattr__(self, "home", home)
        if not isinstance(home, str) or not home or "\0" in home:
            raise _wrong("home", home, "it is the path of a directory")
        if not isinstance(self.layout, Layout):
            raise _wrong("layout", self.layout, "it is a Layout, such as RUN_FOLDERS")
        if not isinstance(self.fallback, str) or len(self.fallback) > limits.MAX_ID_CHARACTERS:
            raise _wrong("fallback", self.fallback, "it is the name of a destination, or empty")
        age: Any = self.prune_after
        plain = isinstance(age, int | float) and not isinstance(age, bool)
        if age is not None and (not plain or not 0 < age <= limits.MAX_SETTING_SECONDS):
            raise _wrong("prune_after", age, "it is a positive number of seconds, or None")
        if not callable(self.redact):
            raise _wrong("redact", self.redact, "it takes a text and gives one")


def _wrong(field: str, given: object, problem: str) -> InvalidConfiguration:
    return InvalidConfiguration(
        f"{field} {given!r:.200} of run folders: {problem}",
        remedy="Correct it; nothing was looked at.",
        setting=field,
    )
