"""Putting a caller's git state back after a run whose owner is gone, from what was written down before it."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from runcoord._core import limits
from runcoord._core.events import canonical_json
from runcoord._core.model import CleanupState, Run
from runcoord._core.records import Snapshot, SnapshotState
from runcoord._core.texts import message_of, storable
from runcoord._core.values import replace


def put_back(snapshot: Snapshot) -> Snapshot:
    """The snapshot with what became of it. Never raises: it must not keep the run from ending."""
    return _with_git(snapshot, "restored")


def compared(snapshot: Snapshot) -> Snapshot:
    """The same after a success: how the git state differs is said, and nothing is written."""
    return _with_git(snapshot, "compared")


def _with_git(snapshot: Snapshot, what: str) -> Snapshot:
    try:
        from runcoord import _git

        saved = _git.load(snapshot.directory)
        if isinstance(saved, _git.NoSnapshot):
            return _refused(snapshot, saved.problem)
        if what == "compared":
            drift = _git.drift(saved)
            clean, found = drift.works, drift.document()
        else:
            report = _git.restore(saved)
            clean, found = report.settled, report.document()
        text = canonical_json({"what": what, "clean": clean, **found})
        if len(text) > limits.MAX_PAYLOAD_BYTES:
            text = canonical_json({"what": what, "clean": clean, "problem": "the report is too long to keep"})
        return replace(
            snapshot, state=SnapshotState.RESTORED if clean else SnapshotState.REFUSED, report=text
        )
    except Exception as error:  # noqa: BLE001 - whatever it was, the run must end and say so
        return _refused(snapshot, message_of(error))


def _refused(snapshot: Snapshot, problem: str) -> Snapshot:
    report = canonical_json({"problem": storable(problem)[: limits.MAX_ERROR_CHARACTERS]})
    return replace(snapshot, state=SnapshotState.REFUSED, report=report)


def forget(run: Run, snapshot: Snapshot | None, last_words: str) -> None:
    """Remove what was kept on disk for the case that happened, unless somebody still needs it: the file with
    the shim's last words, and the directory of the git snapshot if it is the run's own. Never raises."""
    if run.cleanup is None or run.cleanup.state is not CleanupState.DONE:
        return
    if snapshot is not None and snapshot.state is SnapshotState.REFUSED:
        return
    with contextlib.suppress(OSError, ValueError):
        if last_words:
            Path(last_words).unlink(missing_ok=True)
        folder = Path(snapshot.directory) if snapshot is not None else Path(last_words).parent
        if folder.name == run.run_id:
            shutil.rmtree(folder, ignore_errors=True)
