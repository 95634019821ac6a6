"""Linked worktrees as the repository knows them: the directories ``worktrees/<name>``."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator

from runcoord._core import limits
from runcoord._core.values import field, record
from runcoord._git.entries import NotReadable, content_of, entry_at, git_entry_at, names_in, small_text
from runcoord._git.values import Entry, Kind, Registration, SavedFile

#: Not saved of a registration: whole repositories of submodules.
_NOT_SAVED = frozenset({"modules"})


@record
class Saving:
    """Contents on their way into a snapshot. ``apart`` are those that become files of their own."""

    left: int = field(default_factory=lambda: limits.GIT_SNAPSHOT_BYTES)
    apart: dict[str, bytes] = field(default_factory=dict)

    def takes(self, content: bytes) -> bool:
        """True, and counted, when there is room for it."""
        if len(content) > self.left:
            return False
        self.left -= len(content)
        return True


def worktrees_directory(common: str) -> str:
    return os.path.join(common, "worktrees")


def registrations_of(common: str, saving: Saving | None, problems: list[str]) -> Iterator[Registration]:
    """Every registered worktree within the limit, in the order of the names."""
    directory = worktrees_directory(common)
    try:
        names = names_in(directory)
    except NotReadable as error:
        problems.append(f"the registered worktrees cannot be listed: {error}")
        return
    if len(names) > limits.GIT_WORKTREES:
        problems.append(
            f"{len(names) - limits.GIT_WORKTREES} worktrees beyond {limits.GIT_WORKTREES}: {directory}"
        )
    for name in names[: limits.GIT_WORKTREES]:
        try:
            yield registration_at(os.path.join(directory, name), saving)
        except NotReadable as error:
            problems.append(f"the worktree {name} cannot be read: {error}")


def registration_at(path: str, saving: Saving | None = None) -> Registration:
    """One registration. Raises :class:`NotReadable`."""
    admin = entry_at(path)
    if admin.kind is not Kind.DIRECTORY:
        return Registration(os.path.basename(path), admin, "", "", "", Entry("", Kind.ABSENT))  # noqa: PTH119
    gitdir = small_text(os.path.join(path, "gitdir")) or ""
    commondir = small_text(os.path.join(path, "commondir")) or ""
    link_path = os.path.join(path, gitdir) if gitdir else ""
    place = os.path.dirname(link_path)  # noqa: PTH120
    files: tuple[SavedFile, ...] = ()
    unsaved: list[str] = []
    if saving is not None:
        files = tuple(_saved_files(path, saving, unsaved))
    return Registration(
        os.path.basename(path),  # noqa: PTH119
        admin,
        gitdir,
        commondir,
        place,
        git_entry_at(link_path) if link_path else Entry("", Kind.ABSENT),
        os.path.lexists(os.path.join(path, "locked")),
        os.path.lexists(os.path.join(path, "index")),
        files,
        tuple(unsaved),
    )


def _saved_files(admin: str, saving: Saving, unsaved: list[str]) -> Iterator[SavedFile]:
    count = 0
    names = list(_walk(admin, "", unsaved, limits.GIT_ADMIN_DEPTH))
    split = any(name.startswith("sharedindex.") for name in names)
    for name in names:
        is_index = name == "index"
        if name.endswith(".lock") or name.startswith("sharedindex.") or (is_index and split):
            continue  # half of a split index is worth nothing; it is made anew
        if count >= limits.GIT_ADMIN_FILES:
            unsaved.append(f"{name}: more than {limits.GIT_ADMIN_FILES} files")
            break
        most = limits.GIT_INDEX_BYTES if is_index else limits.GIT_ADMIN_FILE_BYTES
        path = os.path.join(admin, name)
        try:
            content = content_of(path, most)
            mode = os.lstat(path).st_mode & 0o777
        except (NotReadable, OSError) as error:
            unsaved.append(f"{name}: {error}")
            continue
        if content is None:
            continue
        if not saving.takes(content):
            unsaved.append(f"{name}: the snapshot would be larger than {limits.GIT_SNAPSHOT_BYTES} bytes")
            continue
        count += 1
        digest = hashlib.sha256(content).hexdigest()
        if is_index:
            stored = f"index-{len(saving.apart)}"
            saving.apart[stored] = content
            yield SavedFile(name, mode, None, stored, digest)
        else:
            yield SavedFile(name, mode, content, "", digest)


def _walk(admin: str, below: str, unsaved: list[str], depth: int) -> Iterator[str]:
    """Names of files below ``admin``, directories before what is in them; links are left out."""
    try:
        names = names_in(os.path.join(admin, below) if below else admin)
    except NotReadable as error:
        unsaved.append(f"{below}: {error}")
        return
    for name in names:
        inner = os.path.join(below, name)
        kind = entry_at(os.path.join(admin, inner)).kind
        if kind is Kind.FILE:
            yield inner
        elif kind is Kind.DIRECTORY and name not in _NOT_SAVED and depth > 1:
            yield from _walk(admin, inner, unsaved, depth - 1)
        else:
            unsaved.append(f"{inner}: {'not copied' if kind is Kind.DIRECTORY else kind.value}")


def is_removed(registration: Registration, link: Kind) -> bool:
    """True when there is no worktree left to register. ``link`` is what stands at its ``.git`` now.

    A locked one that was away at the snapshot, on a drive that is not mounted, is one nevertheless.
    """
    away = registration.locked and registration.link.kind is Kind.ABSENT
    return link is Kind.ABSENT and not away
