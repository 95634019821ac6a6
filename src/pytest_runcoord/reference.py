"""The reference coordinator as a subject: production assembly, opened the documented way."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pytest_runcoord.empty_store import begin_empty
from pytest_runcoord.probed_ports import FaultyStore, ProbedDestination
from pytest_runcoord.reference_commands import CommandVerbs
from pytest_runcoord.reference_homes import HomeVerbs, folders_of, import_answer
from pytest_runcoord.reference_processes import ProcessVerbs
from pytest_runcoord.reference_snapshot import Onlooker
from pytest_runcoord.subject import CAPABILITIES, Answer, Snapshot, SubjectWorld, Timer
from runcoord import (
    BadRow,
    Coordinator,
    Delivery,
    Execution,
    Lease,
    Outcome,
    Ports,
    Renewal,
    Settings,
    StoreError,
    SweepReport,
    open_coordinator,
)
from runcoord.errors import ProcessError, Refused, ResultUnreachable
from runcoord.ports import Counters, Ids, Store
from runcoord.testing import MemoryData, MemoryStore

if TYPE_CHECKING:
    from pytest_runcoord.reference_threads import ThreadHelper

STORE_NAME = "runs.db"
REFUSALS = (Refused, StoreError, ProcessError, ResultUnreachable)
"""What a scenario may expect by its code."""
ROOT_ONLY = frozenset(() if getattr(os, "geteuid", int)() == 0 else ("ownership",))
"""What it cannot be asked for here."""


class _WorldIds(Ids):
    def __init__(self, new_id: Callable[[str], str]) -> None:
        self._new_id = new_id

    def new(self, prefix: str) -> str:
        return self._new_id(prefix)


class Reference:
    """``runcoord`` itself, on the documented default store. ``creates``: the first owner creates the store;
    otherwise it finds an empty one."""

    name = "runcoord"
    capabilities = frozenset(CAPABILITIES) - ROOT_ONLY

    def __init__(self, store: str = "default", *, creates: bool = False) -> None:
        self._store, self._creates = store, creates

    def open(self, owner: str, world: SubjectWorld) -> ReferenceSession:
        table = None
        if world.destinations is not None:
            table = {name: ProbedDestination(world.probe) for name in world.destinations}
        memory = self._memory(world)
        path = world.directory  # which nobody looks at where the store is in memory
        if memory is None:
            path = world.directory / STORE_NAME
            if not self._creates:
                begin_empty(path)
        ports = Ports(
            clock=world.clock,
            sleeper=world.sleeper,
            ids=_WorldIds(world.new_id),
            bounded=world.bounded,
            processes=world.processes,
            launcher=world.launcher,
            homes=world.homes,
            store=memory,
            wrap_store=lambda store: FaultyStore(store, world.probe),
        )
        coordinator = open_coordinator(
            path,
            destinations=table,
            settings=_settings(world),
            owner=owner,
            ports=ports,
        )
        return ReferenceSession(coordinator, world)

    def refusal(self, error: BaseException) -> str | None:
        return error.code if isinstance(error, REFUSALS) else None

    def snapshot(self, world: SubjectWorld) -> Snapshot:
        observer = world.shared.get("observer")
        if observer is None:
            store: Store | None = self._memory(world)
            if store is None:
                path = world.directory / STORE_NAME
                if not path.exists():
                    return Snapshot({}, {})
                ports = Ports(clock=world.clock, sleeper=world.sleeper)
                store = open_coordinator(path, create=False, ports=ports).store
            observer = world.shared["observer"] = Onlooker(store)
        snapshot: Snapshot = observer.look(world.shared.get("rows_written"))
        return snapshot

    def finish(self, world: SubjectWorld) -> None:
        observer = world.shared.pop("observer", None)
        if observer is not None:
            observer.close()

    def _memory(self, world: SubjectWorld) -> MemoryStore | None:
        if self._store != "memory":
            return None
        data: MemoryData | None = world.shared.get("memory")
        if data is None:
            data = world.shared["memory"] = MemoryData()
        return MemoryStore(data)


class ReferenceSession(ProcessVerbs, CommandVerbs, HomeVerbs):
    """One incarnation of the reference. Each verb is one call of the public interface."""

    def __init__(self, coordinator: Coordinator, world: SubjectWorld) -> None:
        self._coordinator = coordinator
        self._world = world
        self._executions: list[Execution] = []
        self._waiters = []
        self._serving = False
        self._threads: ThreadHelper | None = None

    def close(self) -> None:
        self._coordinator.close()
        if self._threads is not None:
            self._threads.close()

    def abandon(self) -> None:
        self.close()

    def timers(self) -> list[tuple[str, Timer]]:
        timers: list[tuple[str, Timer]] = [("renew", execution) for execution in self._executions]
        timers += self.command_timers()
        if self._serving:
            timers.append(("maintenance", self._coordinator.maintenance))
        return timers

    def counters(self) -> Counters:
        """What the store of this incarnation has done; the same object for a shared store."""
        return self._coordinator.store.counters

    # --- runs ---

    def submit(self, run: str, **fields: Any) -> Answer:
        receipt = self._coordinator.submit(fields.pop("payload", None), run_id=run, **fields)
        return Answer(
            {
                "run": receipt.run_id,
                "state": receipt.state.value,
                "outcome": _text(receipt.outcome),
                "replayed": receipt.replayed,
            }
        )

    def retry(self, run: str) -> Answer:
        receipt = self._coordinator.retry(run)
        return Answer({"run": receipt.run_id, "state": receipt.state.value, "replayed": receipt.replayed})

    def claim(self, run: str, lease: float | None = None) -> Answer:
        return _lease_answer(self._coordinator.claim(run, lease=lease))

    def claim_next(self, lease: float | None = None) -> Answer:
        found = self._coordinator.claim_next(lease=lease)
        return Answer({"run": None}) if found is None else _lease_answer(found)

    def start(self, lease: Lease) -> Answer:
        run = self._coordinator.start(lease)
        return Answer({"run": run.run_id, "epoch": run.epoch, "payload": run.spec.payload})

    def renew(self, lease: Lease) -> Answer:
        return _renewal_answer(self._coordinator.renew(lease))

    def reacquire(self, lease: Lease) -> Answer:
        return _renewal_answer(self._coordinator.reacquire(lease))

    def release(self, lease: Lease) -> Answer:
        self._coordinator.release(lease)
        return Answer({"run": lease.run_id, "epoch": lease.epoch})

    def progress(self, lease: Lease, text: str) -> Answer:
        self._coordinator.progress(lease, text)
        return Answer({"run": lease.run_id, "epoch": lease.epoch})

    def publish(self, lease: Lease, body: Any) -> Answer:
        event = self._coordinator.publish(lease, body)
        return Answer({"run": lease.run_id, "event": event.event_id, "epoch": lease.epoch})

    def complete(self, lease: Lease, outcome: str, result: str = "", error: str = "") -> Answer:
        done = self._coordinator.complete(lease, outcome, result=result, error=error)
        values = {
            "run": lease.run_id,
            "outcome": _text(done.run.outcome),
            "late": done.late,
            "epoch": lease.epoch,
        }
        return Answer(values, done.delivery)

    def stop(self, run: str, reason: str = "stopped by its user") -> Answer:
        receipt = self._coordinator.stop(run, reason)
        return Answer({"run": run, "state": receipt.state.value, "outcome": _text(receipt.outcome)})

    def look(self) -> Answer:
        """Read everything, as ``runcoord runs`` and ``runcoord events`` do."""
        runs, events = self._coordinator.runs(), self._coordinator.events()
        bad = named([*runs.bad, *events.bad])
        return Answer({"runs": len(runs.runs), "events": len(events.events), "bad": bad})

    # --- recovery and delivery ---

    def startup(self) -> Answer:
        report = self._coordinator.startup()
        self._serving = True
        return _sweep_answer(report)

    def recover(self) -> Answer:
        return _sweep_answer(self._coordinator.recover())

    def deliver(self) -> Answer:
        report = self._coordinator.deliver()
        return Answer(
            {
                "delivered": report.delivered,
                "postponed": report.postponed,
                "held": report.held,
                "stale": report.stale,
                "unfinished": report.unfinished,
                "bad": len(report.bad),
            }
        )

    def dispatch(self, run: str | None = None) -> Answer:
        """Claim what is due; the handle is the attempt for ``run``, or the first one."""
        for delivery in self._coordinator.dispatch():
            if run is None or delivery.event.run_id == run:
                return Answer({"event": delivery.event.event_id, "attempt": delivery.attempt}, delivery)
        return Answer({"event": None})

    def acknowledge(self, delivery: Delivery) -> Answer:
        self._coordinator.acknowledge(delivery)
        return Answer({"event": delivery.event.event_id, "attempt": delivery.attempt})

    def postpone(self, delivery: Delivery, reason: str) -> Answer:
        self._coordinator.postpone(delivery, reason)
        return Answer({"event": delivery.event.event_id, "attempt": delivery.attempt})

    def refuse(self, delivery: Delivery, reason: str) -> Answer:
        self._coordinator.refuse(delivery, reason)
        return Answer({"event": delivery.event.event_id, "attempt": delivery.attempt})

    def replay(self, event: str, destination: str = "") -> Answer:
        again = self._coordinator.replay(event, destination=destination)
        return Answer({"event": again.event_id, "destination": again.destination})

    # --- work under a heartbeat ---

    def execute(self, run: str) -> Answer:
        execution = self._coordinator.begin(run)
        self._executions.append(execution)
        return Answer({"run": run, "epoch": execution.lease.epoch}, execution)

    def execute_next(self) -> Answer:
        execution = self._coordinator.begin_next()
        if execution is None:
            return Answer({"run": None})
        self._executions.append(execution)
        return Answer({"run": execution.run.run_id, "epoch": execution.lease.epoch}, execution)

    def effect(self, execution: Execution) -> Answer:
        execution.guard()
        return Answer({"run": execution.run.run_id, "epoch": execution.lease.epoch})

    def finish(self, execution: Execution, outcome: str, result: str = "", error: str = "") -> Answer:
        report = execution.finish(Outcome(outcome), result=result, error=error)
        if execution in self._executions:
            self._executions.remove(execution)
        return Answer(
            {
                "run": report.run.run_id,
                "ended": report.ended.value,
                "outcome": _text(report.run.outcome),
                "epoch": execution.lease.epoch,
                "late": report.run.late,
            }
        )

    def hold(self, execution: Execution) -> Answer:
        """What the holder knows: read without changing anything."""
        heartbeat = execution.heartbeat
        return Answer(
            {
                "run": execution.run.run_id,
                "hold": heartbeat.hold.value,
                "epoch": heartbeat.lease.epoch,
                "stop_requested": heartbeat.stop_requested,
                "reports": [report.what for report in heartbeat.reports],
            }
        )

    # --- the thread helper ---

    def submit_through_thread(self, run: str, patience: float, cancel: bool, **fields: Any) -> Answer:
        """Submit from asyncio through the thread helper, waiting at most ``patience`` seconds."""
        return self._through_threads().submit(run, patience, cancel, **fields)

    def drain_calls(self, patience: float) -> Answer:
        """Wait for calls made through the helper; says how many returned and how many are stuck."""
        return self._through_threads().drain(patience)

    def _through_threads(self) -> ThreadHelper:
        if self._threads is None:
            from pytest_runcoord.reference_threads import ThreadHelper

            self._threads = ThreadHelper(self._coordinator)
        return self._threads


def _settings(world: SubjectWorld) -> Settings | None:
    if not world.imports:
        return Settings(**world.settings) if world.settings else None
    return Settings(**world.settings, imports=tuple(map(folders_of, world.imports)))


def _text(outcome: Outcome | None) -> str | None:
    return None if outcome is None else outcome.value


def _lease_answer(lease: Lease) -> Answer:
    return Answer({"run": lease.run_id, "epoch": lease.epoch, "owner": lease.owner}, lease)


def _renewal_answer(renewal: Renewal) -> Answer:
    lease = renewal.lease
    values = {"run": lease.run_id, "epoch": lease.epoch, "stop_requested": renewal.stop_requested}
    return Answer(values, lease)


def named(rows: list[BadRow]) -> list[str]:
    """Bad rows as ``table/key``, in order."""
    return sorted(f"{row.table}/{row.key}" for row in rows)


def _sweep_answer(report: SweepReport) -> Answer:
    drain = report.drain
    return Answer(
        {
            "interrupted": report.interrupted,
            "stopped": report.stopped,
            "retried": report.retried,
            "recovered": report.recovered,
            "capped": report.capped,
            "proved_dead": report.proved_dead,
            "given_back": report.given_back,
            "redelivered": report.redelivered,
            "cleaned": report.cleaned,
            "killed": report.killed,
            "cleanup_deferred": report.cleanup_deferred,
            "survived": report.survived,
            "unaudited": report.unaudited,
            "pruned": report.pruned,
            "pruned_summaries": report.pruned_summaries,
            "digest": report.digest,
            "unfinished": report.unfinished or drain.unfinished,
            "delivered": drain.delivered,
            "postponed": drain.postponed,
            "held": drain.held,
            "stale": drain.stale,
            "bad": report.bad_count + len(drain.bad),
            "named": named([*report.bad, *drain.bad]),
            "imports": [import_answer(each) for each in getattr(report, "imports", ())],
        }
    )
