"""Second parts of invariants about what is kept: what was accepted is stored, errors and inputs stay."""

from __future__ import annotations

from pytest_runcoord.history import Entry
from pytest_runcoord.invariants.base import Invariant
from pytest_runcoord.subject import Snapshot
from runcoord.ports import Deadline

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


class AcceptedIsStored(Invariant):
    id = "nothing-lost"
    says = (
        "A run that was accepted is in the store at once, has an outcome once its end was accepted, and is "
        "held no more once it was given back."
    )
    hears = frozenset({"verb"})
    verbs = frozenset({"submit", "complete", "finish", "release"})

    def see(self, entry: Entry, before: Snapshot) -> None:
        if entry.status != "ok" or entry.data.get("ended") == "lost":
            return
        if entry.what == "submit":
            self._require_run(entry.data.get("run"))
        elif entry.what == "release":
            self._require_release(str(entry.data.get("on")), before)
        else:
            self._require_outcome(entry.data.get("on"))

    def _require_run(self, run_id: object) -> None:
        if not isinstance(run_id, str) or self.world.plan.settings.get("prune_after") is not None:
            return
        snapshot = self.world.snapshot()
        self.exercised += 1
        if run_id not in snapshot.runs and all(row.key != run_id for row in snapshot.bad):
            self.fail(f"{run_id} was accepted and is not stored", expected="a run", seen="none")

    def _require_release(self, run_id: str, before: Snapshot) -> None:
        was, run = before.runs.get(run_id), self.world.snapshot().runs.get(run_id)
        if was is None or was.state not in ("claimed", "running"):
            return
        self.exercised += 1
        if run == was:
            self.fail(
                f"that {run_id} is given back was accepted, and is not stored",
                expected="a run that waits",
                seen=f"{was.state}, as before",
            )

    def _require_outcome(self, run_id: object) -> None:
        if not isinstance(run_id, str):
            return
        run = self.world.snapshot().runs.get(run_id)
        self.exercised += 1
        if run is not None and run.outcome is None:
            self.fail(
                f"the end of {run_id} was accepted, and is not stored",
                expected="an outcome",
                seen=f"{run.state}, without one",
            )


class RenewalKept(Invariant):
    id = "live-lease-kept"
    says = "A lease that was renewed ends later than it did before."
    needs = frozenset({"leases", "renewal"})
    hears = frozenset({"verb"})
    verbs = frozenset({"renew"})
    about_runs = True

    def __init__(self, *world: object) -> None:
        super().__init__(*world)  # type: ignore[arg-type]
        self._since: dict[str, tuple[Deadline, float]] = {}
        """By run: the lease that was seen last, and the boottime at which it was new."""

    def see(self, entry: Entry, before: Snapshot) -> None:
        run_id = str(entry.data.get("on"))
        known, run = self._since.get(run_id), self.world.snapshot().runs.get(run_id)
        if entry.status != "ok" or known is None or run is None or run.lease is None:
            return
        lease, since = known
        if entry.boottime <= since:
            return  # no time has passed by which it could be longer
        self.exercised += 1
        if run.lease == lease:
            self.fail(
                f"the lease on {run_id} was renewed, and is as it was",
                expected=f"an end after {lease.boottime:g}",
                seen=f"{run.lease.boottime:g}",
            )

    def compare(self, before: Snapshot, after: Snapshot) -> None:
        for run_id, run in after.runs.items():
            known = self._since.get(run_id)
            if run.lease is not None and (known is None or known[0] != run.lease):
                self._since[run_id] = run.lease, self.world.instant().boottime


KEEPING: tuple[type[Invariant], ...] = (ErrorKept, RetryKeepsInputs, AcceptedIsStored, RenewalKept)
"""Each adds to the invariant with its id."""
