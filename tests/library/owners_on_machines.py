"""Owners that are processes of a simulated table, over one store: they die, restart, and recover."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from pytest_runcoord.processes import Place, SignalSent, SimProcess, SimProcesses, SimTable
from runcoord import Coordinator, Event, EventKind, Lease, Message, Run, Settings, open_coordinator
from runcoord.errors import Happened, StoreError, StoreTimeout
from runcoord.ports import (
    Change,
    Counters,
    NewProcess,
    Ports,
    ProcessIdentity,
    Role,
    Store,
    Terms,
    Transaction,
    UnknownIdentity,
    View,
)
from runcoord.testing import CountingIds, ManualClock, ManualSleeper, MemoryData, MemoryStore

T = TypeVar("T")
COOKIE = "c0" * 16
TERM, KILL = 15, 9


class Hangs(BaseException):
    """A call that never returns."""


class Inline:
    """Bounded calls: one that hangs times out at once."""

    def call(self, seconds: float, call: Callable[[], T]) -> T:
        try:
            return call()
        except Hangs:
            raise StoreTimeout("no answer", remedy="Ask again.", happened=Happened.MAYBE) from None


class Watcher:
    """A probe of nobody that remembers, and lets something happen at a moment."""

    def __init__(self) -> None:
        self.at: dict[str, Callable[[], None]] = {}

    def reach(self, moment: str, **data: object) -> None:
        if moment in self.at:
            self.at.pop(moment)()

    def fault(self, verb: str) -> str | None:
        return None

    def hang(self) -> None:
        raise Hangs

    def send(self, message: Message) -> None:
        raise AssertionError("nothing is sent here")


class FailingStore:
    """Fails transactions of one verb while ``failing`` names it; remembers the verbs that were committed."""

    def __init__(self, inner: Store) -> None:
        self._inner = inner
        self.failing = ""
        self.verbs: list[str] = []

    @contextmanager
    def transaction(self, verb: str) -> Iterator[Transaction]:
        if verb == self.failing:
            raise StoreError("the disk is gone", remedy="Look at it.")
        with self._inner.transaction(verb) as tx:
            yield tx
        self.verbs.append(verb)

    def view(self, verb: str) -> AbstractContextManager[View]:
        return self._inner.view(verb)

    @property
    def counters(self) -> Counters:
        return self._inner.counters

    def close(self) -> None:
        self._inner.close()


class Machines:
    """One store, one clock, one table; owners are started on machines and killed."""

    def __init__(self, *, handles: bool = True, settings: Settings | None = None) -> None:
        self.clock = ManualClock()
        self.table = SimTable(self.clock, handles=handles)
        self.signals: list[SignalSent] = []
        self.table.signal_watchers.append(self.signals.append)
        self.data, self.ids = MemoryData(), CountingIds()
        self.settings = settings or Settings()
        self.accepted: list[Message] = []
        self.processes: dict[str, SimProcess] = {}
        self.watchers: dict[str, Watcher] = {}
        self.stores: dict[str, FailingStore] = {}

    def start(self, owner: str, place: Place | None = None, *, serves: bool = True) -> Coordinator:
        """A new start of an owner."""
        own = self.processes[owner] = self.table.start(owner, place=place)
        watcher = self.watchers[owner] = Watcher()
        sleeper = ManualSleeper(self.clock)
        store = self.stores[owner] = FailingStore(MemoryStore(self.data))
        ports = Ports(
            clock=self.clock,
            sleeper=sleeper,
            ids=self.ids,
            bounded=Inline(),
            processes=SimProcesses(self.table, own, watcher, sleeper),
            store=store,
        )
        destinations = {"chat": self.accepted.append} if serves else None
        return open_coordinator(
            "unused", destinations=destinations, settings=self.settings, owner=owner, ports=ports
        )

    def kill(self, owner: str) -> None:
        """The process of an owner is gone, from one moment to the next."""
        self.table.exit(self.processes[owner], -KILL)

    # --- runs ---

    def child(self, owner: str, label: str = "child", *, run: str = "r1", **more: Any) -> SimProcess:
        """A process of a run, with its cookie, in a session of its own."""
        environment = more.pop("environment", {"RUNCOORD_COOKIE": COOKIE})
        parent = self.processes[owner]
        child = self.table.start(label, parent=parent, run=run, environment=environment, **more)
        self.table.new_session(child)
        return child

    def begun(self, coordinator: Coordinator, run_id: str = "r1", **fields: Any) -> Lease:
        """A run that is claimed."""
        coordinator.submit(run_id=run_id, destination="chat", **fields)
        return coordinator.claim(run_id)

    def running(self, coordinator: Coordinator, *children: SimProcess, **fields: Any) -> Lease:
        """The run r1 with these processes, recorded."""
        lease = self.begun(coordinator, **fields)
        assert coordinator.table is not None
        table = coordinator.table()
        new = [NewProcess(table.identify(child.pid, COOKIE), Role.LEADER) for child in children]
        coordinator.record_processes(lease, new, terms=Terms(handed_over=COOKIE))
        return lease

    def recorded(
        self, coordinator: Coordinator, *identities: ProcessIdentity | UnknownIdentity, **fields: Any
    ) -> Lease:
        """The run r1 with processes of these identities."""
        lease = self.begun(coordinator, **fields)
        coordinator.record_processes(lease, [NewProcess(each, Role.LEADER) for each in identities])
        return lease

    def overwrite(self, identity: object, number: int = 1, run_id: str = "r1") -> None:
        """What another version wrote in the place of a recorded identity."""
        with MemoryStore(self.data).transaction("arrange") as tx:
            key = next(each for each in self.data.records if each[1:] == (run_id, number))
            record = self.data.records[key]
            tx.save([Change(records=(_with_identity(record, identity),))])

    def outcomes(self, run_id: str = "r1") -> list[dict[str, Any]]:
        """Bodies of all terminal events of a run that were stored."""
        events: list[Event] = [each for each in self.data.events.values() if each.run_id == run_id]
        return [json.loads(each.body) for each in events if each.kind is EventKind.FINISHED]

    def run(self, run_id: str = "r1") -> Run:
        return self.data.runs[run_id]

    def sent_to(self, process: SimProcess) -> list[int]:
        return [each.number for each in self.signals if each.process is process]


def _with_identity(record: Any, identity: object) -> Any:
    from dataclasses import replace

    return replace(record, identity=identity)
