"""How the folders of one home must stay, kept folder by folder: a step that changes one costs one."""

from __future__ import annotations

import os
from dataclasses import dataclass

from pytest_runcoord.homes.home import Home
from pytest_runcoord.homes.shapes import TOMBSTONE
from pytest_runcoord.homes.trees import MOST_READ, Entry, differences, tree

BESIDE = ""
"""What stands for the home and its root, without what is in the folders."""


@dataclass(frozen=True, slots=True)
class Harm:
    """One path of a home that is not as the scenario left it."""

    home: str
    folder: str
    path: str
    what: str
    """``new``, ``gone``, or ``changed``."""
    had_tombstone: bool
    """Whether the folder had a tombstone before."""

    def __str__(self) -> str:
        inside = "" if self.path == "." else f"/{self.path}"
        return f"{self.home}: {self.folder or 'the root'}{inside} is {self.what}"


class Forest:
    """The folders of one home as they were left."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._trees: dict[str, dict[str, Entry]] = {}
        self.remember()

    def remember(self, *folders: str) -> None:
        """What these folders are like now is how they must stay; with none, everything."""
        if not folders:
            self._trees = self._all()
            return
        for folder in folders:
            found = tree(self._home.root / folder)
            if found:
                self._trees[folder] = found
            else:
                self._trees.pop(folder, None)

    def harm(self, *folders: str) -> list[Harm]:
        """What of these folders is not as it was left, or of everything. It is then taken as it is."""
        if folders:
            now = {folder: tree(self._home.root / folder) for folder in folders}
            before = {folder: self._trees.get(folder, {}) for folder in folders}
        else:
            now, before = self._all(), self._trees
        found: list[Harm] = []
        for folder in now.keys() | before.keys():
            was, is_ = before.get(folder, {}), now.get(folder, {})
            found += [
                Harm(self._home.real.name, folder, each.path, each.what, TOMBSTONE in was)
                for each in (differences(was, is_) if was != is_ else ())
            ]
            if is_:
                self._trees[folder] = is_
            else:
                self._trees.pop(folder, None)
        return sorted(found, key=lambda each: (each.folder, each.path))

    def _all(self) -> dict[str, dict[str, Entry]]:
        root = self._home.root
        trees = {BESIDE: self._beside()}
        names = [] if root.is_symlink() or not root.is_dir() else os.listdir(root)
        for name in names:
            trees[name] = tree(root / name, read=len(names) <= MOST_READ)
        return trees

    def _beside(self) -> dict[str, Entry]:
        """The entries of the home, without what is below its root."""
        return tree(self._home.real, leave_out=self._home.root_name)
