"""What the reference is asked about run folders: the verbs of its session for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_runcoord.subject import Answer

if TYPE_CHECKING:
    from runcoord import Coordinator, ImportReport, RunFolders


def folders_of(said: Mapping[str, Any]) -> RunFolders:
    """The run folders that a scenario asks for, in plain values."""
    from runcoord import RUN_FOLDERS, RunFolders

    return RunFolders(
        said["home"],
        layout=replace(RUN_FOLDERS, root=said["root"]),
        fallback=said["fallback"],
        prune_after=said["prune_after"],
    )


class HomeVerbs:
    """Part of the reference's session."""

    _coordinator: Coordinator

    def import_folders(self, **said: Any) -> Answer:
        return Answer(import_answer(self._coordinator.import_folders(folders_of(said))))

    def route(self, event: str, destination: str) -> Answer:
        routed = self._coordinator.route(event, destination)
        return Answer({"event": routed.event_id, "destination": routed.destination})

    def read_result(self, run: str, limit: int | None = None) -> Answer:
        more = {} if limit is None else {"limit": limit}
        result = self._coordinator.read_result(run, **more)
        return Answer(
            {
                "run": run,
                "text": result.text,
                "size": result.size,
                "truncated": result.truncated,
                "where": result.where,
            }
        )


def import_answer(report: ImportReport) -> dict[str, Any]:
    """What an import reports, in plain values."""
    return {
        "root": report.root,
        "problem": report.problem,
        "missing": list(report.missing),
        "imported": report.imported,
        "history": report.history,
        "known": report.known,
        "changed": list(report.changed),
        "changed_count": report.changed_count,
        "refused": {each.name: each.kind for each in report.refused},
        "corrupt": {each.name: each.reason for each in report.corrupt},
        "reasons": {each.name: each.reason for each in (*report.refused, *report.corrupt)},
        "refused_count": report.refused_count,
        "corrupt_count": report.corrupt_count,
        "held": report.held,
        "routed": report.routed,
        "tombstoned": report.tombstoned,
        "tombstones_failed": report.tombstones_failed,
        "pruned": report.pruned,
        "prunings_failed": report.prunings_failed,
        "gone": report.gone,
        "unfinished": report.unfinished,
    }
