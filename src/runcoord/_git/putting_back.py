"""Writing single things back: config bytes, HEAD, a worktree's registration. Each is whole or not there.

Every function here either does it and says what it did, or raises ``OSError`` or
:class:`~runcoord._git.entries.NotReadable` and has changed nothing that git reads.
"""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path

from runcoord._core import limits
from runcoord._git.entries import NotReadable, content_of, entry_at, git_entry_at, sync, write_new
from runcoord._git.manifest import content_saved
from runcoord._git.registrations import is_removed, worktrees_directory
from runcoord._git.values import ConfigFile, Entry, GitSnapshot, Head, Kind, Registration

#: Without these a directory is no registration.
_NEEDED = ("HEAD", "commondir", "gitdir")


class NothingLeft(Exception):
    """There is nothing that the thing could be put back for; the text says what is missing."""


class NotOurs(Exception):
    """Something else has taken the place; the text says what."""


def give_back(path: str, owner: int) -> None:
    """As root, let the file belong to whom it did: otherwise what root wrote is not the user's any more."""
    if os.geteuid() == 0 and owner >= 0 and os.lstat(path).st_uid != owner:
        os.chown(path, owner, os.lstat(Path(path).parent).st_gid, follow_symlinks=False)


def put_config_bytes(before: ConfigFile, content: bytes) -> str:
    """Replace the config by the bytes it had, under git's own lock. What is there now is kept beside it."""
    path = before.resolved
    lock = f"{path}.lock"
    write_new(lock, content, before.mode)
    kept = ""
    try:
        give_back(lock, before.owner)
        if os.path.lexists(path):
            kept = f"{path}.damaged-{secrets.token_hex(4)}"
            _keep(path, kept)
        os.rename(lock, path)  # noqa: PTH104
    except BaseException:
        Path(lock).unlink(missing_ok=True)
        raise
    sync(str(Path(path).parent))
    return f"the bytes it had; what was there is {kept}" if kept else "the bytes it had"


def _keep(path: str, kept: str) -> None:
    try:
        os.link(path, kept, follow_symlinks=False)
    except OSError:  # not every file system has hard links
        write_new(kept, content_of(path, limits.GIT_CONFIG_BYTES) or b"", 0o600)


def put_head(before: Head, owner: int) -> None:
    """Write a HEAD where there is none that git accepts, under git's own lock."""
    lock = f"{before.path}.lock"
    if before.as_link:
        os.symlink(before.text, lock)  # noqa: PTH211
    else:
        write_new(lock, os.fsencode(before.text) + b"\n", 0o644)
    try:
        give_back(lock, owner)
        os.rename(lock, before.path)  # noqa: PTH104
    except BaseException:
        Path(lock).unlink(missing_ok=True)
        raise
    sync(str(Path(before.path).parent))


def put_registration(snapshot: GitSnapshot, before: Registration) -> tuple[str, ...]:
    """Make the directory ``worktrees/<name>`` as it was saved. Returns the names of files left out.

    Raises :class:`NothingLeft` or :class:`NotOurs` when it must not be put back.
    """
    _require_worktree(before)
    common = snapshot.before.checkout.common.path
    worktrees = worktrees_directory(common)
    kind = entry_at(worktrees).kind
    if kind not in {Kind.ABSENT, Kind.DIRECTORY}:
        raise NotOurs(f"{worktrees} is a {kind.value}")
    saved = {each.name for each in before.files}
    if missing := [name for name in _NEEDED if name not in saved]:
        raise NothingLeft(f"the snapshot does not hold its {', '.join(missing)}")
    # Made beside, because git takes every directory in ``worktrees`` for a worktree.
    staged = os.path.join(common, f"runcoord-putting-back-{before.name}")
    if os.path.lexists(staged):
        shutil.rmtree(staged)  # of a try that was interrupted
    Path(staged).mkdir()
    try:
        left_out = _fill(snapshot, before, staged)
        if kind is Kind.ABSENT:
            Path(worktrees).mkdir()
            give_back(worktrees, before.admin.owner)
        if os.path.lexists(before.admin.path):
            raise FileExistsError(f"it is there again: {before.admin.path}")
        os.rename(staged, before.admin.path)  # noqa: PTH104
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise
    sync(worktrees)
    sync(common)
    return left_out


def _fill(snapshot: GitSnapshot, before: Registration, staged: str) -> tuple[str, ...]:
    left_out = [each.partition(":")[0] for each in before.unsaved]
    for file in before.files:
        path = Path(staged, file.name)
        try:
            content = content_saved(snapshot, file)
        except NotReadable:
            if file.name in _NEEDED:
                raise
            left_out.append(file.name)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        write_new(str(path), content, file.mode)
    for directory, _, names in os.walk(staged, topdown=False):
        for name in names:
            give_back(os.path.join(directory, name), before.admin.owner)
        give_back(directory, before.admin.owner)
        sync(directory)
    return tuple(left_out)


def put_registration_file(snapshot: GitSnapshot, before: Registration, name: str) -> None:
    """Write ``gitdir`` or ``commondir`` of a registration that lost it."""
    _require_worktree(before)
    file = next((each for each in before.files if each.name == name), None)
    if file is None:
        raise NothingLeft(f"the snapshot does not hold its {name}")
    content = content_saved(snapshot, file)
    path = os.path.join(before.admin.path, name)
    staged = f"{path}.putting-back-{secrets.token_hex(4)}"
    write_new(staged, content, file.mode)
    try:
        give_back(staged, before.admin.owner)
        os.rename(staged, path)  # noqa: PTH104
    except BaseException:
        Path(staged).unlink(missing_ok=True)
        raise
    sync(before.admin.path)


def _require_worktree(before: Registration) -> None:
    """The worktree must still be there and say that it belongs to this registration."""
    now = git_entry_at(before.link.path)
    if is_removed(before, now.kind):
        raise NothingLeft(f"its directory, or .git in it, is gone: {before.place}")
    if now.kind is not Kind.ABSENT and _ties(now) != _ties(before.link):
        raise NotOurs(f"its .git is another one than before: {now.path} {now.problem}".rstrip())


def _ties(link: Entry) -> tuple[Kind, int, str]:
    return link.kind, link.owner, link.leads_to[: limits.GIT_SMALL_FILE_BYTES]
