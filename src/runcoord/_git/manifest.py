"""A snapshot on disk: ``manifest.json``, and the larger contents as files beside it.

The manifest is written last, under another name, and renamed when it is durable: with it the snapshot is
complete, without it there is none. It carries its own digest, so that a damaged one is never believed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runcoord._core import limits
from runcoord._git.entries import NotReadable, content_of, sync, write_new
from runcoord._git.records import NotTheForm, as_document, from_document
from runcoord._git.values import Absence, GitSnapshot, NoSnapshot, SavedFile, State
from runcoord.errors import GitStateUnsaved

FORMAT = 1
MANIFEST = "manifest.json"
_UNFINISHED = "manifest.unfinished"
#: Configs may hold addresses with passwords in them.
_MODE = 0o600
_DIRECTORY_MODE = 0o700

_REMEDY = (
    "Nothing was changed. If the checkout cannot be used, look at core.bare and core.worktree in its config."
)


def write(directory: str, before: State, apart: Mapping[str, bytes]) -> GitSnapshot:
    """Write a snapshot and make it durable before returning.

    Raises :class:`~runcoord.errors.GitStateUnsaved`, also when the directory holds a snapshot already: the
    first one is the state before the run, and is never written over.
    """
    try:
        place = Path(directory)
        if not place.exists():
            place.mkdir(mode=_DIRECTORY_MODE, parents=True)
            sync(str(place.parent))
        if os.path.lexists(place / MANIFEST):
            raise GitStateUnsaved(
                f"there is a git snapshot already: {directory}",
                remedy="Each run has a directory of its own; restore from this one, or remove it.",
                path=directory,
            )
        for name, content in apart.items():
            (place / name).unlink(missing_ok=True)  # of a try that did not get as far as the manifest
            write_new(str(place / name), content, _MODE)
        unfinished = place / _UNFINISHED
        unfinished.unlink(missing_ok=True)
        write_new(str(unfinished), _encoded(before), _MODE)
        unfinished.rename(place / MANIFEST)
        sync(directory)
    except (OSError, ValueError) as error:
        raise GitStateUnsaved(
            f"the state of the git checkout could not be saved in {directory}: {error}",
            remedy="Nothing was started. Check that the directory can be written and that the disk has room.",
            path=directory,
        ) from error
    return GitSnapshot(directory, before)


def _encoded(before: State) -> bytes:
    content = json.dumps(as_document(before), separators=(",", ":"), sort_keys=True)
    digest = hashlib.sha256(content.encode("ascii")).hexdigest()
    return f'{{"format":{FORMAT},"sha256":"{digest}","before":{content}}}\n'.encode("ascii")


def load(directory: str | os.PathLike[str]) -> GitSnapshot | NoSnapshot:
    """The snapshot in ``directory``, for whoever comes after the one that took it.

    Never raises for what is on the disk: a directory without a complete snapshot, or with a damaged one,
    gives a :class:`NoSnapshot` that says which.
    """
    place = os.fspath(directory)
    path = os.path.join(place, MANIFEST)
    try:
        content = content_of(path, limits.GIT_MANIFEST_BYTES)
    except NotReadable as error:
        return _damaged(place, f"the git snapshot cannot be read: {error}")
    if content is None:
        return NoSnapshot(
            place,
            Absence.MISSING,
            f"there is no git snapshot in {place}",
            "None is needed: it is completed before a run begins, so this run did not begin.",
        )
    try:
        return _decoded(place, json.loads(content))
    except (ValueError, NotTheForm, RecursionError, OverflowError) as error:
        return _damaged(place, f"the git snapshot is damaged: {path} ({error})")


def _decoded(place: str, document: Any) -> GitSnapshot | NoSnapshot:
    if not isinstance(document, dict) or type(document.get("format")) is not int:
        raise NotTheForm("it has no format number")
    if document["format"] > FORMAT:
        return NoSnapshot(
            place,
            Absence.TOO_NEW,
            f"the git snapshot in {place} has format {document['format']}, and {FORMAT} is the newest known",
            "Restore it with the runcoord that took it, or a newer one.",
        )
    before = document.get("before")
    content = json.dumps(before, separators=(",", ":"), sort_keys=True)
    if hashlib.sha256(content.encode("ascii")).hexdigest() != document.get("sha256"):
        raise NotTheForm("its content does not have its digest")
    return GitSnapshot(place, from_document(State, before))


def _damaged(place: str, problem: str) -> NoSnapshot:
    return NoSnapshot(place, Absence.DAMAGED, problem, _REMEDY)


def content_saved(snapshot: GitSnapshot, file: SavedFile) -> bytes:
    """The content of a saved file. Raises :class:`NotReadable` when it is gone, or is not what was saved."""
    content = file.content
    if content is None:
        path = os.path.join(snapshot.directory, file.stored)
        content = content_of(path, limits.GIT_INDEX_BYTES)
        if content is None:
            raise NotReadable(f"it is gone: {path}")
    if hashlib.sha256(content).hexdigest() != file.digest:
        raise NotReadable(f"it is not what was saved: {file.name}")
    return content
