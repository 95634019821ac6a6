"""One home with run folders: made, and made hostile. Used by scenarios and by fixtures."""

from __future__ import annotations

import os
import shutil
import socket
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_runcoord.homes.outside import Outside
from pytest_runcoord.homes.shapes import (
    FILES,
    RESULT,
    ROOT,
    SHAPES,
    STATE,
    TOMBSTONE,
    secret_parts,
    state_of,
    tombstone_of,
)
from pytest_runcoord.homes.words import FOLDER

SOCKET_PATH_BYTES = 100
"""The longest path of a socket is 108 bytes on Linux; a longer one is reached through the directory."""


@dataclass(slots=True)
class Planted:
    """What is known of a folder that was made here."""

    run: str
    fine: bool = True
    """It must be imported; ``False``: it must be refused, and named."""
    secrets: tuple[str, ...] = ()
    """What of it must never come up anywhere."""
    history: bool = False
    """It has a tombstone with an outcome that was not written by an importer."""
    result: bytes | None = None
    """What its result file has in it, where it is a regular one."""


@dataclass(slots=True)
class Home:
    """A real directory. ``path`` is how it is spelled; ``now`` gives the time that folders are dated by."""

    real: Path
    path: str
    outside: Outside
    now: Callable[[], float]
    root_name: str = ROOT
    folders: dict[str, Planted] = field(default_factory=dict)
    """By name."""
    denied: set[tuple[str, str]] = field(default_factory=set)
    """Folder and file that may not be read; without a file the folder, without both the root."""
    aside: int = 0
    """How much was moved aside."""
    root_aside: int = 0
    """Which of it was the root; 0 when it is in its place."""
    _modes: dict[Path, int] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        """The directory that the folders are in."""
        return self.real / self.root_name

    def make(self) -> None:
        """Make the home and its root, both empty."""
        self.root.mkdir(parents=True, exist_ok=True)

    # --- folders ---

    def folder(
        self, run: str, shape: str = "good", said: Mapping[str, Any] | None = None, *, name: str | bytes = ""
    ) -> Path:
        """Make the folder of a run, with a state file of this shape. ``name`` is its name if not the id.

        Raises ``FileExistsError`` when there is one, ``KeyError`` for a shape that is not among ``SHAPES``.
        """
        path = self.where(run) if not name else self._named(name)
        path.mkdir()
        form = SHAPES[shape]
        if shape != "missing":
            (path / STATE).write_bytes(form.write(state_of(run, self.now(), said)))
        fine = form.fine and (not name or name == run)
        secrets = secret_parts() if shape == "secrets" else ()
        self.folders[path.name] = Planted(run, fine, secrets)
        return path

    def tombstone(self, run: str, shape: str = "good", said: Mapping[str, Any] | None = None) -> Path:
        """Write the tombstone of a folder, as whoever ended the run does."""
        path, form, known = self.where(run) / TOMBSTONE, SHAPES[shape], self.folders[run]
        path.write_bytes(form.write(tombstone_of(self.now()) | dict(said or {})))
        outcome = dict(said or {}).get("outcome", "completed")
        known.history, known.fine = bool(outcome), known.fine and form.fine
        known.secrets += secret_parts() if shape == "secrets" else ()
        return path

    def result(self, run: str, data: bytes) -> Path:
        """Write the result of a run."""
        path = self.where(run) / RESULT
        path.write_bytes(data)
        self.folders[run].result = data
        return path

    def rewrite(
        self, run: str, shape: str, said: Mapping[str, Any], *, replace: bool, keep_times: bool
    ) -> Path:
        """Write the state file of a folder anew: in place, or by putting another file in its place."""
        path, known = self.where(run) / STATE, self.folders[run]
        before = path.stat() if path.exists() else None
        data = SHAPES[shape].write(state_of(run, self.now(), said))
        if replace:
            other = path.with_name(".state.new")
            other.write_bytes(data)
            other.replace(path)
        else:
            path.write_bytes(data)
        if keep_times and before is not None:
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        known.fine = SHAPES[shape].fine
        known.secrets += secret_parts() if shape == "secrets" else ()
        return path

    def remove(self, run: str) -> None:
        """Somebody removes a folder."""
        shutil.rmtree(self.where(run))
        del self.folders[run]

    # --- hostility ---

    def link(self, run: str, part: str, to: str, *, relative: bool = False, keep: bool = False) -> Path:
        """Put a symbolic link in the place of a part of a folder. ``to`` is a word of ``TARGETS`` or another
        run. What was there is removed, or with ``keep`` moved aside."""
        at = self.part(run, part)
        target = self._target(run, part, to, at)
        self._clear(at, keep)
        at.symlink_to(os.path.relpath(target, at.parent) if relative else target)
        self._spoil(run, part)
        return at

    def replace_root(self, to: str, *, keep: bool = True) -> None:
        """Put a link in the place of the root; ``to`` as in :meth:`link`, or ``nothing`` to leave it away."""
        root = self.root
        if to == "outside":
            target = self.outside.root(tuple(self.folders), self.now())
        else:
            target = root if to == "itself" else root.with_name("nowhere")
        self._clear(root, keep)
        self.root_aside = self.aside if keep else 0
        if to != "nothing":
            root.symlink_to(target)

    def put_back(self) -> None:
        """The root that was moved aside is there again."""
        self._clear(self.root, keep=False)
        self._aside(self.root_aside).rename(self.root)
        self.root_aside = 0

    def swap(self, run: str, part: str, shape: str = "good") -> Path:
        """Put another one of the same kind in the place of a part; what was there is moved aside."""
        at = self.part(run, part)
        self._clear(at, keep=True)
        if part == FOLDER:
            at.mkdir()
            at = at / STATE
        form = SHAPES[shape]
        good = tombstone_of(self.now()) if part == "tombstone" else state_of(run, self.now())
        at.write_bytes(form.write(good) if part != "result" else b"another result")
        return at

    def hardlink(self, run: str, part: str, to: str) -> Path:
        """Make a file of a folder a further name of one ``outside``, or of the same file of another run."""
        at = self.part(run, part)
        target = self.outside.file(run, part, self.now()) if to == "outside" else self.part(to, part)
        self._clear(at, keep=False)
        os.link(target, at)
        self.outside.remember()
        self._spoil(run, part)
        if to != "outside":
            self._spoil(to, part)
        return at

    def odd(self, run: str, part: str, kind: str) -> Path:
        """Put what is no regular file in the place of a part. Raises ``PermissionError`` for a device where
        one may not be made."""
        at = self.part(run, part)
        self._clear(at, keep=False)
        if kind == "fifo":
            os.mkfifo(at)
        elif kind == "socket":
            _bind(at)
        elif kind == "device":
            os.mknod(at, 0o600 | 0o020000, os.makedev(1, 3))
        elif part == FOLDER:
            at.write_text("a file", "utf-8")
        else:
            at.mkdir()
        self._spoil(run, part)
        return at

    def deny(self, run: str, part: str, *, really: bool) -> None:
        """A part may not be read from now on; without a run, the root. ``really``: by its mode, which root is
        not held by."""
        file = FILES.get(part, "")
        self.denied.add((run, file))
        if really:
            at = self.part(run, part) if run else self.root
            self._modes[at] = stat.S_IMODE(at.stat().st_mode)
            at.chmod(0)

    def permit(self) -> None:
        """Everything may be read again."""
        self.denied.clear()
        for path, mode in self._modes.items():
            if path.exists():
                path.chmod(mode)
        self._modes.clear()

    # --- places ---

    def where(self, run: str) -> Path:
        """The folder of a run. Raises ``ValueError`` for one that is elsewhere: folders are removed, too."""
        return self._named(run)

    def part(self, run: str, part: str) -> Path:
        """A part of the folder of a run."""
        return self.where(run) if part == FOLDER else self.where(run) / FILES[part]

    def _named(self, name: str | bytes) -> Path:
        text = os.fsdecode(name)
        if not text or text in {".", ".."} or os.path.basename(text) != text:
            raise ValueError(f"{text!r} is not the name of a folder in {self.root}")
        return self.root / text

    def _target(self, run: str, part: str, to: str, at: Path) -> Path:
        if to == "outside":
            now = self.now()
            return self.outside.folder(run, now) if part == FOLDER else self.outside.file(run, part, now)
        if to == "nowhere":
            return at.with_name("nowhere")
        return at if to == "itself" else self.part(to, part)

    def _aside(self, number: int) -> Path:
        return self.real.parent / f"{self.real.name}-aside-{number}"

    def _clear(self, path: Path, keep: bool) -> None:
        if not os.path.lexists(path):
            return
        if keep:
            self.aside += 1
            path.rename(self._aside(self.aside))
        elif path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()

    def _spoil(self, run: str, part: str) -> None:
        """What happened to a part makes the folder a bad one; a result that cannot be read does not."""
        known = self.folders.setdefault(run, Planted(run))
        if part == "result":
            known.result = None
        else:
            known.fine = False


def _bind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as each:
        if len(os.fsencode(path)) <= SOCKET_PATH_BYTES:
            each.bind(str(path))
            return
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            each.bind(f"/proc/self/fd/{directory}/{path.name}")
        finally:
            os.close(directory)
