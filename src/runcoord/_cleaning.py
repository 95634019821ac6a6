"""Dealing with the processes of runs that nobody owns any more, inside the periodic sweep.

For each run: take it over, look at its recorded processes, wait for a shim that ends the tree by itself,
write down what is about to be signalled, signal, put the git state back, and end the run; or defer it. What
is to be done is decided in :mod:`runcoord._core.cleanup`; the signals are sent by the same engine that every
teardown uses. One run that cannot be dealt with stops no other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from runcoord._changes import Groups, changes_of
from runcoord._coordinator import RunVerbs, instant
from runcoord._core import limits, requests
from runcoord._core.cleanup import (
    Found,
    Plan,
    Sight,
    Step,
    corrected,
    handed_on,
    plan,
    shims,
    summed_up,
    with_fates,
)
from runcoord._core.decide import decide
from runcoord._core.decision import Decision
from runcoord._core.identity import ProcessIdentity, is_pid
from runcoord._core.last_words import LastWords
from runcoord._core.model import CleanupState, Outcome, Run, State
from runcoord._core.process_rules import may_take_over, takeover_of
from runcoord._core.records import Audit, Record, RecordedProcess, Role, Snapshot, SnapshotState, Takeover
from runcoord._core.teardown import WITHOUT_SHIM, Fate, Scan, TeardownReport
from runcoord._ending_trees import Trees, intent_of, last_words_of, result_of
from runcoord._log import ERROR, INFO, WARNING, Log, say
from runcoord._probing import Probes
from runcoord._putting_back import compared, forget, put_back
from runcoord.errors import (
    Happened,
    LeaseLost,
    Refused,
    StoreError,
    UndecodableRow,
    VersionConflict,
    WorkCancelled,
)
from runcoord.ports import BadRow, Change

log = Log("runcoord.recovery")

ROW_ERRORS = (VersionConflict, UndecodableRow, Refused)
"""What is the matter with one row, not with the store."""


@dataclass(slots=True)
class Cleaned:
    """What one sweep did about processes."""

    done: int = 0
    """Runs whose processes were dealt with, or given up."""
    ended: list[Run] = field(default_factory=list)
    retried: int = 0
    killed: int = 0
    """Processes that ended after a signal of recovery."""
    deferred: int = 0
    survived: int = 0
    """Runs that ended, or had ended, with somebody left who may be alive."""
    unaudited: int = 0
    """Runs that were deferred because the intent could not be written down; nobody was signalled."""
    unfinished: bool = False
    """Time ran out while there was more to clean up."""
    bad: list[BadRow] = field(default_factory=list)


@dataclass(slots=True)
class _Attempt:
    """One run while it is dealt with."""

    run: Run
    takeover: Takeover
    found: list[Found]
    hidden: list[str]
    """Problems of records that cannot be read."""
    snapshot: Snapshot | None
    patience: float
    promised: float
    scan: Scan | None = None
    """Who else belongs to the run; ``None`` where that was not to be seen."""
    report: TeardownReport | None = None
    audit: Audit | None = None
    unaudited: bool = False
    """The intent could not be written, as far as is known; so nobody was signalled."""
    words: LastWords | None = None

    def plan(self, trees: Trees) -> Plan:
        """The next step. Who else belongs to the run is looked for only when that decides it."""
        scan = None if self.report is not None or self.patience else trees.scan(self.found)
        self.scan = scan if self.report is None else self.scan
        return plan(
            self.found,
            self.takeover.attempt,
            patience=self.patience,
            promised=self.promised,
            scan=scan,
            report=self.report,
            hidden=bool(self.hidden),
        )


class Cleaner:
    """Deals with processes on behalf of one owner."""

    def __init__(self, verbs: RunVerbs, probes: Probes, trees: Trees) -> None:
        self._verbs, self._probes, self._trees = verbs, probes, trees

    def clean(self, due: dict[str, str], alive: Callable[[str], bool]) -> Cleaned:
        """Deal with the runs ``due``, each with the id of an owner that is proved dead, or nothing.

        ``alive``: whether an owner is known to be alive: then its shims do not end by themselves.
        """
        cleaned = Cleaned()
        end = self._verbs.clock.monotonic() + limits.CLEANUP_SWEEP_SECONDS
        for count, (run_id, proof) in enumerate(due.items()):
            left = end - self._verbs.clock.monotonic()
            if left <= 0 or count >= limits.CLEANUP_RUNS:
                cleaned.unfinished = True
                break
            attempt = None
            try:
                attempt = self._begun(run_id, proof, alive, min(left, limits.SHIM_SECONDS))
                if attempt is not None:
                    self._carry_out(attempt, cleaned)
            except LeaseLost:
                say(log, INFO, "somebody else cleans up after a run", run=run_id)
                self._tell_late(attempt)
            except ROW_ERRORS as error:
                cleaned.bad.append(BadRow("runs", run_id, error.problem))
        return cleaned

    # --- taking over and looking ---

    def _begun(
        self, run_id: str, proof: str, alive: Callable[[str], bool], patience: float
    ) -> _Attempt | None:
        """Take the run over; ``None`` when it is not, or no more, to be taken over."""
        self._verbs.registration.prepare()
        request = requests.TakeOver(self._verbs.owner, limits.CLEANUP_LEASE_SECONDS, proof)
        with self._verbs.store.transaction("take-over") as tx:
            run = tx.run(run_id)
            now = instant(self._verbs.clock)
            if run is None or not may_take_over(run, proof, now):
                return None
            owner = run.owner
            decision = self._verbs.registered(decide(run, request, now), now)
            tx.save(changes_of(run, decision, now, Groups(tx)))
        self._verbs.registration.written()
        taken = decision.run
        bad: list[BadRow] = []
        with self._verbs.store.view("read-records") as view:
            recorded = view.records(
                RecordedProcess, run_id, limit=limits.MAX_RECORDED_PROCESSES + len(Role), bad=bad
            )
            snapshots = view.records(Snapshot, run_id, limit=1, bad=bad)
        hidden = [f"row {row.key} of {row.table} cannot be read" for row in bad if row.table == "processes"]
        missing = (taken.cleanup.processes if taken.cleanup else 0) - len(recorded) - len(hidden)
        if missing > 0:
            hidden.append(f"{missing} recorded processes are missing in the store")
        found = self._look(recorded)
        promised = 0.0
        if alive(owner) or not shims(found):
            patience = 0.0
        else:
            longest = max(each.process.terms.grace for each in found)
            promised = max(0.0, longest + limits.KILL_SECONDS - patience)
        snapshot = snapshots[0] if snapshots else None
        return _Attempt(taken, takeover_of(taken), found, hidden, snapshot, patience, promised)

    def _look(self, recorded: list[RecordedProcess]) -> list[Found]:
        return [Found(each, self._probes.look(each.identity)) for each in recorded]

    # --- step by step ---

    def _carry_out(self, attempt: _Attempt, cleaned: Cleaned) -> None:
        """At most: wait, look again, kill, and end or defer."""
        step = attempt.plan(self._trees)
        if step.step is Step.WAIT:
            self._trees.wait_for(shims(attempt.found), step.seconds)
            attempt.found = self._look([each.process for each in attempt.found])
            attempt.patience = 0.0
            step = attempt.plan(self._trees)
        attempt.words = self._trees.last_words(attempt.found)
        if step.step is Step.KILL:
            self._kill(attempt, cleaned)
            step = attempt.plan(self._trees)
        if step.step is Step.DEFER:
            self._defer(attempt, step.seconds, cleaned)
        else:
            self._end(attempt, cleaned)

    def _kill(self, attempt: _Attempt, cleaned: Cleaned) -> None:
        """Write down the intent, and only then signal. Where it cannot be written nobody is signalled."""
        intent = intent_of(attempt.found, attempt.takeover.attempt, self._verbs.owner)
        try:
            request = requests.Intend(attempt.takeover, intent)
            decision = self._write("intend", attempt.run.run_id, request)
            [attempt.audit] = [each for each in decision.records if isinstance(each, Audit)]
        except StoreError as error:
            say(log, ERROR, "no signal without an audit", run=attempt.run.run_id, error=error.problem)
            cleaned.unaudited += 1
            why = f"nobody was signalled: the intent could not be written down ({error.problem})"
            attempt.report, attempt.unaudited = TeardownReport(False, problems=(why,)), True
            if error.happened is Happened.MAYBE and attempt.run.cleanup is not None:
                # It may be written, and is not to say for ever that nobody knows what came of it.
                attempt.audit = Audit(
                    attempt.run.run_id, attempt.run.cleanup.rounds + 1, intent, self._verbs.clock.wall()
                )
            return
        report = self._trees.tear_down(attempt.found)
        attempt.report = corrected(report, self._look([each.process for each in attempt.found]))
        cleaned.killed += sum(each.fate in (Fate.ASKED, Fate.KILLED) for each in attempt.report.processes)

    def _defer(self, attempt: _Attempt, seconds: float, cleaned: Cleaned) -> None:
        say(log, WARNING, "clean-up deferred", run=attempt.run.run_id, seconds=seconds)
        cleaned.deferred += 1
        request = requests.Defer(attempt.takeover, seconds)
        try:
            self._write("defer", attempt.run.run_id, request, *self._told(attempt))
        except StoreError as error:
            if not attempt.unaudited:
                raise
            # The store refused the intent before. The next attempt comes when the takeover has run out.
            say(log, WARNING, "deferral not written", run=attempt.run.run_id, error=error.problem)

    def _end(self, attempt: _Attempt, cleaned: Cleaned) -> None:
        run, words = attempt.run, attempt.words
        told = words.teardown if words is not None else None
        if told is not None:
            gone = self._gone_since(told, attempt.found)
            attempt.report = handed_on(attempt.report, told, gone)
        searched = attempt.scan is not None
        report = summed_up(attempt.found, attempt.report, attempt.hidden, searched=searched)
        if told is None and searched and _lost_its_shim(attempt.found):
            report = replace(report, problems=(WITHOUT_SHIM, *report.problems))
        status = words.status if words is not None and words.executed and words.by_itself else None
        records: list[Record] = [*self._told(attempt), *with_fates(attempt.found, report)]
        taken = attempt.snapshot
        taken = taken if taken is not None and taken.state is SnapshotState.TAKEN else None
        success = taken is not None and not _must_put_back(run, taken, status)
        if taken is not None:
            attempt.snapshot = compared(taken) if success else put_back(taken)
            records.append(attempt.snapshot)
        retry_id = self._verbs.ids.new("run") if run.spec.interruption_budget else ""
        request = requests.EndCleaned(attempt.takeover, report, retry_id, status, unless_stopped=success)
        try:
            decision = self._write("recover", run.run_id, request, *records)
        except WorkCancelled:
            # Stopped at the last moment it is no success: put back first, as after any other end.
            assert taken is not None
            records[-1] = attempt.snapshot = put_back(taken)
            decision = self._write("recover", run.run_id, replace(request, unless_stopped=False), *records)
        cleaned.done += 1
        if run.outcome is None:
            cleaned.ended.append(decision.run)
            self._verbs.on_event()
        cleaned.retried += decision.successor is not None
        after = decision.run.cleanup
        if after is not None and after.state is CleanupState.SURVIVED:
            cleaned.survived += 1
            named = ", ".join(f"{each.pid} ({each.why})" for each in after.survivors)
            say(log, ERROR, "processes of a run may be alive", run=run.run_id, processes=named)
        forget(decision.run, attempt.snapshot, last_words_of(attempt.found))

    def _gone_since(self, told: TeardownReport, found: list[Found]) -> frozenset[int]:
        """Pids of those whom the run's shim had to leave and who have ended since, as far as they would be
        named."""
        shim = next((each.process.identity for each in found if each.process.role is Role.SHIM), None)
        if not isinstance(shim, ProcessIdentity):
            return frozenset()
        left = [each for each in told.left if is_pid(each.pid)][: limits.SURVIVORS_NAMED]
        meant = [ProcessIdentity(each.pid, each.start, shim.habitat, cookie=shim.cookie) for each in left]
        seen = ((each.pid, self._probes.look(each).sight) for each in meant)
        return frozenset(pid for pid, sight in seen if sight in (Sight.GONE, Sight.STRANGER))

    def _tell_late(self, attempt: _Attempt | None) -> None:
        """Another sweep took the run over in the middle of a round; what came of the round is still known
        only here. A round belongs to one attempt, so that nothing of the other's is written over."""
        told = self._told(attempt) if attempt is not None and not attempt.unaudited else ()
        if told:
            with self._verbs.store.transaction("defer") as tx:
                tx.save([Change(records=told)])

    def _told(self, attempt: _Attempt) -> tuple[Audit, ...]:
        """The audit of this attempt with its result."""
        if attempt.audit is None or attempt.report is None:
            return ()
        return (replace(attempt.audit, result=result_of(attempt.report)),)

    def _write(self, verb: str, run_id: str, request: requests.Request, *records: Record) -> Decision:
        with self._verbs.store.transaction(verb) as tx:
            run = tx.run(run_id)
            if run is None:
                raise StoreError(f"run {run_id!r} is gone", remedy="It was removed by somebody else.")
            now = instant(self._verbs.clock)
            decision = decide(run, request, now)
            decision = replace(decision, records=(*decision.records, *records))
            tx.save(changes_of(run, decision, now, Groups(tx)))
        return decision


def _must_put_back(run: Run, snapshot: Snapshot, status: int | None) -> bool:
    """After everything but a completed run, and once."""
    if snapshot.state is not SnapshotState.TAKEN:
        return False
    if run.state is State.FINISHED:
        return run.outcome is not Outcome.COMPLETED
    return status != 0 or run.stop_requested_at is not None


def _lost_its_shim(found: list[Found]) -> bool:
    """Whether what the run hung on is gone. It has told nothing, else nobody asks."""
    sights = [each.seen.sight for each in found if each.process.role is Role.SHIM]
    return bool(sights) and all(sight in (Sight.GONE, Sight.STRANGER) for sight in sights)
