"""Seeded defects of lineages: how many runs of one may live, and what siblings do to one another."""

from __future__ import annotations

import os
from typing import Any

import pytest

from defects.catalogue import Defect
from runcoord._core import submission
from runcoord._core.submission import Line
from runcoord._supervisor import accepting, preparing, running
from runcoord._supervisor.preparing import CommandOrder, Prepared
from runcoord._supervisor.starting import Launched
from runcoord.errors import DepthExceeded
from runcoord.ports import Ids

Patch = pytest.MonkeyPatch

# --- live-runs-cap ---


def _no_cap(patch: Patch) -> None:
    patch.setattr(submission, "require_room", lambda live, line: None)


def _counted_before(patch: Patch) -> None:
    begin = accepting.begin

    def early(verbs: Any, beginning: Any, intake: Any) -> Any:
        with verbs.store.view("read-run") as view:
            live = view.count_unfinished(beginning.lineage)

        def room(now: int, line: Line) -> None:
            right(live, line)

        right = submission.require_room
        with pytest.MonkeyPatch.context() as racing:
            racing.setattr(submission, "require_room", room)
            return begin(verbs, beginning, intake)

    patch.setattr("runcoord._supervisor.command.begin", early)


def _everybody_counts(patch: Patch) -> None:
    patch.setattr(
        "runcoord._stores.statements.COUNT_UNFINISHED",
        "SELECT count(*) FROM runs WHERE state != 'finished' AND :lineage != ''",
    )


def _ended_ones_count(patch: Patch) -> None:
    patch.setattr(
        "runcoord._stores.statements.COUNT_UNFINISHED",
        "SELECT count(*) FROM runs WHERE lineage = :lineage",
    )


# --- depth-per-lineage ---


def _marks_its_own_environment(patch: Patch) -> None:
    prepare = preparing.prepare

    def marking(order: CommandOrder, ids: Ids) -> Prepared:
        prepared = prepare(order, ids)
        os.environ.update(prepared.admission.exports)
        return prepared

    patch.setattr(running, "prepare", marking)


def _siblings_are_deeper(patch: Patch) -> None:
    require_room = submission.require_room

    def counting(live: int, line: Line) -> None:
        require_room(live, line)
        if line.depth and live > line.depth:
            raise DepthExceeded("too deep", remedy="", depth=live, max=line.depth)

    patch.setattr(submission, "require_room", counting)


def _tries_again(patch: Patch) -> None:
    launch = running.Supervisor.launch

    def stubborn(self: running.Supervisor, order: CommandOrder, run_id: str = "") -> Launched:
        try:
            return launch(self, order, run_id)
        except DepthExceeded:
            self._verbs.submit({"again": list(order.argv)}, run_id=run_id)
            raise

    patch.setattr(running.Supervisor, "launch", stubborn)


LINEAGES: list[Defect] = [
    Defect("live-runs-cap", "Only the depth bounds a lineage.", "refused", _no_cap),
    Defect(
        "live-runs-cap",
        "The live runs are counted before the lock is taken, so that two get the last place.",
        "refused",
        _counted_before,
        name="race",
        scenario="the-cap-is-checked-under-the-lock",
    ),
    Defect(
        "live-runs-cap",
        "Runs of other lineages use up the cap.",
        "supervise",
        _everybody_counts,
        name="everybody",
    ),
    Defect(
        "live-runs-cap",
        "Runs that have ended use up the cap.",
        "supervise",
        _ended_ones_count,
        name="ended",
    ),
    Defect(
        "depth-per-lineage",
        "A sibling that is at work makes the next one count as deeper.",
        "supervise",
        _siblings_are_deeper,
    ),
    Defect(
        "depth-per-lineage",
        "Who starts a run marks its own environment, and is refused the next one.",
        "supervise",
        _marks_its_own_environment,
        name="marks-itself",
        scenario="siblings-of-one-owner",
    ),
    Defect(
        "depth-per-lineage",
        "What was refused for its depth is put into the store, to be tried again.",
        "runs",
        _tries_again,
        name="retried",
        scenario="a-refusal-for-depth-is-final",
    ),
]
