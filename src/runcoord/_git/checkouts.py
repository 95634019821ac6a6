"""Finding the work tree and its repository by files alone.

git itself is not asked: what it answers depends on variables of the environment, on the owner of the
directory and on a config that may be broken, which is what there is to find out about. The walk follows git's
own rules (gitrepository-layout(5), and GIT_DISCOVERY_ACROSS_FILESYSTEM in git(1)) without the variables:
upwards from the directory, not over the border of a file system.
"""

from __future__ import annotations

import functools
import os
from dataclasses import replace
from pathlib import Path

from runcoord._core import limits
from runcoord._git.entries import NotReadable, content_of, entry_at, git_entry_at
from runcoord._git.values import Checkout, Entry, Kind


def checkout_at(cwd: str) -> Checkout | None:
    """The checkout that ``cwd`` lies in; None when it lies in none, or in the repository's own directory."""
    try:
        here = os.path.realpath(cwd)
        device = os.stat(here).st_dev  # noqa: PTH116
    except (OSError, ValueError):
        return None
    for _ in range(limits.GIT_PARENT_DIRECTORIES):
        entry = git_entry_at(os.path.join(here, ".git"))
        if entry.kind is Kind.FILE or _is_directory(entry):
            found = _behind(here, entry)
            if found is not None or entry.kind is Kind.FILE:
                return found  # git, too, stops at a file that leads nowhere
        if _is_repository(here):
            return None
        parent = os.path.dirname(here)  # noqa: PTH120
        try:
            if parent == here or os.stat(parent).st_dev != device:  # noqa: PTH116
                return None
        except OSError:
            return None
        here = parent
    return None


def _is_directory(entry: Entry) -> bool:
    return entry.kind is Kind.DIRECTORY or (entry.kind is Kind.SYMLINK and Path(entry.path).exists())


def _behind(top: str, entry: Entry) -> Checkout | None:
    git_dir = directory_behind(top, entry)
    if git_dir is None:
        return None
    common = common_behind(git_dir)
    if common is None or not _is_repository(common):
        return None
    return Checkout(top, entry, git_dir, entry_at(common))


def directory_behind(top: str, entry: Entry) -> str | None:
    """The directory that ``.git`` is or leads to; None when it leads to none."""
    text = entry.leads_to
    path = entry.path
    if entry.kind is Kind.SYMLINK:
        try:
            content = content_of(path, limits.GIT_SMALL_FILE_BYTES, follow=True)
        except NotReadable:  # a directory, as a rule
            content = None
        text = "" if content is None else os.fsdecode(content).rstrip("\r\n")
    if text.startswith("gitdir:"):
        path = os.path.join(top, text.removeprefix("gitdir:").strip(" "))
    real = os.path.realpath(path)
    return real if Path(real).is_dir() else None


def common_behind(git_dir: str) -> str | None:
    """The directory that holds config and refs: what ``commondir`` says, else ``git_dir`` itself."""
    try:
        content = content_of(os.path.join(git_dir, "commondir"), limits.GIT_SMALL_FILE_BYTES)
    except NotReadable:
        return None
    if content is None:
        return git_dir
    return os.path.realpath(os.path.join(git_dir, os.fsdecode(content).rstrip("\r\n")))


def _is_repository(path: str) -> bool:
    """True for a directory laid out as a repository. What HEAD and config say does not matter: they may be
    what is broken."""
    return (
        Path(path, "objects").is_dir()
        and Path(path, "refs").is_dir()
        and (os.path.lexists(os.path.join(path, "HEAD")) or Path(path, "config").exists())
    )


def main_place(checkout: Checkout) -> str:
    """Where git is asked about the main work tree: beside ``.git``, or in a repository that has none."""
    common = checkout.common.path
    return os.path.dirname(common) if os.path.basename(common) == ".git" else common  # noqa: PTH119, PTH120


@functools.cache
def current_boot() -> str:
    """Which start of this machine this is; empty when the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except (OSError, ValueError):
        return ""


def objections(before: Checkout, boot: str) -> list[tuple[str, str]]:
    """Why nothing may be written: each a path and a reason. Empty when it is the repository it was.

    ``boot`` is when ``before`` was seen.
    """
    found: list[tuple[str, str]] = []
    entry = git_entry_at(before.entry.path)
    if not is_as_before(before.entry, entry, boot):
        found.append((entry.path, described_change(before.entry, entry)))
    common = entry_at(before.common.path)
    if not is_as_before(before.common, common, boot) and common.path not in {path for path, _ in found}:
        found.append((common.path, described_change(before.common, common)))
    if not found and os.path.realpath(before.common.path) != before.common.path:
        found.append((before.common.path, "a directory above it is a symbolic link now"))
    if not found and (led := _led_elsewhere(before, entry)):
        found.append(led)
    return found


def _led_elsewhere(before: Checkout, entry: Entry) -> tuple[str, str] | None:
    """The same ``.git`` as before may lead elsewhere, by a link on the way or by ``commondir``."""
    git_dir = directory_behind(before.top, entry)
    linked = before.git_dir != before.common.path
    if git_dir is None and linked and not os.path.lexists(before.git_dir):
        return None  # the registration of the caller's own worktree is gone, which can be put right
    if git_dir != before.git_dir:
        return entry.path, f"it led to {before.git_dir} and leads to {git_dir or 'nothing'} now"
    commondir = os.path.join(git_dir, "commondir")
    if linked and is_empty(commondir):
        return None  # can be put right, too
    common = common_behind(git_dir)
    if common != before.common.path:
        return commondir, f"the repository was {before.common.path} and is {common or 'unknown'} now"
    return None


def is_empty(path: str) -> bool:
    """True for a file that is gone or says nothing: damaged, but it leads nowhere else."""
    try:
        return not content_of(path, limits.GIT_SMALL_FILE_BYTES)
    except NotReadable:
        return False


def is_as_before(before: Entry, now: Entry, boot: str) -> bool:
    """True for the same thing, of the same owner, leading to the same place. Unknown is not the same.

    After a restart of the machine a file system may have another number, so only the inode is compared.
    """
    if boot != current_boot():
        before = replace(before, device=now.device)
    return now.kind not in {Kind.UNKNOWN, Kind.ABSENT} and before == now


def described_change(before: Entry, now: Entry) -> str:
    if now.problem:
        return f"it cannot be looked at: {now.problem}"
    if now.kind is not before.kind:
        leads = f" to {now.leads_to}" if now.kind is Kind.SYMLINK else ""
        return f"it was a {before.kind.value} and is {now.kind.value}{leads} now"
    if now.owner != before.owner:
        return f"it belonged to user {before.owner} and belongs to user {now.owner} now"
    if now.leads_to != before.leads_to:
        return f"it led to {before.leads_to} and leads to {now.leads_to} now"
    return "another one was put in its place"
