"""What is in a directory, to the byte, without following a link or opening what is no plain file."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

MOST_READ = 4_000
"""Files whose bytes are compared; of more than that the stat values must do, which cost a tenth."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a tree."""

    kind: str
    """``file``, ``directory``, ``link``, or ``odd``."""
    mode: int
    inode: int
    size: int = 0
    modified: int = 0
    """Nanoseconds; 0 for a directory, whose entries are compared themselves."""
    content: str = ""
    """Hash of the bytes of a file that can be read, target of a link."""


def tree(top: Path, *, read: bool = True, leave_out: str = "") -> dict[str, Entry]:
    """Everything below ``top`` and itself (as ``.``), by its path from there; empty if it is not there.
    What is in the directory ``leave_out`` is left out."""
    found: dict[str, Entry] = {}
    left = MOST_READ if read else 0
    for path, name in _walk(top, leave_out):
        entry = _entry(path, left > 0)
        if entry is not None:
            found[name] = entry
            left -= entry.kind == "file"
    return found


def _walk(top: Path, leave_out: str) -> Iterator[tuple[str, str]]:
    yield str(top), "."
    waiting = [(str(top), "")] if top.is_dir() and not top.is_symlink() else []
    while waiting:
        directory, prefix = waiting.pop()
        try:
            with os.scandir(directory) as entries:
                listed = list(entries)
        except OSError:
            continue
        for each in listed:
            yield each.path, prefix + each.name
            if each.is_dir(follow_symlinks=False) and prefix + each.name != leave_out:
                waiting.append((each.path, f"{prefix}{each.name}/"))


def _entry(path: str, read: bool) -> Entry | None:
    try:
        seen = os.lstat(path)
    except OSError:
        return None
    mode, kind = stat.S_IMODE(seen.st_mode), stat.S_IFMT(seen.st_mode)
    if kind == stat.S_IFDIR:
        return Entry("directory", mode, seen.st_ino)
    if kind == stat.S_IFLNK:
        return Entry("link", mode, seen.st_ino, content=os.readlink(path))
    if kind != stat.S_IFREG:
        return Entry("odd", mode, seen.st_ino)
    content = _hash(path) if read else ""
    return Entry("file", mode, seen.st_ino, seen.st_size, seen.st_mtime_ns, content)


def _hash(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "blake2b").hexdigest()
    except OSError:
        return "cannot be read"


@dataclass(frozen=True, slots=True)
class Difference:
    """One path that is not as it was."""

    path: str
    what: str
    """``new``, ``gone``, or ``changed``."""


def differences(before: Mapping[str, Entry], after: Mapping[str, Entry]) -> list[Difference]:
    """What is not as it was, in the order of the paths. What was not read on both sides is not compared by
    its bytes."""
    found = [Difference(path, "gone") for path in before.keys() - after.keys()]
    found += [Difference(path, "new") for path in after.keys() - before.keys()]
    for path in before.keys() & after.keys():
        was, is_ = before[path], after[path]
        if was != is_ and not (_but_content(was) == _but_content(is_) and not (was.content and is_.content)):
            found.append(Difference(path, "changed"))
    return sorted(found, key=lambda each: (each.path, each.what))


def _but_content(entry: Entry) -> tuple[object, ...]:
    return entry.kind, entry.mode, entry.inode, entry.size, entry.modified
