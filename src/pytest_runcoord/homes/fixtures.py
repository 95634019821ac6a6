"""What the fixtures for run folders give: homes in every spelling, good and hostile folders, plain paths.

They are for anybody's importer: nothing of the library is in them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pytest_runcoord.homes.fifos import FifoWatch
from pytest_runcoord.homes.home import Home
from pytest_runcoord.homes.outside import Outside
from pytest_runcoord.homes.shapes import SHAPES, bad_shapes, secret_parts
from pytest_runcoord.homes.spellings import spelled
from pytest_runcoord.homes.trees import Difference, Entry, differences, tree
from pytest_runcoord.homes.words import CANARY, FOLDER

HOME = "home"
MOST_SHOWN = 10
"""Paths that a failure names."""


class FolderHarmed(AssertionError):
    """Something was changed that an importer has no business with. Says what."""


class RunFolders:
    """Run folders in a home of their own: ``folders("r1")`` leaves a good one, and gives its path.

    What is outside of the home is looked at when the test ends: a file that was written through a link fails
    it. So does an importer that waited at a FIFO; it is let go after ten seconds.
    """

    def __init__(self, directory: Path, now: Callable[[], float], spelling: str = "plain") -> None:
        real = directory / "homes" / HOME
        self._home = Home(real, "", Outside(directory / "outside"), now)
        self._home.make()
        self._home.path = spelled(directory, real, spelling)
        self._before: dict[str, Entry] = {}
        self._fifos = FifoWatch()
        self.keep()

    # --- where ---

    @property
    def path(self) -> str:
        """The home, as it is spelled: what an importer is given."""
        return self._home.path

    @property
    def real(self) -> Path:
        """The home itself, without links in its path."""
        return self._home.real

    @property
    def root(self) -> Path:
        """The directory in it that the folders are in, ``runs``."""
        return self._home.root

    @property
    def canary(self) -> str:
        """A text that is in every file outside: where it comes up, something was read through a link."""
        return CANARY

    @property
    def secrets(self) -> tuple[str, ...]:
        """Made-up credentials that are in folders of the shape ``secrets``."""
        return secret_parts()

    @property
    def good(self) -> list[str]:
        """Names of the folders that an importer must bring in."""
        return sorted(name for name, known in self._home.folders.items() if known.fine)

    @property
    def bad(self) -> list[str]:
        """Names of the folders that it must refuse, each with its reason."""
        return sorted(name for name, known in self._home.folders.items() if not known.fine)

    # --- making ---

    def __call__(
        self,
        run: str,
        shape: str = "good",
        *,
        result: str | bytes | None = None,
        tombstone: str | Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> Path:
        """A folder with a state file of this shape, such as ``torn`` or ``deep``; fields replace those of a
        good one. ``tombstone`` is an outcome, or fields: the run is history.

        Raises ``ValueError`` for a shape that is not among :attr:`shapes`, ``FileExistsError`` when there is
        such a folder.
        """
        if shape not in SHAPES:
            raise ValueError(f"there is no shape {shape!r}; there are {', '.join(SHAPES)}")
        path = self._home.folder(run, shape, fields)
        if result is not None:
            self._home.result(run, result.encode() if isinstance(result, str) else result)
        if tombstone is not None:
            said = {"outcome": tombstone} if isinstance(tombstone, str) else tombstone
            self._home.tombstone(run, said=said)
        self.keep()
        return path

    def link(self, run: str, part: str = FOLDER, to: str = "outside") -> Path:
        """A link in the place of a part of a folder: ``folder``, ``state``, ``tombstone`` or ``result``.

        ``to`` is ``outside``, ``nowhere``, ``itself``, or another run, to whose part it leads.
        """
        path = self._home.link(run, part, to)
        self.keep()
        return path

    def hardlink(self, run: str, part: str = "state", to: str = "outside") -> Path:
        """A file of a folder that is a further name of one outside, or of another run's."""
        path = self._home.hardlink(run, part, to)
        self.keep()
        return path

    def odd(self, run: str, part: str = "state", kind: str = "fifo") -> Path:
        """A ``fifo``, a ``socket``, a ``directory`` (in the place of a folder: a file), or (as root only) a
        ``device``."""
        path = self._odd(run, part, kind)
        self.keep()
        return path

    def swap(self, run: str, part: str = FOLDER) -> Path:
        """Another real folder or file in the place of one, which is moved aside: for a test that does it
        while the importer reads."""
        path = self._home.swap(run, part)
        self.keep()
        return path

    def link_root(self) -> Path:
        """The root becomes a link to a directory outside that has folders of the same names."""
        self._home.replace_root("outside")
        self.keep()
        return self.root

    def hostile(self) -> list[str]:
        """One folder of every bad shape, and one for every odd file and link. Gives their names, which say
        what is wrong with each; the good ones that are there stay."""
        made = bad_shapes()
        for shape in made:
            self._home.folder(shape, shape)
        changes: dict[str, Callable[[str], object]] = {
            "folder-link": lambda run: self._home.link(run, FOLDER, "outside"),
            "state-link": lambda run: self._home.link(run, "state", "outside"),
            "hard-link": lambda run: self._home.hardlink(run, "state", "outside"),
            "fifo": lambda run: self._odd(run, "state", "fifo"),
            "socket": lambda run: self._odd(run, "state", "socket"),
            "directory": lambda run: self._odd(run, "state", "directory"),
            "file": lambda run: self._odd(run, FOLDER, "directory"),
        }
        for name, change in changes.items():
            self._home.folder(name)
            change(name)
        self.keep()
        return sorted([*made, *changes])

    def _odd(self, run: str, part: str, kind: str) -> Path:
        path = self._home.odd(run, part, kind)
        if kind == "fifo":
            self._fifos.add(path)
        return path

    # --- how they must stay ---

    def keep(self) -> None:
        """What is in the home now is how it must stay. Everything that makes folders calls it."""
        self._before = tree(self.real)

    def changes(self) -> dict[str, str]:
        """What is not as it was left: paths in the home, each ``new``, ``gone`` or ``changed``."""
        return {each.path: each.what for each in differences(self._before, tree(self.real))}

    def check(self, *, new: tuple[str, ...] = ()) -> None:
        """Raise :class:`FolderHarmed` if anything in the home or outside of it was changed. Files with a name
        among ``new``, such as ``tombstone.json``, may have been made."""
        found = self.changes()
        wrong = [
            Difference(path, what)
            for path, what in found.items()
            if not (what == "new" and path.rpartition("/")[2] in new)
        ]
        _raise("in the home", wrong)
        self.check_outside()

    def check_outside(self) -> None:
        """Raise :class:`FolderHarmed` if anything outside was changed."""
        _raise("outside of the home", self._home.outside.harm())

    def end(self) -> None:
        """The test is over. Raise :class:`FolderHarmed` if anything outside was changed, or somebody waited
        at a FIFO."""
        self._fifos.end()
        self.check_outside()
        if self._fifos.waited:
            shown = ", ".join(str(path.relative_to(self.real)) for path in self._fifos.waited[:MOST_SHOWN])
            raise FolderHarmed(
                f"somebody waited at a FIFO for a writer that never comes, and was let go: {shown}. "
                "Open what others left with O_NONBLOCK, and read only what fstat says is a regular file"
            )

    @property
    def shapes(self) -> dict[str, str]:
        """Every shape of a state file, and what it means."""
        return {name: shape.says for name, shape in SHAPES.items()}


def _raise(where: str, wrong: list[Difference]) -> None:
    if wrong:
        shown = ", ".join(f"{each.path} is {each.what}" for each in wrong[:MOST_SHOWN])
        raise FolderHarmed(f"{len(wrong)} paths {where} are not as they were: {shown}")


class DataHome(RunFolders):
    """A home whose path is spelled in one of five ways; the test runs once with each."""

    def __init__(self, directory: Path, now: Callable[[], float], spelling: str) -> None:
        super().__init__(directory, now, spelling)
        self.spelling = spelling
        """``plain``, ``symlinked``, ``symlinked-ancestor``, ``relative`` or ``trailing-slash``."""
