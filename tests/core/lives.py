"""A state machine: owners on two hosts, clocks that step, sleep and reboot, crashes, moody destinations.

Every step asks the coordinators something; afterwards everything that must hold is looked at. What is asked
is often wrong on purpose: old handles, answers to old attempts, runs of others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from core.refusals import refusal_of
from core.watching import Watch, has_passed
from runcoord import (
    Coordinator,
    Delivery,
    DestinationRefused,
    EventState,
    Lease,
    Message,
    Outcome,
    Renewal,
    Settings,
    open_coordinator,
)
from runcoord._core.limits import CLEANUP_ATTEMPTS
from runcoord.errors import LeaseLost
from runcoord.ports import NewProcess, Ports, UnknownIdentity
from runcoord.testing import CountingIds, ManualClock, ManualSleeper, MemoryData, MemoryStore

T = TypeVar("T")
OWNERS = ["ann", "bob", "cyd"]
"""``ann`` and ``bob`` share a host that is rebooted; ``cyd`` lives on another one."""
#: What is asked, more often what lives need to get anywhere.
ACTIONS = {
    "submit": 4,
    "claim": 4,
    "claim_next": 4,
    "begin": 4,
    "hold": 6,
    "complete": 4,
    "stop": 1,
    "retry": 2,
    "sweep": 3,
    "deliver": 2,
    "dispatch": 2,
    "answer": 3,
    "replay": 1,
    "change_mood": 1,
    "crash": 1,
    "pass_time": 4,
    "step_clock": 1,
    "reboot": 1,
}
HOLDING = ["start", "renew", "reacquire", "release", "progress", "publish", "record_processes"]
UNREAD = NewProcess(UnknownIdentity("nobody may look", 4242))
"""A process of which nothing can be told, so that recovery gives up in the end."""
SECONDS = [0.5, 1.0, 20.0, 59.0, 61.0, 89.0, 91.0, 301.0, 4_000.0]
STEPS = [-86_400.0, -3_601.0, -30.0, 30.0, 3_601.0, 86_400.0]
MOODS = ["accepts", "accepts", "is down", "refuses"]
SETTINGS = Settings(operator="ops", interruption_budget=0)


def attempt_of(delivery: Delivery) -> tuple[str, int]:
    return delivery.event.event_id, delivery.attempt


def chosen(choices: Sequence[T], number: int) -> T:
    return choices[number % len(choices)]


def recent(things: Sequence[T], number: int) -> T:
    """Mostly one of the newest, sometimes an old one."""
    return chosen(things if number % 4 == 3 else things[-3:], number // 4)


class Inline:
    """Bounded calls that always return."""

    def call(self, seconds: float, call: Callable[[], T]) -> T:
        return call()


class Lives(RuleBasedStateMachine):
    @initialize()
    def open_all(self) -> None:
        self.data, self.ids = MemoryData(), CountingIds()
        self.here, self.there = ManualClock(), ManualClock(boottime=77.0, boot_id="elsewhere")
        self.moods = dict.fromkeys(["chat", "mail", "ops"], "accepts")
        self.sent: dict[str, bytes] = {}
        self.accepted: set[str] = set()
        self.starts = 0
        self.coordinators: dict[str, Coordinator] = {}
        for name in OWNERS:
            self.open(name)
        self.leases: list[Lease] = []
        self.deliveries: list[Delivery] = []
        self.watch = Watch(MemoryStore(self.data), (self.here, self.there))

    @rule(
        what=st.sampled_from([what for what, weight in ACTIONS.items() for _ in range(weight)]),
        owner=st.sampled_from(OWNERS),
        one=st.integers(0, 999),
        other=st.integers(0, 999),
    )
    def act(self, what: str, owner: str, one: int, other: int) -> None:
        """Do one thing; ``one`` and ``other`` choose with what."""
        getattr(self, what)(owner, one, other)

    def open(self, name: str) -> None:
        """A new start of a process: what the one before had in hand is forgotten by it, and kept by us."""
        self.starts += 1
        clock = self.there if name == "cyd" else self.here
        ports = Ports(clock, ManualSleeper(clock), self.ids, Inline(), store=MemoryStore(self.data))
        places = dict.fromkeys(self.moods, self.take)
        owner = f"{name}-{self.starts}"
        self.coordinators[name] = open_coordinator(
            "unused", destinations=places, settings=SETTINGS, owner=owner, ports=ports
        )

    def take(self, message: Message) -> None:
        """A destination. Every copy of an event is the same; neither what was accepted nor an attempt that
        somebody makes by hand is offered."""
        assert (message.event_id, message.attempt) not in map(attempt_of, self.deliveries)
        assert self.sent.setdefault(message.event_id, message.body) == message.body
        assert message.event_id not in self.accepted
        mood = self.moods[message.destination]
        if mood == "is down":
            raise ConnectionError("down")
        if mood == "refuses":
            raise DestinationRefused("no such room")
        self.accepted.add(message.event_id)

    def ask(self, call: Callable[[], T]) -> T | None:
        """A call that may be refused; then nothing has changed."""
        answer: list[T] = []
        refusal = refusal_of(lambda: answer.append(call()))
        if refusal is not None:
            assert refusal.remedy
            self.watch.require_unchanged()
            return None
        self.watch.look()
        return answer[0]

    # --- runs ---

    def submit(self, owner: str, one: int, other: int) -> None:
        """Names are few, so that some are asked for again, with the same content and with other."""
        fields: dict[str, Any] = {
            "destination": chosen(["chat", "mail", "", "gone"], other),
            "interruption_budget": chosen([0, 0, 1, 2], other // 4),
        }
        if other % 3 == 0:
            fields |= {"group": "g1", "group_size": 2}
        name = f"r{one % 9}"
        known = name in self.watch.runs
        receipt = self.ask(lambda: self.coordinators[owner].submit(one % 9, run_id=name, **fields))
        assert receipt is None or receipt.replayed == known

    def claim(self, owner: str, one: int, other: int) -> None:
        if self.watch.runs:
            run_id = chosen(list(self.watch.runs), one)
            self.keep(owner, lambda: self.coordinators[owner].claim(run_id))

    def claim_next(self, owner: str, one: int, other: int) -> None:
        lease = chosen([None, 1.0, 600.0], one)
        self.keep(owner, lambda: self.coordinators[owner].claim_next(lease=lease))

    def begin(self, owner: str, one: int, other: int) -> None:
        self.claim_next(owner, one, other)
        if self.leases:
            self.write(self.leases[-1], self.coordinators[owner].start)

    def keep(self, owner: str, claim: Callable[[], Lease | None]) -> None:
        before, now = self.watch.runs, self.clock_of(owner).now()
        lease = self.ask(claim)
        if lease is None:
            return
        held = before[lease.run_id]
        assert held.lease is None or has_passed(held.lease, now) or held.owner == lease.owner
        assert (lease.epoch, held.outcome, held.started_at) == (held.epoch + 1, None, None)
        self.leases.append(lease)

    def hold(self, owner: str, one: int, other: int) -> None:
        if not self.leases:
            return
        verb, lease = chosen(HOLDING, other), recent(self.leases, one)
        said: dict[str, list[Any]] = {
            "progress": ["half"],
            "publish": [{"half": True}],
            "record_processes": [[UNREAD]],
        }
        more = said.get(verb, [])
        answer = self.write(lease, lambda lease: getattr(self.coordinators[owner], verb)(lease, *more))
        if isinstance(answer, Renewal):
            assert answer.lease.epoch == lease.epoch + (verb == "reacquire")

    def complete(self, owner: str, one: int, other: int) -> None:
        if not self.leases:
            return
        lease, outcome = recent(self.leases, one), chosen(list(Outcome), other)
        before, now = self.watch.runs[lease.run_id], self.clock_of(owner).now()
        done = self.write(
            lease, lambda lease: self.coordinators[owner].complete(lease, outcome, result="done")
        )
        if done is not None and before.outcome is None:
            assert before.lease is not None
            assert done.late == done.run.late == has_passed(before.lease, now)

    def write(self, lease: Lease, verb: Callable[[Lease], T]) -> T | None:
        """A write of an owner: refused if anybody acquired the run since."""
        before = self.watch.runs[lease.run_id]
        if (before.owner, before.epoch) == (lease.owner, lease.epoch):
            answer = self.ask(lambda: verb(lease))
            if isinstance(answer, Renewal):
                self.leases.append(answer.lease)
            return answer
        refusal = refusal_of(lambda: verb(lease))
        assert isinstance(refusal, LeaseLost) or (refusal is not None and before.outcome is not None)
        self.watch.require_unchanged()
        return None

    def stop(self, owner: str, one: int, other: int) -> None:
        if self.watch.runs:
            run_id = chosen(list(self.watch.runs), one)
            receipt = self.ask(lambda: self.coordinators[owner].stop(run_id))
            assert receipt is not None
            assert receipt.outcome == self.watch.runs[run_id].outcome

    def retry(self, owner: str, one: int, other: int) -> None:
        if self.watch.runs:
            run_id = chosen(list(self.watch.runs), one)
            receipt = self.ask(lambda: self.coordinators[owner].retry(run_id))
            assert receipt is None or self.watch.runs[receipt.run_id].retry_of == run_id

    # --- sweeps and deliveries ---

    def sweep(self, owner: str, one: int, other: int) -> None:
        report = self.ask(self.coordinators[owner].recover)
        assert report is not None
        assert report.bad_count == 0
        self.watch.require_swept(self.clock_of(owner).now())

    def deliver(self, owner: str, one: int, other: int) -> None:
        self.ask(self.coordinators[owner].deliver)

    def dispatch(self, owner: str, one: int, other: int) -> None:
        found = self.ask(lambda: self.coordinators[owner].dispatch(limit=2))
        for delivery in found or []:
            assert attempt_of(delivery) not in map(attempt_of, self.deliveries)
            self.deliveries.append(delivery)

    def answer(self, owner: str, one: int, other: int) -> None:
        if not self.deliveries:
            return
        delivery, answer = recent(self.deliveries, one), chosen(["acknowledge", "postpone", "refuse"], other)
        before = self.watch.events[delivery.event.event_id]
        more = [] if answer == "acknowledge" else ["because"]
        self.ask(lambda: getattr(self.coordinators[owner], answer)(delivery, *more))
        after = self.watch.events[delivery.event.event_id]
        if (before.attempt, before.owner) != (delivery.attempt, delivery.owner):
            assert after == before
        elif after.state is EventState.DELIVERED:
            self.accepted.add(after.event_id)

    def replay(self, owner: str, one: int, other: int) -> None:
        if self.watch.events:
            event_id, to = chosen(list(self.watch.events), one), chosen(["", "mail"], other)
            self.ask(lambda: self.coordinators[owner].replay(event_id, destination=to))

    def change_mood(self, owner: str, one: int, other: int) -> None:
        self.moods[chosen(list(self.moods), one)] = chosen(MOODS, other)

    # --- the world ---

    def crash(self, owner: str, one: int, other: int) -> None:
        self.open(owner)
        self.watch.require_unchanged()

    def pass_time(self, owner: str, one: int, other: int) -> None:
        """Awake or, on one host, asleep."""
        seconds = chosen(SECONDS, one)
        (self.here.suspend if other % 3 == 0 else self.here.advance)(seconds)
        self.there.advance(seconds)

    def step_clock(self, owner: str, one: int, other: int) -> None:
        self.clock_of(owner).step(chosen(STEPS, one))

    def reboot(self, owner: str, one: int, other: int) -> None:
        seconds = chosen(SECONDS, one)
        self.here.reboot(seconds)
        self.there.advance(seconds)
        self.open("ann")
        self.open("bob")

    def clock_of(self, owner: str) -> ManualClock:
        return self.there if owner == "cyd" else self.here

    # --- the end ---

    def teardown(self) -> None:
        """Whatever happened: one owner alone, with a clock that only moves forward, brings all to an end."""
        if not hasattr(self, "watch"):
            return
        self.moods = dict.fromkeys(self.moods, "accepts")
        self.open("ann")
        ann = self.coordinators["ann"]
        for _ in range(2 + CLEANUP_ATTEMPTS):
            self.here.advance(3_601.0)
            self.ask(ann.recover)
        self.watch.require_nobody_holds()
        while (lease := ann.claim_next()) is not None:
            ann.start(lease)
            ann.complete(lease, Outcome.COMPLETED)
        for _ in range(3):
            self.here.advance(301.0)
            self.ask(ann.recover)
        self.watch.require_all_ended_and_told()
