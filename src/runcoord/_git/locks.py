"""Lock files of git that were left behind: who holds one, and moving aside one that nobody holds.

git's lock on ``config`` is the file ``config.lock``, which is written, closed and renamed. A git that was
killed leaves it, and from then on nobody can write the config. An open file shows a holder, but between
closing and renaming none is open; so any git that works in this repository counts as a holder, too, and an
unheld lock is looked at more than once.

Seen are the processes of this machine's process table, as far as it may be read: not those of another machine
on a network drive, nor of another pid namespace.
"""

from __future__ import annotations

import enum
import os
import secrets
import time
from collections.abc import Collection
from pathlib import Path

from runcoord._core import limits
from runcoord._core.values import value
from runcoord._git.entries import lock_at, sync
from runcoord._git.values import LockFile

_TABLE = "/proc"


class Held(enum.StrEnum):
    NOBODY = "nobody"
    SOMEBODY = "somebody"
    UNKNOWN = "unknown"


@value
class Holding:
    """Whether a lock is held, and what is known of that."""

    held: Held
    why: str = ""


def holding_of(lock: LockFile, roots: Collection[str]) -> Holding:
    """Who holds ``lock``. ``roots`` are the directories in which a git would be working on the repository."""
    if lock.owner != os.geteuid() and os.geteuid() != 0:
        return Holding(
            Held.UNKNOWN, f"it belongs to user {lock.owner}, whose processes cannot be looked into"
        )
    deadline = time.monotonic() + limits.GIT_HOLDERS_SECONDS
    for look in range(limits.GIT_LOCK_LOOKS):
        if look:
            time.sleep(limits.GIT_LOCK_LOOK_SECONDS)
        if lock_at(lock.path) != lock:
            return Holding(Held.SOMEBODY, "it changed while it was looked at")
        holding = _look(lock, roots, deadline)
        if holding.held is not Held.NOBODY:
            return holding
    return Holding(Held.NOBODY)


def _look(lock: LockFile, roots: Collection[str], deadline: float) -> Holding:
    try:
        pids = [int(name) for name in os.listdir(_TABLE) if name.isdigit()]  # noqa: PTH208
    except OSError as error:
        return Holding(Held.UNKNOWN, f"the process table cannot be read: {error}")
    if os.getpid() not in pids:
        return Holding(Held.UNKNOWN, "the process table is not that of this process")
    denied = 0
    for pid in pids:
        if time.monotonic() > deadline:
            return Holding(Held.UNKNOWN, f"the search was not done within {limits.GIT_HOLDERS_SECONDS:g} s")
        try:
            if _has_open(pid, lock):
                return Holding(Held.SOMEBODY, f"process {pid} has it open")
            if _is_git_at_work(pid, roots):
                return Holding(Held.SOMEBODY, f"process {pid} is a git at work in this repository")
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended
        except OSError:
            denied += _may_be_ours(pid, lock.owner)
    if denied:
        return Holding(Held.UNKNOWN, f"{denied} processes of user {lock.owner} cannot be looked into")
    return Holding(Held.NOBODY)


def _has_open(pid: int, lock: LockFile) -> bool:
    directory = f"{_TABLE}/{pid}/fd"
    for name in os.listdir(directory):  # noqa: PTH208
        path = f"{directory}/{name}"
        try:
            if os.readlink(path) == lock.path:  # noqa: PTH115
                return True
            seen = os.stat(path)  # noqa: PTH116
        except OSError:
            continue  # closed meanwhile
        if (seen.st_dev, seen.st_ino) == (lock.device, lock.inode):
            return True
    return False


def _is_git_at_work(pid: int, roots: Collection[str]) -> bool:
    name = Path(f"{_TABLE}/{pid}/comm").read_bytes().strip()
    if name != b"git" and not name.startswith(b"git-"):
        return False
    if pid == os.getpid():
        return False
    where = os.readlink(f"{_TABLE}/{pid}/cwd")  # noqa: PTH115
    if any(where == root or where.startswith(f"{root}/") for root in roots):
        return True
    told = os.fsdecode(Path(f"{_TABLE}/{pid}/cmdline").read_bytes())
    told += os.fsdecode(Path(f"{_TABLE}/{pid}/environ").read_bytes())
    return any(root in told for root in roots)


def _may_be_ours(pid: int, owner: int) -> bool:
    """True when a process that cannot be looked into runs as the owner of the lock."""
    try:
        return os.stat(f"{_TABLE}/{pid}").st_uid == owner  # noqa: PTH116
    except OSError:
        return False


def move_aside(lock: LockFile) -> str:
    """Rename the lock; returns the new path. Raises ``OSError``, and then the lock is where it was."""
    aside = f"{lock.path}.left-{secrets.token_hex(4)}"
    os.rename(lock.path, aside)  # noqa: PTH104
    moved = lock_at(aside)
    if moved is None or (moved.device, moved.inode) != (lock.device, lock.inode):
        os.link(aside, lock.path)  # another git locked meanwhile: give it back, if it is not there again
        os.unlink(aside)  # noqa: PTH108
        raise FileExistsError(f"another process locked it meanwhile: {lock.path}")
    sync(os.path.dirname(lock.path))  # noqa: PTH120
    return aside
