"""Second parts of invariants about what is kept: the errors of runs, and what retries begin with."""

from __future__ import annotations

from pytest_runcoord.history import Entry
from pytest_runcoord.invariants.base import Invariant
from pytest_runcoord.subject import Snapshot

CERTAIN_CHARACTERS = 80
"""The beginning of an error that must be there: the rest may be cut, and something may stand around it."""


class ErrorKept(Invariant):
    id = "result-kept"
    says = "An error with which its owner ended a run is stored with the run."
    needs = frozenset({"errors"})
    hears = frozenset({"verb"})
    verbs = frozenset({"complete", "finish"})

    def __init__(self, *world: object) -> None:
        super().__init__(*world)  # type: ignore[arg-type]
        self._errors: dict[str, tuple[str, str]] = {}
        """By run: how it was to end, and the error."""

    def see(self, entry: Entry, before: Snapshot) -> None:
        error, run_id = entry.data.get("error"), entry.data.get("on")
        if entry.status != "ok" or not (isinstance(error, str) and error) or not isinstance(run_id, str):
            return
        if entry.data.get("ended") != "lost":
            self._errors.setdefault(run_id, (str(entry.data.get("reported")), error))
            self._check(run_id, self.world.snapshot())

    def end(self, snapshot: Snapshot) -> None:
        for run_id in self._errors:
            self._check(run_id, snapshot)

    def _check(self, run_id: str, snapshot: Snapshot) -> None:
        run, (outcome, error) = snapshot.runs.get(run_id), self._errors[run_id]
        if run is None or run.outcome != outcome:
            return  # it ended otherwise, as where it was to stop: then that has its own reason
        self.exercised += 1
        if error[:CERTAIN_CHARACTERS] not in run.error:
            self.fail(
                f"the error of {run_id} was lost",
                expected=repr(error[:CERTAIN_CHARACTERS]),
                seen=repr(run.error[:CERTAIN_CHARACTERS]),
            )


class RetryKeepsInputs(Invariant):
    id = "nothing-lost"
    says = "A retry begins with the inputs of the run that it retries."
    needs = frozenset({"retry"})
    about_runs = True

    def compare(self, before: Snapshot, after: Snapshot) -> None:
        for run_id, run in after.runs.items():
            first = after.runs.get(run.retry_of)
            if run_id in before.runs or first is None or first.inputs is None:
                continue
            self.exercised += 1
            if run.inputs != first.inputs:
                self.fail(
                    f"{run_id} retries {run.retry_of} with other inputs",
                    expected=repr(first.inputs)[:200],
                    seen=repr(run.inputs)[:200],
                )


KEEPING: tuple[type[Invariant], ...] = (ErrorKept, RetryKeepsInputs)
"""Each adds to the invariant with its id."""
