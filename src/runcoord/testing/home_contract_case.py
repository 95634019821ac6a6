"""What the parts of the contract of homes share."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from unittest import SkipTest

from runcoord.ports import FolderRefused, Homes, OpenRoot, RefusalKind
from runcoord.testing.contract_case import require_equal

ROOT = "runs"
STATE = "state.json"
LIMIT = 1_000


class HomesCase:
    """The hooks, and short ways to say things. Files are made with :mod:`os`, so that an emulated file system
    that takes its place is one too."""

    homes: Homes
    place: str
    """An empty directory of its own."""
    _opened: list[OpenRoot]

    # --- to be filled in ---

    def make_homes(self) -> Homes:
        """The homes to try."""
        raise NotImplementedError

    def make_place(self) -> str:
        """An empty directory; removed after the test."""
        raise NotImplementedError

    # --- for the parts ---

    def setup_method(self) -> None:
        self._opened = []
        self.homes = self.make_homes()
        self.place = self.make_place()
        os.makedirs(self.at(ROOT))

    def teardown_method(self) -> None:
        for root in self._opened:
            root.close()
        shutil.rmtree(self.place, ignore_errors=True)

    @property
    def home(self) -> str:
        return os.path.join(self.place, "home")

    def at(self, *parts: str) -> str:
        """A path in the home."""
        return os.path.join(self.home, *parts)

    def make(self, folder: str, **files: bytes) -> str:
        """A folder with files (``state`` is the state file's), and its path."""
        path = self.at(ROOT, folder)
        os.mkdir(path)
        for name, data in files.items():
            self.write(os.path.join(path, STATE if name == "state" else name), data)
        return path

    def write(self, path: str, data: bytes) -> str:
        with open(path, "wb") as file:
            file.write(data)
        return path

    def outside(self, data: bytes = b"secret") -> str:
        """A file out of the home."""
        return self.write(os.path.join(self.place, "outside"), data)

    def opened(self, root: str = ROOT) -> OpenRoot:
        """The root; closed after the test."""
        self._opened.append(self.homes.open(self.home, root))
        return self._opened[-1]

    def need_holding(self) -> None:
        """Skip the test where directories cannot be held."""
        if self.opened().missing:
            raise SkipTest(f"not here: {self.opened().missing[0]}")

    def need(self, able: bool, what: str) -> None:
        if not able:
            raise SkipTest(f"{what} cannot be made here")

    def link(self, to: str, at: str) -> None:
        try:
            os.symlink(to, at)
        except (OSError, NotImplementedError, AttributeError) as error:
            raise SkipTest(f"links cannot be made here: {error}") from error

    def hard_link(self, to: str, at: str) -> None:
        try:
            os.link(to, at)
        except (OSError, NotImplementedError, AttributeError) as error:
            raise SkipTest(f"hard links cannot be made here: {error}") from error

    def refused(self, kind: RefusalKind, call: Callable[[], object]) -> FolderRefused:
        """What ``call`` was refused with, which is of this kind and has a reason."""
        try:
            given = call()
        except FolderRefused as error:
            refused = error
        else:
            raise AssertionError(f"not refused ({kind}), but gave {given!r}")
        require_equal(refused.kind, kind, f"kind of the refusal ({refused.reason})")
        assert refused.reason, "the refusal has no reason"
        assert "secret" not in refused.reason, f"the reason quotes the file: {refused.reason}"
        return refused
