"""Seeded defects of submitting the same again: while a run waits, while it is worked on, after its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from defects.catalogue import Defect
from defects.portable_keeping import _lost_with_the_process
from defects.portable_owning import _put_back
from runcoord import Coordinator, _coordinator
from runcoord._core.model import Instant, Run, State
from runcoord.ports import Change

Patch = pytest.MonkeyPatch
MOST = 100
"""Runs that are looked at; no scenario here has more than a few."""


def _every_submission_is_new(patch: Patch) -> None:
    """The store is never asked whether the key is known, and the run is called otherwise then."""
    numbers = iter(range(1, 1_000))
    submitting = Coordinator.submit

    def submit(self: Coordinator, *args: Any, **fields: Any) -> Any:
        number = next(numbers)
        if number > 1:
            fields |= {"run_id": f"{fields['run_id']}-{number}", "key": ""}
        return submitting(self, *args, **fields)

    patch.setattr(Coordinator, "submit", submit)


def _reset(states: set[State]) -> Callable[[Patch], None]:
    """A submission writes its row, also over one that is there: as ``INSERT OR REPLACE`` does."""

    def breaks(patch: Patch) -> None:
        submitting = Coordinator.submit

        def submit(self: Coordinator, *args: Any, **fields: Any) -> Any:
            with self.store.transaction("submit") as tx:
                known = tx.run(fields["run_id"])
                if known is not None and known.state in states:
                    tx.save([Change(before=known, run=_put_back(known))])
            return submitting(self, *args, **fields)

        patch.setattr(Coordinator, "submit", submit)

    return breaks


def _behind_all_others(patch: Patch) -> None:
    """Who is submitted twice waits where its second submission would."""
    submitting, waiting = Coordinator.submit, _coordinator.next_waiting
    known: dict[str, int] = {}

    def submit(self: Coordinator, *args: Any, **fields: Any) -> Any:
        known[fields["run_id"]] = known.get(fields["run_id"], 0) + 1
        return submitting(self, *args, **fields)

    def first_of_those_submitted_once(view: Any, now: Instant) -> Run | None:
        for run in view.runs(limit=MOST):
            if run.state is State.ACCEPTED and known.get(run.run_id) == 1:
                return run  # type: ignore[no-any-return]
        return waiting(view, now)

    patch.setattr(Coordinator, "submit", submit)
    patch.setattr(_coordinator, "next_waiting", first_of_those_submitted_once)


SUBMITTING: list[Defect] = [
    Defect(
        "submitted-twice",
        "Every submission is a new run, whatever was submitted before.",
        "runs",
        _every_submission_is_new,
    ),
    Defect(
        "submitted-twice",
        "A submission writes over the run of its id: what somebody works on waits again.",
        "starts-once",
        _reset({State.CLAIMED, State.RUNNING}),
        name="reset-at-work",
        scenario="submitted-again-at-work",
    ),
    Defect(
        "submitted-twice",
        "A submission writes over the run of its id, also over one that has ended.",
        "one-outcome",
        _reset({State.FINISHED}),
        name="reset-after-its-end",
        scenario="submitted-again-after-its-end",
    ),
    Defect(
        "submitted-twice",
        "Whoever submits a run again puts it behind all that wait.",
        "answer",
        _behind_all_others,
        name="behind-all-others",
        scenario="submitted-again-among-others",
    ),
    Defect(
        "submitted-twice",
        "A key is forgotten with the process that it was given to.",
        "runs",
        _lost_with_the_process("DELETE FROM commands"),
        name="forgotten-key",
        scenario="submitted-under-one-key",
    ),
]
