"""The periodic sweep: end what nobody owns any more, tell the operator, deliver, clean up, prune.

Level-triggered: it acts on what is stored now, not on what happened. Every unfinished run belongs to
exactly one of: claimable (accepted, or claimed with an expired lease), live-leased, recoverable (running
with an expired lease). Only the last is the sweep's to change; and of those a sweep that a timer made defers
for a moment what this very process is working on, so that its holder can take the lease again.

A lease counts as expired when its owner's process is proved dead. A run whose processes were recorded is not
ended before they are dealt with; that takes longest, and so comes after what is due was delivered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from runcoord._changes import Groups, changes_of
from runcoord._coordinator import RunVerbs, instant
from runcoord._core import limits, requests
from runcoord._core.decide import decide
from runcoord._core.events import digest_event
from runcoord._core.model import Outcome, Run
from runcoord._core.process_rules import may_take_over
from runcoord._core.values import field, record
from runcoord._deaths import ROW_ERRORS, Deaths, Freed, Vitality
from runcoord._log import ERROR, Log, say
from runcoord._outbox import DrainReport, Outbox
from runcoord._probing import Probes
from runcoord.ports import BadRow, Bounded, Change, Owner, Sleeper

if TYPE_CHECKING:
    from runcoord._cleaning import Cleaned, Cleaner
    from runcoord._importer import Importer, ImportReport

log = Log("runcoord.recovery")


@record
class SweepReport:
    """What one sweep did. All zeros means that it looked and found nothing to do."""

    interrupted: int = 0
    stopped: int = 0
    retried: int = 0
    capped: int = 0
    """Leases of an earlier boot whose expiry lay further ahead than any can; cut to the longest lease."""
    deferred: int = 0
    """Runs with an expired lease that this process is working on, left to their holder for a moment."""
    proved_dead: int = 0
    """Owners whose processes are proved to be gone; what they held was free at once."""
    given_back: int = 0
    """Claimed runs of dead owners, which can be claimed again."""
    redelivered: int = 0
    """Deliveries that dead owners had under way, due again at once."""
    recovered: int = 0
    """Runs that ended as their commands had ended by themselves: completed or failed."""
    cleaned: int = 0
    """Runs whose processes were dealt with, or given up, in this sweep."""
    killed: int = 0
    """Processes that recovery ended."""
    cleanup_deferred: int = 0
    """Runs whose processes could not be dealt with now; tried again later, a bounded number of times."""
    survived: int = 0
    """Runs with processes that may be alive, and are named in :attr:`Run.cleanup`; nothing more is tried."""
    unaudited: int = 0
    """Runs of which nobody was signalled, because the intent could not be written down."""
    pruned: int = 0
    """Old runs removed, with all that belongs to them."""
    pruned_summaries: int = 0
    """Old summaries of groups and old digests removed; a group goes with its summary."""
    imports: list[ImportReport] = field(default_factory=list)
    """What became of each home that :attr:`Settings.imports` names, in that order."""
    digest: bool = False
    """Whether a digest of held events was written for the operator."""
    unfinished: bool = False
    """Batches ran out while there was more to recover."""
    drain: DrainReport = field(default_factory=DrainReport)
    bad: list[BadRow] = field(default_factory=list)
    """Rows left as they are because they could not be understood; at most the first few by name."""
    bad_count: int = 0
    _met: set[tuple[str, str]] = field(default_factory=set, repr=False, compare=False)


class Recoverer:
    """Sweeps one store on behalf of one owner.

    ``held_here`` says what this process is working on; such a run is left to its holder for a moment. For
    timers: after a suspend they wake together with the heartbeats, and nobody is to lose a run to himself. By
    hand nothing is left to anybody: ``None``.
    """

    def __init__(
        self,
        verbs: RunVerbs,
        outbox: Outbox,
        deaths: Deaths,
        cleaner: Callable[[], Cleaner],
        importer: Callable[[], Importer],
        held_here: Callable[[str], bool] | None = None,
    ) -> None:
        self._verbs, self._outbox = verbs, outbox
        self._deaths, self._cleaner = deaths, cleaner
        self._importer = importer
        self._held_here = held_here
        self._deferred: dict[str, float] = {}
        """Since when (monotonic) a run is left to its holder here."""
        self._next_home = 0
        """Where the next sweep begins to import, so that a slow home keeps no other out for ever."""

    def sweep(self) -> SweepReport:
        """One sweep, bounded. A row that fails falls out alone; the rest goes on."""
        report = SweepReport()
        freed = self._recover(report)
        report.drain = self._outbox.drain()
        self._clean(freed, report)
        self._import(report)
        self._write_digest(report)
        if report.digest:
            report.drain.add(self._outbox.drain(seconds=limits.DIGEST_DRAIN_SECONDS))
        self._prune(report)
        if report.bad_count:
            named = ", ".join(f"{row.table} {row.key!r}" for row in report.bad)
            say(log, ERROR, "rows could not be read", count=report.bad_count, rows=named)
        return report

    # --- runs ---

    def _recover(self, report: SweepReport) -> Freed:
        """End what nobody owns any more; gives what is left to do about processes."""
        after, freed, owners = "", Freed(), list[Owner]()
        before, self._deferred = self._deferred, {}
        for page in range(limits.SWEEP_PAGES):
            with self._verbs.store.view("read-recoverable") as view:
                now = instant(self._verbs.clock)
                found = view.recoverable(now, limits.RECOVERY_PAGE, after)
                if page == 0:
                    bad: list[BadRow] = []
                    waiting = view.claimable(now, limits.WAITING_LOOKED_AT)
                    if waiting:
                        view.load_runs(waiting, bad)
                    owners = self._deaths.read(view, bad)
                    _note_bad(report, bad)
            if page == 0 and owners:
                freed = self._free(owners, report)
            if not found:
                return freed
            after = found[-1]
            due = [run_id for run_id in found if not self._defers(run_id, before)]
            report.deferred += len(found) - len(due)
            for start in range(0, len(due), limits.RECOVERY_BATCH):
                batch = due[start : start + limits.RECOVERY_BATCH]
                try:
                    self._recover_batch(batch, freed, report)
                except ROW_ERRORS:
                    self._recover_singly(batch, freed, report)
            if len(found) < limits.RECOVERY_PAGE:
                return freed
        report.unfinished = True
        return freed

    def _free(self, owners: list[Owner], report: SweepReport) -> Freed:
        freed = self._deaths.settle(owners)
        report.proved_dead += freed.dead
        report.given_back += freed.given_back
        report.redelivered += freed.deliveries
        report.retried += freed.retried
        _note_ended(report, freed.ended)
        _note_bad(report, freed.bad)
        return freed

    def _clean(self, freed: Freed, report: SweepReport) -> None:
        """Deal with processes, and deliver what that ended."""
        if not freed.tended:
            return
        seen = self._deaths.seen
        cleaned = self._cleaner().clean(freed.tended, lambda owner: seen.get(owner) is Vitality.ALIVE)
        _note_cleaned(report, cleaned)
        self._deaths.forget(freed)
        if cleaned.ended:
            report.drain.add(self._outbox.drain())

    def _defers(self, run_id: str, before: dict[str, float]) -> bool:
        """Whether a run is left to its holder in this process, which it is for a bounded time."""
        if self._held_here is None or not self._held_here(run_id):
            return False
        now = self._verbs.clock.monotonic()
        since = before.get(run_id, now)
        self._deferred[run_id] = since
        return now - since < limits.DEFER_SECONDS

    def _recover_singly(self, run_ids: list[str], freed: Freed, report: SweepReport) -> None:
        """A batch that failed as a whole is done one by one, so that only the bad row stays behind."""
        for run_id in run_ids:
            try:
                self._recover_batch([run_id], freed, report)
            except ROW_ERRORS as error:
                _note_bad(report, [BadRow("runs", run_id, error.problem)])

    def _recover_batch(self, run_ids: list[str], freed: Freed, report: SweepReport) -> None:
        bad: list[BadRow] = []
        ended: list[Run] = []
        tended: dict[str, str] = {}
        retried = 0
        with self._verbs.store.transaction("recover") as tx:
            now = instant(self._verbs.clock)
            groups = Groups(tx)
            changes: list[Change] = []
            for run in tx.load_runs(run_ids, bad):
                retry_id = self._verbs.ids.new("run") if run.spec.interruption_budget else ""
                try:
                    decision = decide(run, requests.Recover(self._verbs.owner, retry_id), now)
                    made = changes_of(run, decision, now, groups) if decision.changed else []
                except ROW_ERRORS as error:
                    bad.append(BadRow("runs", run.run_id, error.problem))
                    continue
                changes.extend(made)
                if decision.changed:
                    ended.append(decision.run)
                    retried += decision.successor is not None
                elif may_take_over(run, "", now):
                    tended[run.run_id] = ""
            tx.save(changes)
        freed.tended = tended | freed.tended
        report.retried += retried
        _note_ended(report, ended)
        _note_bad(report, bad + groups.bad)

    # --- run folders ---

    def _import(self, report: SweepReport) -> None:
        """Import what the settings name, a bounded part of it, and deliver what that gave."""
        homes, clock = self._verbs.settings.imports, self._verbs.clock
        if not homes:
            return
        report.imports += [self._importer().not_reached(folders) for folders in homes]
        until = clock.boottime() + limits.IMPORTS_SECONDS
        for turn in range(len(homes)):
            number = (self._next_home + turn) % len(homes)
            if turn and clock.boottime() >= until:
                self._next_home = number
                break
            report.imports[number] = self._importer().sweep(homes[number])
        # What failed may have been written all the same.
        if any(each.routed or each.problem is not None for each in report.imports):
            report.drain.add(self._outbox.drain())

    # --- the operator ---

    def _write_digest(self, report: SweepReport) -> None:
        operator = self._verbs.settings.operator
        if not operator:
            return
        with self._verbs.store.view("read-held") as view:
            if not view.count_untold_held():
                return
        number = self._verbs.ids.new("held")
        with self._verbs.store.transaction("digest") as tx:
            total = tx.count_untold_held()
            if total:
                named = tx.untold_held(limits.DIGEST_EVENTS_NAMED)
                event = digest_event(number, operator, named, total, instant(self._verbs.clock))
                tx.mark_held_told()
                tx.save([Change(new_events=(event,))])
                report.digest = True

    # --- pruning ---

    def _prune(self, report: SweepReport) -> None:
        age = self._verbs.settings.prune_after
        if age is None:
            return
        for _ in range(limits.PRUNE_BATCHES):
            with self._verbs.store.view("read-prunable") as view:
                before = self._verbs.clock.wall() - age
                old = view.finished_before(before, limits.PRUNE_BATCH)
                # Groups go when their runs have gone.
                told = [] if old else view.runless_before(before, limits.PRUNE_BATCH)
            if not old and not told:
                return
            with self._verbs.store.transaction("prune") as tx:
                if old:
                    tx.remove_runs(old)
                else:
                    tx.remove_runless(told)
            report.pruned += len(old)
            report.pruned_summaries += len(told)


class Recovery:
    """What one coordinator recovers with. It looks at processes through ``probing``, with threads of its own:
    looks that do not return must not use up what heartbeats need."""

    def __init__(
        self,
        verbs: RunVerbs,
        outbox: Outbox,
        probing: Bounded,
        sleeper: Sleeper,
        importer: Callable[[], Importer],
    ) -> None:
        self._verbs, self._outbox, self._sleeper, self._importer = verbs, outbox, sleeper, importer
        self._probes = Probes(verbs.table, probing)

    def recoverer(self, held_here: Callable[[str], bool] | None) -> Recoverer:
        deaths = Deaths(self._verbs, self._probes)
        return Recoverer(self._verbs, self._outbox, deaths, self._cleaner, self._importer, held_here)

    def _cleaner(self) -> Cleaner:
        """Loaded when the first run left processes behind; most programs never do."""
        from runcoord._cleaning import Cleaner
        from runcoord._ending_trees import Trees

        trees = Trees(self._probes, self._verbs.clock, self._sleeper)
        return Cleaner(self._verbs, self._probes, trees)


def _note_bad(report: SweepReport, bad: list[BadRow]) -> None:
    """Each row once, however many looks of one sweep meet it."""
    if not bad:
        return
    new = {(each.table, each.key): each for each in bad if (each.table, each.key) not in report._met}
    report._met.update(new)
    report.bad_count += len(new)
    report.bad.extend([*new.values()][: limits.BAD_ROWS_NAMED - len(report.bad)])


def _note_ended(report: SweepReport, runs: list[Run]) -> None:
    for run in runs:
        report.interrupted += run.outcome is Outcome.INTERRUPTED
        report.stopped += run.outcome is Outcome.STOPPED
        report.recovered += run.outcome in (Outcome.COMPLETED, Outcome.FAILED)
        report.capped += run.outcome is None


def _note_cleaned(report: SweepReport, cleaned: Cleaned) -> None:
    report.cleaned += cleaned.done
    report.killed += cleaned.killed
    report.cleanup_deferred += cleaned.deferred
    report.survived += cleaned.survived
    report.unaudited += cleaned.unaudited
    report.retried += cleaned.retried
    report.unfinished = report.unfinished or cleaned.unfinished
    _note_ended(report, cleaned.ended)
    _note_bad(report, cleaned.bad)
