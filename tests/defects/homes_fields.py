"""Seeded defects of what run folders say: hostile fields, and results."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from defects.catalogue import Defect
from runcoord import _folder_verbs
from runcoord._core import folders as core_folders
from runcoord._core import importing as core_importing
from runcoord._core import limits
from runcoord._core.folders import name_problem, read_state, read_tombstone
from runcoord._core.importing import imported_run
from runcoord._core.layouts import Layout
from runcoord._core.model import Outcome, Spec
from runcoord._core.sources import KeptResult
from runcoord._home_ports import FileRead, FileSeen
from runcoord._homes import pinned
from runcoord._homes.refusing import mark_of
from runcoord._importer import importing, reading

Patch = pytest.MonkeyPatch


# --- hostile-fields ---


def _as_it_stands(patch: Patch) -> None:
    patch.setattr(
        reading,
        "read_state",
        lambda data, folder, layout, redact, now: read_state(data, folder, layout, str, now),
    )


def _one_field_as_it_stands(patch: Patch) -> None:
    def unredacted(data: bytes, folder: str, layout: Layout, redact: Any, now: float) -> Any:
        state = read_state(data, folder, layout, redact, now)
        key = json.loads(data).get("conversation_key", "")
        given = key if isinstance(key, str) and key.isprintable() else ""
        return replace(state, claims=replace(state.claims, conversation_key=given))

    patch.setattr(reading, "read_state", unredacted)


def _names_of_any_length(patch: Patch) -> None:
    patch.setattr(limits, "MAX_AGENT_CHARACTERS", 2_000_000)


def _any_time(patch: Patch) -> None:
    def time(self: core_folders._Fields, key: str) -> float | None:
        given = self.document.get(key)
        return float(given) if isinstance(given, int | float) and not isinstance(given, bool) else None

    patch.setattr(core_folders._Fields, "time", time)


def _tombstones_as_they_stand(patch: Patch) -> None:
    patch.setattr(
        reading, "read_tombstone", lambda data, layout, redact, now: read_tombstone(data, layout, str, now)
    )


def _one_bad_field_is_too_much(patch: Patch) -> None:
    def note(self: core_folders._Fields, key: str, what: str) -> None:
        raise core_folders.CorruptFolder(f"{key} {what}")

    patch.setattr(core_folders._Fields, "note", note)


def _unknown_is_success(patch: Patch) -> None:
    known = Layout.outcome_of
    patch.setattr(Layout, "outcome_of", lambda self, word: known(self, word) or Outcome.COMPLETED)


def _conversations_route(patch: Patch) -> None:
    def routed(state: Any, *more: Any, **named: Any) -> Any:
        patch.setattr(core_importing, "_SPEC", Spec(conversation_key=state.claims.conversation_key))
        return imported_run(state, *more, **named)

    patch.setattr(reading, "imported_run", routed)


def _controls_stay(patch: Patch) -> None:
    patch.setattr(core_folders, "_visible", lambda text: text.encode("utf-8", "replace").decode())


def _names_as_they_stand(patch: Patch) -> None:
    def refuse(self: importing._Pass, name: str, reason: str) -> None:
        self._refuse(name, "", "name", reason)

    patch.setattr(importing._Pass, "_refuse_name", refuse)


def _redaction_permits(patch: Patch) -> None:
    def strict(name: str) -> str | None:
        return "its name looks like a secret" if "token" in name else name_problem(name)

    patch.setattr(importing, "name_problem", strict)


# --- result-kept ---


def _large_results_are_none(patch: Patch) -> None:
    result = reading.FolderReader._result

    def small(self: reading.FolderReader, folder: Any) -> Any:
        kept, notes = result(self, folder)
        return (kept if kept is not None and kept.size <= 64 * 1024 else None), notes

    patch.setattr(reading.FolderReader, "_result", small)


def _results_through_links(patch: Patch) -> None:
    def beginning(self: pinned.PinnedFolder, file: str, limit: int) -> FileRead:
        with open(f"/proc/self/fd/{self._held.number}/{file}", "rb") as stream:
            found, data = os.fstat(stream.fileno()), stream.read(limit)
        return FileRead(data, FileSeen(mark_of(found), found.st_size), found.st_size > limit)

    patch.setattr(pinned.PinnedFolder, "read_beginning", beginning)


def _results_by_path(patch: Patch) -> None:
    def read(self: Any, run_id: str, *, limit: int = 1_000) -> _folder_verbs.Result:
        source = self.run(run_id).source
        if source is None or source.result is None:
            return _folder_verbs.Result("", 0, False, "")
        path = Path(source.root, run_id, source.result.file)
        data = path.read_bytes()
        return _folder_verbs.Result(data[:limit].decode(), len(data), len(data) > limit, str(path))

    patch.setattr(_folder_verbs.Folders, "read_result", read)


def _results_without_an_end(patch: Patch) -> None:
    beginning = pinned.PinnedFolder.read_beginning

    def silent(self: pinned.PinnedFolder, file: str, limit: int) -> FileRead | None:
        found = beginning(self, file, limit)
        return found and replace(found, truncated=False)

    patch.setattr(pinned.PinnedFolder, "read_beginning", silent)


def _results_above_the_limit_are_dropped(patch: Patch) -> None:
    beginning = pinned.PinnedFolder.read_beginning

    def small(self: pinned.PinnedFolder, file: str, limit: int) -> FileRead | None:
        found = beginning(self, file, limit)
        return replace(found, data=b"") if found is not None and found.truncated else found

    patch.setattr(pinned.PinnedFolder, "read_beginning", small)


def _a_bad_result_loses_the_run(patch: Patch) -> None:
    def result(self: reading.FolderReader, folder: Any) -> Any:
        seen = folder.seen(self._layout.result_file)
        return (None if seen is None else KeptResult(self._layout.result_file, seen.size)), ()

    patch.setattr(reading.FolderReader, "_result", result)


FIELDS = [
    Defect("hostile-fields", "Fields are stored as they stand.", "bounded-and-clean", _as_it_stands),
    Defect(
        "hostile-fields",
        "The conversation key alone is neither redacted nor cut.",
        "bounded-and-clean",
        _one_field_as_it_stands,
        "one-field",
    ),
    Defect(
        "hostile-fields",
        "A name of 900,000 characters is stored and sent.",
        "bounded-and-clean",
        _names_of_any_length,
        "long",
    ),
    Defect(
        "hostile-fields",
        "A time of -1e308 becomes that of the run.",
        "bounded-and-clean",
        _any_time,
        "time",
    ),
    Defect(
        "hostile-fields",
        "State files are redacted, and tombstones are not.",
        "bounded-and-clean",
        _tombstones_as_they_stand,
        "tombstones",
        scenario="hostile-tombstones",
    ),
    Defect(
        "hostile-fields",
        "One field that is no good makes the folder a corrupt one.",
        "one-bad-apple",
        _one_bad_field_is_too_much,
        "field",
    ),
    Defect(
        "hostile-fields",
        "Control characters and directions of writing are stored and sent as they stand.",
        "event",
        _controls_stay,
        "controls",
    ),
    Defect(
        "hostile-fields",
        "An outcome that nobody knows counts as success.",
        "run",
        _unknown_is_success,
        "outcome",
        scenario="hostile-tombstones",
    ),
    Defect(
        "hostile-fields",
        "The conversation that a folder names becomes that of the run.",
        "event",
        _conversations_route,
        "routes",
        scenario="hostile-routes",
    ),
    Defect(
        "hostile-fields",
        "A name that cannot be an id is reported as it stands.",
        "bounded-and-clean",
        _names_as_they_stand,
        "names",
        scenario="hostile-names",
    ),
    Defect(
        "hostile-fields",
        "What redaction may change decides who is imported.",
        "one-bad-apple",
        _redaction_permits,
        "permits",
        scenario="hostile-names",
    ),
    Defect(
        "result-kept",
        "A result above a size is dropped when its run is imported.",
        "result-kept",
        _large_results_are_none,
    ),
    Defect(
        "result-kept",
        "A result above the limit reads as an empty one.",
        "answer",
        _results_above_the_limit_are_dropped,
        "dropped",
    ),
    Defect(
        "result-kept",
        "A result that was cut does not say so.",
        "answer",
        _results_without_an_end,
        "marked",
    ),
    Defect(
        "result-kept",
        "A result file that became a link is followed.",
        "inside-the-root",
        _results_through_links,
        "link",
        scenario="results-through-links",
    ),
    Defect(
        "result-kept",
        "The path of a result is put together and opened, wherever its folder leads by now.",
        "inside-the-root",
        _results_by_path,
        "path",
        scenario="results-through-links",
    ),
    Defect(
        "result-kept",
        "A run whose result is no regular file is not imported.",
        "one-bad-apple",
        _a_bad_result_loses_the_run,
        "lost",
        scenario="result-that-is-no-file",
    ),
]
