"""What an owner's own process sees of the homes of its scenario, and tells its world."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pytest_runcoord.homes.descriptors import open_below
from pytest_runcoord.homes.plan import HOMES, OUTSIDE
from pytest_runcoord.homes.system import System

Tell = Callable[[str, list[str]], object]


class Lookout:
    """The surroundings of the port for homes in a process of its own. The system is as it is."""

    def __init__(self, directory: Path, tell: Tell) -> None:
        self.system = System()
        base = directory.resolve()
        self._homes, self._outside, self._tell = base / HOMES, base / OUTSIDE, tell

    def may(self, call: str, root: str, folder: str, file: str) -> bool:
        return True

    def look_around(self) -> None:
        if self._outside.is_dir():
            found = open_below(self._outside)
            self._tell("looked", found)

    def about_to_write(self, folder: str, file: str) -> None:
        self._tell("writes", [folder, file])

    def look_behind(self) -> None:
        """A verb that reads in homes has ended."""
        if self._homes.is_dir() and (found := open_below(self._homes)):
            self._tell("left open", found)
