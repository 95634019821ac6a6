"""The verbs of a run, in the order of its life: load, decide, save, in one transaction each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from runcoord._answers import Completion, Receipt, Renewal, StopReceipt
from runcoord._changes import Groups, changes_of, creation
from runcoord._core import limits, requests, submission
from runcoord._core.decide import Decision, decide, require_lease_seconds
from runcoord._core.deliveries import delivery_of, replayed
from runcoord._core.model import (
    Command,
    Event,
    EventState,
    Instant,
    Lease,
    Outcome,
    Run,
)
from runcoord._core.records import NewProcess, RecordedProcess, Snapshot, Terms
from runcoord._core.settings import Settings
from runcoord._core.teardown import TeardownReport
from runcoord._core.values import replace
from runcoord._lookups import Lookups, next_waiting, present, unknown_run
from runcoord._registration import Registration
from runcoord.errors import InvalidRequest, UnknownEvent, VersionConflict
from runcoord.ports import Change, Clock, Destination, Ids, Processes, Store, Transaction

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import Any


def instant(clock: Clock) -> Instant:
    """One reading of the clocks."""
    return Instant(clock.wall(), clock.boottime(), clock.boot_id())


class RunVerbs(Lookups):
    """What may be done with runs. Safe to use from several threads.

    Every verb that writes is one transaction. A :class:`~runcoord.errors.Refused` means that nothing
    changed; a :class:`~runcoord.errors.StoreError` says whether it may have.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        ids: Ids,
        owner: str,
        settings: Settings,
        destinations: dict[str, Destination] | None,
        table: Callable[[], Processes] | None = None,
    ) -> None:
        self.store = store
        self.clock = clock
        self.ids = ids
        self.owner = owner
        self.settings = settings
        self.destinations = destinations
        self.table = table
        """Gives the table of processes; ``None`` where processes are not looked at."""
        self.registration = Registration(self.owner, table)
        self.on_event: Callable[[], None] = _nothing
        """Called after an event became due, so that whoever delivers need not wait for the next sweep."""

    # --- accepting ---

    def submit(
        self,
        payload: Any = None,
        *,
        run_id: str = "",
        key: str = "",
        destination: str = "",
        agent: str = "",
        task: str = "",
        conversation_key: str = "",
        group: str = "",
        group_size: int = 0,
        interruption_budget: int | None = None,
        lineage: str = "",
        depth: int = 0,
        live_runs_cap: int = 0,
    ) -> Receipt:
        """Accept work durably: once this returns, the run is there after any crash.

        ``key`` makes repetition safe: the same key with the same content gives the first answer, with
        other content :class:`~runcoord.errors.KeyConflict`. Without a key the run id is the key; without
        a run id one is made, and then a repetition is new work. An empty ``destination`` is allowed: the
        terminal event is then held for the operator. A key is remembered as long as its run: where finished
        runs are pruned, a repetition after that is new work.

        ``lineage`` names what a line of runs within runs began with, and ``depth`` says how many are around
        this one; they are no part of the content. With a ``live_runs_cap`` (0: none) so many runs of one
        lineage may be unfinished, this one included; beyond it :class:`~runcoord.errors.LiveRunsExceeded`,
        and nothing is accepted.

        Raises :class:`~runcoord.errors.InvalidRequest` for a field that is outside its limit.
        """
        line = submission.make_line(lineage, depth, live_runs_cap)
        budget = self.settings.interruption_budget if interruption_budget is None else interruption_budget
        spec = submission.make_spec(
            payload,
            destination=destination,
            agent=agent,
            task=task,
            conversation_key=conversation_key,
            group=group,
            group_size=group_size,
            interruption_budget=budget,
        )
        asked_id = submission.require_id("run_id", run_id) if run_id else ""
        digest = submission.content_hash(spec, asked_id, interruption_budget)
        run_id = asked_id or self.ids.new("run")
        key = submission.require_id("key", key or run_id)
        try:
            with self.store.transaction("accept") as tx:
                known = tx.command(key)
                if known is not None:
                    submission.require_same_content(known, digest)
                    return self._receipt(present(tx, known.run_id, "commands", key), replayed=True)
                if live_runs_cap:
                    submission.require_room(tx.count_unfinished(lineage), line)
                joined = submission.joined(tx.group(group) if group else None, spec)
                now = instant(self.clock)
                run = submission.accepted(run_id, spec, now, line)
                tx.save([Change(run=run, command=Command(key, run_id, digest, now.wall), group=joined)])
        except VersionConflict as error:
            # The key was seen to be free, under the lock: it is the run that is there already.
            raise submission.taken(run_id, key) from error
        return self._receipt(run, replayed=False)

    def retry(self, run_id: str) -> Receipt:
        """A new run with the inputs of a failed or interrupted one, linked to it.

        A run is retried once; asking again gives the same new run. Raises
        :class:`~runcoord.errors.NotRetryable` for any other outcome.
        """
        new_id = self.ids.new("run")
        with self.store.transaction("retry") as tx:
            run = self._load(tx, run_id)
            if run.retried_as:
                return self._receipt(present(tx, run.retried_as, "runs", run_id), replayed=True)
            now = instant(self.clock)
            successor = submission.explicit_retry(run, new_id, now)
            linked = replace(run, version=run.version + 1, retried_as=new_id)
            tx.save([Change(before=run, run=linked), creation(successor)])
        return self._receipt(successor, replayed=False)

    # --- owning ---

    def claim(self, run_id: str, *, lease: float | None = None) -> Lease:
        """Become the owner of an accepted run, for ``lease`` seconds (default: the setting)."""
        seconds = self._lease_seconds(lease)
        self.registration.prepare()
        sent = self.clock.boottime()
        decision = self._decide("claim", run_id, requests.Claim(self.owner, seconds), acquires=True)
        return lease_of(decision.run, sent)

    def claim_next(self, *, lease: float | None = None) -> Lease | None:
        """Claim the oldest run that can be claimed; ``None`` when there is none.

        A row that cannot be read is passed over, and named in the log.
        """
        seconds = self._lease_seconds(lease)
        self.registration.prepare()
        sent = self.clock.boottime()
        with self.store.transaction("claim") as tx:
            now = instant(self.clock)
            run = next_waiting(tx, now)
            if run is None:
                return None
            decision = self.registered(decide(run, requests.Claim(self.owner, seconds), now), now)
            self._save(tx, run, decision, now)
        self.registration.written()
        return lease_of(decision.run, sent)

    def start(self, lease: Lease) -> Run:
        """Record that the work begins; only after this may it have effects. Gives the run with its inputs.

        Repeating it under the same lease gives the same answer.
        """
        return self._decide("start", lease.run_id, requests.Start(lease)).run

    def renew(self, lease: Lease) -> Renewal:
        """Lengthen an unexpired lease. Its epoch stays."""
        sent = self.clock.boottime()
        run = self._decide("renew", lease.run_id, requests.Renew(lease)).run
        return Renewal(lease_of(run, sent), run.stop_requested_at is not None)

    def reacquire(self, lease: Lease) -> Renewal:
        """Take an expired lease again under a new epoch, if nobody acquired the run since."""
        sent = self.clock.boottime()
        run = self._decide("reacquire", lease.run_id, requests.Reacquire(lease)).run
        return Renewal(lease_of(run, sent), run.stop_requested_at is not None)

    def release(self, lease: Lease) -> None:
        """Give back a run whose work has not begun; it can be claimed at once."""
        self._decide("release", lease.run_id, requests.Release(lease))

    def progress(self, lease: Lease, text: str) -> None:
        """Record the latest progress of the work; the one before is replaced."""
        submission.require_text("progress", text, limits.MAX_PROGRESS_CHARACTERS)
        self._decide("progress", lease.run_id, requests.Progress(lease, text))

    def publish(self, lease: Lease, body: Any) -> Event:
        """Write an event of the run, other than its terminal one, to the run's destination."""
        text = submission.require_json("body", body)
        decision = self._decide("publish", lease.run_id, requests.Publish(lease, text))
        assert decision.event is not None
        return decision.event

    # --- its processes ---

    def record_processes(
        self,
        lease: Lease,
        processes: Sequence[NewProcess],
        *,
        terms: Terms | None = None,
        snapshot: str = "",
    ) -> list[RecordedProcess]:
        """Write down processes of the run before they execute anything, so that recovery can end them. A
        claimed run is started by it, in the same commit. ``snapshot``: directory of the git state before it.

        A process whose identity could not be read is recorded as an
        :class:`~runcoord.ports.UnknownIdentity`: nobody is ever signalled for it. Raises
        :class:`~runcoord.errors.InvalidRequest` for a number that is no pid, or the caller's own.
        """
        own = self.table().own() if self.table is not None else frozenset[int]()
        for each in processes:
            if each.identity.pid in own:
                raise InvalidRequest(
                    f"pid {each.identity.pid} is this process, its group or its session, or init",
                    remedy="Record only processes that were started for the run.",
                    pid=each.identity.pid,
                )
        taken = Snapshot(lease.run_id, snapshot) if snapshot else None
        request = requests.RecordProcesses(lease, tuple(processes), terms or Terms(), taken)
        decision = self._decide("record", lease.run_id, request)
        return [each for each in decision.records if isinstance(each, RecordedProcess)]

    def record_teardown(self, lease: Lease, report: TeardownReport) -> Run:
        """Keep the report on how the owner ended the run's processes; recovery leaves them alone from then
        on. Also after the run was completed, if that was done first. Repeating it changes nothing."""
        return self._decide("record-teardown", lease.run_id, requests.RecordTeardown(lease, report)).run

    def record_snapshot(self, lease: Lease, snapshot: Snapshot) -> None:
        """Write down where the git state before the run is, or what became of it, in the place of what was
        recorded before."""
        self._decide("record-snapshot", lease.run_id, requests.RecordSnapshot(lease, snapshot))

    # --- ending ---

    def complete(
        self,
        lease: Lease,
        outcome: Outcome | str,
        *,
        result: str = "",
        error: str = "",
        exit_status: int | None = None,
        teardown: TeardownReport | None = None,
        snapshot: Snapshot | None = None,
        unless_stopped: bool = False,
    ) -> Completion:
        """Record the run's outcome together with its terminal event, in one commit.

        A stop that was accepted before wins: the outcome is then ``stopped``, with the result kept. With
        ``unless_stopped`` nothing changes then; :class:`~runcoord.errors.WorkCancelled` is raised.
        Repeating the same completion under the same lease gives the same answer.

        Of a run with processes: ``exit_status`` as ``Popen.returncode``, ``teardown`` as for
        :meth:`record_teardown`, ``snapshot`` as for :meth:`record_snapshot`. Where no teardown is recorded
        the event says that clean-up is pending; it is delivered all the same, and recovery ends what is left.
        """
        if exit_status is not None:
            submission.require_count("exit_status", exit_status, -255, 2**32 - 1)
        try:
            wanted = Outcome(outcome)
        except ValueError:
            known = ", ".join(o.value for o in Outcome)
            raise InvalidRequest(f"unknown outcome {outcome!r}", remedy=f"Use one of: {known}.") from None
        for field, text in (("result", result), ("error", error)):
            if not isinstance(text, str):
                raise InvalidRequest(
                    f"{field} must be text, not {type(text).__name__}", remedy="Pass a str.", field=field
                )
        served = frozenset(self.destinations or ())
        request = requests.Complete(
            lease, wanted, result, error, self.owner, served, exit_status, teardown, snapshot, unless_stopped
        )
        decision = self._decide("finish", lease.run_id, request)
        event = decision.event
        mine = event is not None and event.state is EventState.SENDING
        return Completion(decision.run, decision.late, delivery_of(event) if event and mine else None)

    def stop(self, run_id: str, reason: str = "stopped by its user") -> StopReceipt:
        """Ask a run to stop, durably. Work that has not begun never will, and the run ends at once.

        For a finished run the answer is its outcome, which stands.
        """
        if not isinstance(reason, str):
            raise InvalidRequest(
                f"reason must be text, not {type(reason).__name__}", remedy="Pass a str.", field="reason"
            )
        run = self._decide("stop", run_id, requests.Stop(reason)).run
        return StopReceipt(run_id, run.state, run.outcome)

    def replay(self, event_id: str, *, destination: str = "") -> Event:
        """Send a held event again, to ``destination`` if one is given."""
        if destination:
            submission.require_text("destination", destination, limits.MAX_ID_CHARACTERS)
        with self.store.transaction("replay") as tx:
            event = tx.event(event_id)
            if event is None:
                raise UnknownEvent(
                    f"there is no event {event_id!r}", remedy="List events to see their ids.", event=event_id
                )
            again = replayed(event, destination, instant(self.clock))
            tx.save([Change(events=(again,))])
        self.on_event()
        return again

    # --- load, decide, save ---

    def _decide(
        self, verb: str, run_id: str, request: requests.Request, *, acquires: bool = False
    ) -> Decision:
        with self.store.transaction(verb) as tx:
            run = self._load(tx, run_id)
            now = instant(self.clock)
            decision = decide(run, request, now)
            if acquires:
                decision = self.registered(decision, now)
            self._save(tx, run, decision, now)
            if verb == "finish" and self.registration.leaving:
                tx.remove_owner(self.owner)
        if acquires:
            self.registration.written()
        if decision.event is not None:
            self.on_event()
        return decision

    def registered(self, decision: Decision, now: Instant) -> Decision:
        """What acquires something for the first time also says who this owner is."""
        rows = self.registration.rows(now.wall)
        return decision.recording(*decision.records, *rows) if rows else decision

    def _save(self, tx: Transaction, before: Run, decision: Decision, now: Instant) -> None:
        if decision.changed:
            tx.save(changes_of(before, decision, now, Groups(tx)))

    def _load(self, tx: Transaction, run_id: str) -> Run:
        run = tx.run(run_id)
        if run is None:
            raise unknown_run(run_id)
        return run

    def _receipt(self, run: Run, *, replayed: bool) -> Receipt:
        return Receipt(run.run_id, run.state, run.outcome, replayed)

    def _lease_seconds(self, lease: float | None) -> float:
        seconds = self.settings.lease if lease is None else lease
        return require_lease_seconds(seconds, limits.MIN_LEASE_SECONDS, limits.MAX_LEASE_SECONDS)


def lease_of(run: Run, sent: float) -> Lease:
    """What whoever acquired a run holds; the request for it was sent at ``sent`` (boottime)."""
    assert run.lease is not None
    return Lease(run.run_id, run.owner, run.epoch, run.lease_seconds, sent, run.lease)


def _nothing() -> None:
    """Nobody here delivers."""
