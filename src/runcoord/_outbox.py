"""Getting events to their destinations: at least once, in batches, one destination never blocking another."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable

from runcoord._coordinator import instant
from runcoord._core import deliveries, limits
from runcoord._core.model import Deadline, Delivery, Event, EventState, Instant
from runcoord._core.values import field, record
from runcoord._registration import Registration
from runcoord._sender import Answered, Sender
from runcoord.errors import StaleDelivery, UnknownEvent
from runcoord.ports import BadRow, Bounded, Change, Clock, Destination, Store, Transaction


@record
class DrainReport:
    """What one drain did. Everything that it saw and did not deliver is counted here."""

    delivered: int = 0
    postponed: int = 0
    held: int = 0
    stale: int = 0
    """Answers that came too late: another attempt was under way."""
    unfinished: bool = False
    """Time or batches ran out while there was more to send."""
    began: float = 0.0
    """Boottime (seconds) at which it began."""
    bad: list[BadRow] = field(default_factory=list)

    def add(self, other: DrainReport) -> None:
        """Count what a further drain did."""
        self.delivered += other.delivered
        self.postponed += other.postponed
        self.held += other.held
        self.stale += other.stale
        self.unfinished = self.unfinished or other.unfinished
        self.bad += [row for row in other.bad if row not in self.bad]


@record
class _Drain:
    """One drain under way."""

    end: float
    """Boottime at which it ends."""
    used: dict[str, float] = field(default_factory=dict)
    """Seconds that each destination has taken."""
    idle: set[str] = field(default_factory=set)
    """Events that were found and cannot be sent: unreadable ones, and those that by the rules are not due."""
    report: DrainReport = field(default_factory=DrainReport)

    def spent(self) -> set[str]:
        """Destinations that have used up their time, but for less than one turn is worth."""
        most = limits.DESTINATION_SECONDS - limits.LEAST_TURN_SECONDS
        return {target for target, used in self.used.items() if used > most}


@record
class _Batch:
    """What one dispatch found: attempts that are ours to make, and whether it found anything at all."""

    ready: list[Delivery] = field(default_factory=list)
    found: bool = False
    held: int = 0


class Outbox:
    """Sends the events of one store to the destinations served here."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        owner: str,
        destinations: dict[str, Destination] | None,
        bounded: Bounded,
        registration: Registration,
    ) -> None:
        self._store = store
        self._registration = registration
        self._clock = clock
        self._owner = owner
        self._sender = None if destinations is None else Sender(destinations, clock, bounded)
        self._lock = threading.Lock()
        self._in_flight: set[str] = set()
        self._by_hand: dict[str, Deadline] = {}
        self._slow: set[str] = set()
        self._stopped = False
        """Closed: what was accepted is recorded, nothing more is sent. Nobody waits for it."""

    @property
    def serves(self) -> bool:
        """Whether destinations are configured here at all. Where none are, nothing is sent or held."""
        return self._sender is not None

    # --- single attempts ---

    def dispatch(self, limit: int = limits.DELIVERY_BATCH) -> list[Delivery]:
        """Claim events that are due, for the caller to send. Those of unknown destinations are held.

        What was handed out is neither handed out again nor drained here until its claim ends.
        """
        drain = _Drain(self._clock.boottime())
        return self._dispatch(limit, drain, hand_out=True).ready

    def acknowledge(self, delivery: Delivery) -> None:
        """The destination accepted it. Raises :class:`~runcoord.errors.StaleDelivery` for an old attempt."""
        self._answer("acknowledge", delivery, deliveries.accepted)

    def postpone(self, delivery: Delivery, reason: str) -> None:
        """The attempt failed; the event is due again after a growing wait."""
        self._answer(
            "postpone", delivery, lambda event, made, now: deliveries.postponed(event, made, reason, now)
        )

    def refuse(self, delivery: Delivery, reason: str) -> None:
        """The destination refused it for good; the event is held for the operator."""
        self._answer("refuse", delivery, lambda event, made, _: deliveries.refused(event, made, reason))

    def next_due(self) -> float | None:
        """Boottime (seconds, maybe past) at which something may be due; ``None`` when nothing waits."""
        if not self.serves:
            return None
        with self._store.view("read-due") as view:
            due = view.next_due()
        if due is None:
            return None
        now = instant(self._clock)
        return now.boottime + due.remaining(now, limits.MAX_DELIVERY_BACKOFF_SECONDS)

    def stop(self) -> None:
        """Let every drain end after the turn that is under way; later ones send nothing."""
        self._stopped = True

    # --- draining ---

    def drain(self, *, seconds: float = limits.DRAIN_SECONDS) -> DrainReport:
        """Send what is due until nothing is left or ``seconds`` have passed; bounded by batches too.

        A destination that used up its time makes room for the others, and comes last in the next drain.
        """
        if self._sender is None:
            return DrainReport()
        began = self._clock.boottime()
        drain = _Drain(began + seconds)
        report, last = drain.report, self._slow
        report.began = began
        for _ in range(limits.DRAIN_BATCHES):
            if self._is_over(drain, self._clock.boottime()):
                report.unfinished = True
                break
            out = drain.spent() | self._sender.stuck()
            batch = self._dispatch(limits.DELIVERY_BATCH, drain, without=out | last)
            if batch.ready:
                try:
                    self._send_batch(self._sender, batch.ready, drain)
                finally:
                    self._let_go(batch.ready)
            elif not batch.found and last:
                last = set()
            elif not batch.found:
                report.unfinished = bool(out) and self._more_waits(drain)
                break
        else:
            report.unfinished = True
        self._slow = drain.spent()
        return report

    def _is_over(self, drain: _Drain, now: float) -> bool:
        return self._stopped or now >= drain.end

    def _more_waits(self, drain: _Drain) -> bool:
        """Whether something is due for a destination that was left out."""
        now = instant(self._clock)
        passed_over = self._passed_over(now, drain)
        with self._store.view("read-due") as view:
            found = view.sendable(now, self._owner, len(passed_over) + 1)
        return any(event_id not in passed_over for event_id in found)

    def _send_batch(self, sender: Sender, batch: list[Delivery], drain: _Drain) -> None:
        """Destinations in turn, each for a second or so; answers are committed together, as often."""
        answers: list[Answered] = []
        flushed = self._clock.boottime()
        lanes = _lanes(batch)
        while lanes:
            for target, lane in list(lanes.items()):
                began = self._clock.boottime()
                over = self._is_over(drain, began) or target in drain.spent()
                made = [] if over else sender.offer(target, lane)
                now = self._clock.boottime()
                took = now - began if made else limits.DESTINATION_SECONDS
                drain.used[target] = drain.used.get(target, 0.0) + took
                answers += made
                lanes[target] = lane[len(made) :]
                if not made or not lanes[target]:
                    del lanes[target]
                if now - flushed >= limits.ACKNOWLEDGE_SECONDS:
                    self._commit(answers, drain.report)
                    answers, flushed = [], now
        self._commit(answers, drain.report)

    def _commit(self, answers: list[Answered], report: DrainReport) -> None:
        if not answers:
            return
        with self._store.transaction("acknowledge") as tx:
            now = instant(self._clock)
            ids = [made.delivery.event.event_id for made in answers]
            loaded = {event.event_id: event for event in tx.load_events(ids, report.bad)}
            changed: list[Event] = []
            for made in answers:
                event = loaded.get(made.delivery.event.event_id)
                if event is None:
                    continue
                try:
                    after = made.apply(event, made.delivery, now)
                except StaleDelivery:
                    report.stale += 1
                    continue
                if after is not event:
                    changed.append(after)
            tx.save([Change(events=tuple(changed))] if changed else [])
        for event in changed:
            if event.state is EventState.DELIVERED:
                report.delivered += 1
            elif event.state is EventState.HELD:
                report.held += 1
            else:
                report.postponed += 1

    # --- claiming and answering ---

    def _dispatch(
        self, limit: int, drain: _Drain, *, without: Iterable[str] = (), hand_out: bool = False
    ) -> _Batch:
        batch = _Batch()
        self._registration.prepare()
        try:
            with self._store.transaction("dispatch") as tx:
                self._choose(tx, batch, limit, drain, without)
                if batch.ready:
                    # Before the store's lock is given up: no other thread here may take them for left behind.
                    self._take(batch.ready, hand_out)
        except BaseException:
            self._let_go(batch.ready)
            raise
        if batch.ready:
            self._registration.written()
        drain.report.held += batch.held
        return batch

    def _choose(
        self, tx: Transaction, batch: _Batch, limit: int, drain: _Drain, without: Iterable[str]
    ) -> None:
        now = instant(self._clock)
        passed_over = self._passed_over(now, drain)
        ids = tx.sendable(now, self._owner, limit + len(passed_over), sorted(without))
        ids = [event_id for event_id in ids if event_id not in passed_over][:limit]
        if not ids:
            return
        batch.found = True
        changed: list[Event] = []
        alone: list[Event] = []
        for event in tx.load_events(ids, drain.report.bad):
            mine = self._is_mine(event, now)
            if not mine and not deliveries.may_send(event, now):
                continue
            if self._sender is not None and not self._sender.knows(event.destination):
                reason = f"no destination {event.destination!r} is configured"
                changed.append(deliveries.held(event, reason))
                batch.held += 1
                continue
            attempt = event if mine else deliveries.claimed(event, self._owner, now)
            if attempt.state is EventState.HELD:
                changed.append(attempt)
                batch.held += 1
            elif deliveries.sent_alone(attempt):
                alone.append(attempt)
            else:
                batch.ready.append(deliveries.delivery_of(attempt))
                changed += [] if mine else [attempt]
        if alone and not batch.ready:
            chosen = min(alone, key=lambda event: event.unanswered)
            batch.ready.append(deliveries.delivery_of(chosen))
            changed.append(chosen)
        # What is ours already was acquired by us before.
        acquires = any(event.state is EventState.SENDING for event in changed)
        records = self._registration.rows(now.wall) if acquires else ()
        tx.save([Change(events=tuple(changed), records=records)] if changed else [])
        done = {made.event.event_id for made in batch.ready}
        done |= {event.event_id for event in (*changed, *alone)}
        drain.idle.update(event_id for event_id in ids if event_id not in done)

    def _take(self, ready: list[Delivery], hand_out: bool) -> None:
        with self._lock:
            if hand_out:
                self._by_hand.update((each.event.event_id, each.until) for each in ready)
            else:
                self._in_flight.update(each.event.event_id for each in ready)

    def _let_go(self, ready: list[Delivery]) -> None:
        with self._lock:
            for each in ready:
                self._in_flight.discard(each.event.event_id)
                self._by_hand.pop(each.event.event_id, None)

    def _passed_over(self, now: Instant, drain: _Drain) -> set[str]:
        """Ids of events that are being sent by another thread or by hand, and of idle ones."""
        with self._lock:
            if self._by_hand:
                self._by_hand = {i: until for i, until in self._by_hand.items() if not until.passed(now)}
            return {*drain.idle, *self._in_flight, *self._by_hand}

    def _is_mine(self, event: Event, now: Instant) -> bool:
        """Claimed by this owner, unsent, and not yet open to others."""
        return event.state is EventState.SENDING and event.owner == self._owner and not event.due.passed(now)

    def _answer(
        self, verb: str, delivery: Delivery, answer: Callable[[Event, Delivery, Instant], Event]
    ) -> None:
        with self._store.transaction(verb) as tx:
            event = tx.event(delivery.event.event_id)
            if event is None:
                raise UnknownEvent(
                    f"there is no event {delivery.event.event_id!r}",
                    remedy="It was pruned, or belongs to another store; ignore this answer.",
                    event=delivery.event.event_id,
                )
            after = answer(event, delivery, instant(self._clock))
            tx.save([Change(events=(after,))] if after is not event else [])
        with self._lock:
            self._by_hand.pop(event.event_id, None)


def _lanes(batch: list[Delivery]) -> dict[str, list[Delivery]]:
    """The attempts for each destination: fresh events before those that failed, as they were accepted."""
    lanes: dict[str, list[Delivery]] = defaultdict(list)
    for delivery in sorted(batch, key=lambda made: (made.event.failures, made.event.seq)):
        lanes[delivery.event.destination].append(delivery)
    return lanes
