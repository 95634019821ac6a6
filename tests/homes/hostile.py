"""Homes that somebody made who means harm: what is in them, and what must come of each folder.

:func:`hostile_homes` gives plain values, :class:`HostileHome` makes real directories of one.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import strategies as st

from runcoord._core.limits import MAX_STATE_FILE_BYTES
from runcoord.ports import RefusalKind

SECRET = "outside-secret"
"""In every file that is not in the home. Must turn up nowhere."""
IMPORTED, HISTORY = "imported", "history"

Verdict = str | RefusalKind
"""What must come of a folder."""


@dataclass(frozen=True)
class Planned:
    """One entry of the root."""

    name: str
    shape: str


def state_bytes(name: str, **more: object) -> bytes:
    # A name that is no text would be refused before anybody reads this.
    document = {
        "id": name,
        "agent": "inside",
        "task": "t",
        "started": 1.7e9,
        "parent_session": "chat",
        **more,
    }
    return json.dumps(document).encode("utf-8", "surrogatepass")


@dataclass
class HostileHome:
    """A home below ``place``, with something outside that must stay as it is."""

    place: Path
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    flickering: list[str] = field(default_factory=list)
    """Names that a second thread swaps."""

    @property
    def home(self) -> Path:
        return self.place / "home"

    @property
    def root(self) -> Path:
        return self.home / "runs"

    @property
    def outside(self) -> Path:
        return self.place / "outside"

    def make(self, entries: list[Planned]) -> HostileHome:
        self.root.mkdir(parents=True)
        self.outside.mkdir()
        (self.outside / "file").write_bytes(state_bytes("x", agent=SECRET))
        (self.home / "private").write_bytes(state_bytes("x", agent=SECRET))
        for entry in entries:
            decoy = self.outside / f"decoy-{len(self.verdicts)}"
            decoy.mkdir()
            (decoy / "state.json").write_bytes(state_bytes(entry.name, agent=SECRET))
            (decoy / "result.txt").write_text(SECRET)
            path = os.path.join(self.root, entry.name)
            self.verdicts[entry.name] = SHAPES[entry.shape](self, path, entry.name, decoy)
        for canary in (*self.outside.rglob("*"), self.home / "private"):
            os.utime(canary, ns=(10**18, 10**18))
        return self

    def everything(self) -> dict[str, object]:
        """All that is there, with the times of the last change; of what is outside also of the last read."""
        found: dict[str, object] = {}
        for directory, directories, files in os.walk(os.fsencode(self.place)):
            for name in (*directories, *files):
                path = os.path.join(directory, name)
                now = os.lstat(path)
                times = (now.st_mtime_ns, now.st_ctime_ns if not self._flickers(path) else 0)
                held: object = stat.S_IFMT(now.st_mode), now.st_size, now.st_nlink, times
                if stat.S_ISREG(now.st_mode) and b"/outside/" in path:
                    held = held, now.st_atime_ns
                elif stat.S_ISREG(now.st_mode) and now.st_size < 10_000:
                    held = held, Path(os.fsdecode(path)).read_bytes() if os.access(path, os.R_OK) else b""
                elif stat.S_ISLNK(now.st_mode):
                    held = held, os.readlink(path)
                found[os.fsdecode(path)] = held
        return found

    def _flickers(self, path: bytes) -> bool:
        return any(os.fsencode(name) in path for name in self.flickering)

    def remove(self) -> None:
        for directory, directories, _ in os.walk(self.place):
            for name in directories:
                path = os.path.join(directory, name)
                if not os.path.islink(path):
                    os.chmod(path, 0o700)
        shutil.rmtree(self.place)


# --- shapes: each makes one entry and says what must come of it ---

Shape = Callable[[HostileHome, str, str, Path], Verdict]
SHAPES: dict[str, Shape] = {}


def _shape(make: Shape) -> Shape:
    SHAPES[make.__name__.strip("_")] = make
    return make


def _write(path: str, file: str, data: bytes) -> None:
    with open(os.path.join(path, file), "wb") as opened:
        opened.write(data)


def _good(home: HostileHome, path: str, name: str, decoy: Path) -> Verdict:
    os.mkdir(path)
    _write(path, "state.json", state_bytes(name))
    return IMPORTED


def _with_files(verdict: Verdict, **files: bytes | Callable[[str, Path], object]) -> Shape:
    """A folder with a good state file, and others in the place of it or beside it."""

    def make(home: HostileHome, path: str, name: str, decoy: Path) -> Verdict:
        _good(home, path, name, decoy)
        for file, what in files.items():
            full = os.path.join(
                path, {"state": "state.json", "grave": "tombstone.json"}.get(file, "result.txt")
            )
            if os.path.lexists(full):
                os.remove(full)
            if callable(what):
                what(full, decoy)
            else:
                _write(path, os.path.basename(full), what)
        return verdict

    return make


def _fifo(path: str, decoy: Path) -> None:
    os.mkfifo(path)


def _linked(path: str, decoy: Path) -> None:
    os.symlink(decoy / "state.json", path)


def _loop(path: str, decoy: Path) -> None:
    os.symlink(path, path)


def _hard_linked(path: str, decoy: Path) -> None:
    os.link(decoy / "state.json", path)


def _directory(path: str, decoy: Path) -> None:
    os.mkdir(path)


def _nothing(path: str, decoy: Path) -> None:
    """Left out."""


def _device(path: str, decoy: Path) -> None:
    try:
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    except OSError:  # not permitted here
        os.mkfifo(path)


def _sparse(path: str, decoy: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(2**40)


def _unreadable(path: str, decoy: Path) -> None:
    _write(os.path.dirname(path), os.path.basename(path), b"{}")
    os.chmod(path, 0)


def _is_denied() -> bool:
    """Whether a file without permissions cannot be read here; who may do anything reads it."""
    number, path = tempfile.mkstemp()
    os.close(number)
    os.chmod(path, 0)
    try:
        os.close(os.open(path, os.O_RDONLY))
    except PermissionError:
        return True
    finally:
        os.remove(path)
    return False


DENIES = _is_denied()
DEEP = b'{"id":' + b"[" * 50_000
TWICE = b'{"id": "a", "id": "b"}'
KINDS = RefusalKind
SHAPES |= {
    "good": _good,
    "good with a result": _with_files(IMPORTED, result=b"r" * 99),
    "history": _with_files(HISTORY, grave=b'{"outcome": "completed", "died": 1.7e9}'),
    "unknown outcome": _with_files(HISTORY, grave=b'{"outcome": "won"}'),
    "tombstone without outcome": _with_files(IMPORTED, grave=b"{}"),
    "torn": _with_files(KINDS.CORRUPT, state=b'{"id": "'),
    "empty": _with_files(KINDS.CORRUPT, state=b""),
    "deep": _with_files(KINDS.CORRUPT, state=DEEP),
    "NaN": _with_files(KINDS.CORRUPT, state=b'{"id": NaN}'),
    "key twice": _with_files(KINDS.CORRUPT, state=TWICE),
    "not UTF-8": _with_files(KINDS.CORRUPT, state=b'{"id": "\xff"}'),
    "another id": _with_files(KINDS.CORRUPT, state=state_bytes("nobody")),
    "no state": _with_files(KINDS.MISSING, state=_nothing),
    "state at the limit": _with_files(KINDS.CORRUPT, state=b"[" * MAX_STATE_FILE_BYTES),
    "huge": _with_files(KINDS.TOO_LARGE, state=_sparse),
    "state a link": _with_files(KINDS.LINK, state=_linked),
    "state a loop": _with_files(KINDS.LINK, state=_loop),
    "state a hard link": _with_files(KINDS.HARD_LINK, state=_hard_linked),
    "state a FIFO": _with_files(KINDS.NOT_REGULAR, state=_fifo),
    "state a directory": _with_files(KINDS.NOT_REGULAR, state=_directory),
    "state a device": _with_files(KINDS.NOT_REGULAR, state=_device),
    "state unreadable": _with_files(KINDS.DENIED if DENIES else KINDS.CORRUPT, state=_unreadable),
    "tombstone torn": _with_files(KINDS.CORRUPT, grave=b"{"),
    "tombstone a link": _with_files(KINDS.LINK, grave=_linked),
    "tombstone a hard link": _with_files(KINDS.HARD_LINK, grave=_hard_linked),
    "tombstone a FIFO": _with_files(KINDS.NOT_REGULAR, grave=_fifo),
    "tombstone huge": _with_files(KINDS.TOO_LARGE, grave=_sparse),
    "result a link": _with_files(IMPORTED, result=_linked),
    "result a hard link": _with_files(IMPORTED, result=_hard_linked),
    "result a FIFO": _with_files(IMPORTED, result=_fifo),
    "result huge": _with_files(IMPORTED, result=_sparse),
}


@_shape
def _folder_a_link(home: HostileHome, path: str, name: str, decoy: Path) -> Verdict:
    os.symlink(decoy, path)
    return RefusalKind.LINK


@_shape
def _folder_a_link_to_a_neighbour(home: HostileHome, path: str, name: str, decoy: Path) -> Verdict:
    os.symlink(sorted(home.verdicts)[0] if home.verdicts else "..", path)
    return RefusalKind.LINK


@_shape
def _folder_a_file(home: HostileHome, path: str, name: str, decoy: Path) -> Verdict:
    _write(os.path.dirname(path), os.path.basename(path), state_bytes(name))
    return RefusalKind.NOT_A_DIRECTORY


@_shape
def _folder_a_fifo(home: HostileHome, path: str, name: str, decoy: Path) -> Verdict:
    os.mkfifo(path)
    return RefusalKind.NOT_A_DIRECTORY


@_shape
def _folder_unreadable(home: HostileHome, path: str, name: str, decoy: Path) -> Verdict:
    _good(home, path, name, decoy)
    os.chmod(path, 0)
    return RefusalKind.DENIED if DENIES else IMPORTED


@_shape
def _nested(home: HostileHome, path: str, name: str, decoy: Path) -> Verdict:
    _good(home, path, name, decoy)
    deep = os.path.join(path, *["runs"] * 30)
    os.makedirs(deep)
    os.symlink(home.root, os.path.join(deep, "again"))
    return IMPORTED


# --- names ---

GOOD_NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_. -]{0,30}", fullmatch=True) | st.sampled_from(
    [
        "A",
        "a",
        "x" * 200,
        "X" * 200,
        "caf\u00e9",
        "cafe\u0301",
        "-rf",
        ".hidden",
        "...",
        "%s",
        "a'b\"",
        "~",
        "*",
    ]
)
BAD_NAMES = st.sampled_from(
    ["y" * 201, "z" * 255, "a\nb", "\x1b[31m", "b\\c", "\udcff\udcfe", "\u202e", "AKIA" + "Q" * 16]
)


def hostile_homes(largest: int = 12) -> st.SearchStrategy[list[Planned]]:
    """Entries of a root, each name once."""
    entries = st.builds(Planned, GOOD_NAMES | BAD_NAMES, st.sampled_from(sorted(SHAPES)))
    return st.lists(entries, max_size=largest, unique_by=lambda entry: entry.name)


def is_bad(name: str) -> bool:
    """Whether the name alone is refused, whatever has it."""
    return len(name) > 200 or not name.isprintable() or "\\" in name or name.startswith("AKIA")
