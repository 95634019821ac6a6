"""Getting events to their destinations: at least once, in batches, one destination never blocking another."""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from runcoord._coordinator import instant
from runcoord._core import deliveries, limits
from runcoord._core.model import Delivery, Event, EventState, Instant
from runcoord.errors import DestinationRefused, StaleDelivery, UnknownEvent
from runcoord.ports import BadRow, Change, Clock, Destination, Message, Store, Transaction

log = logging.getLogger("runcoord.outbox")

Answer = Callable[[Event, Delivery, Instant], Event]


@dataclass(slots=True)
class DrainReport:
    """What one drain did. Everything that it saw and did not deliver is counted here."""

    delivered: int = 0
    postponed: int = 0
    held: int = 0
    stale: int = 0
    """Answers that came too late: another attempt was under way."""
    unfinished: bool = False
    """Time or batches ran out while there was more to send."""
    bad: list[BadRow] = field(default_factory=list)


class Outbox:
    """Sends the events of one store to the destinations served here."""

    def __init__(
        self, store: Store, clock: Clock, owner: str, destinations: dict[str, Destination] | None
    ) -> None:
        self._store = store
        self._clock = clock
        self._owner = owner
        self._destinations = destinations
        self._lock = threading.Lock()
        self._in_flight: set[str] = set()

    @property
    def serves(self) -> bool:
        """Whether destinations are configured here at all. Where none are, nothing is sent or held."""
        return self._destinations is not None

    # --- single attempts ---

    def dispatch(self, limit: int = limits.DELIVERY_BATCH) -> list[Delivery]:
        """Claim events that are due, for this owner to send. Those of unknown destinations are held."""
        return self._dispatch(limit, DrainReport())

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
        """Boottime (seconds) at which something may be due; ``None`` when nothing waits."""
        if not self.serves:
            return None
        with self._store.view("read-due") as view:
            due = view.next_due()
        if due is None:
            return None
        now = instant(self._clock)
        return now.boottime + max(0.0, due.remaining(now, limits.MAX_DELIVERY_BACKOFF_SECONDS))

    # --- draining ---

    def drain(self, *, seconds: float = limits.DRAIN_SECONDS) -> DrainReport:
        """Send what is due until nothing is left or ``seconds`` have passed; bounded by batches too."""
        report = DrainReport()
        if not self.serves:
            return report
        end = self._clock.boottime() + seconds
        used: dict[str, float] = defaultdict(float)
        for _ in range(limits.DRAIN_BATCHES):
            if self._clock.boottime() >= end:
                report.unfinished = True
                return report
            batch = self._dispatch(limits.DELIVERY_BATCH, report)
            if not batch:
                return report
            with self._sending(batch) as mine:
                progressed = self._send_batch(mine, end, used, report)
            if not progressed:
                report.unfinished = True
                return report
        report.unfinished = True
        return report

    def _send_batch(
        self, batch: list[Delivery], end: float, used: dict[str, float], report: DrainReport
    ) -> bool:
        """Send one batch; answers are committed together, at the latest after a second."""
        answers: list[tuple[Delivery, Answer]] = []
        progressed = False
        flushed = self._clock.boottime()
        for delivery in _interleaved(batch):
            now = instant(self._clock)
            target = delivery.event.destination
            if now.boottime >= end or delivery.until.passed(now) or used[target] > limits.DESTINATION_SECONDS:
                continue
            progressed = True
            answers.append((delivery, self._send(delivery)))
            after = self._clock.boottime()
            used[target] += after - now.boottime
            if after - flushed >= limits.ACKNOWLEDGE_SECONDS:
                self._commit(answers, report)
                answers, flushed = [], after
        self._commit(answers, report)
        return progressed

    def _send(self, delivery: Delivery) -> Answer:
        event = delivery.event
        assert self._destinations is not None
        message = Message(
            event.event_id, event.kind.value, event.run_id, event.destination, event.body.encode(), delivery.attempt
        )
        try:
            self._destinations[event.destination](message)
        except DestinationRefused as refusal:
            reason = str(refusal) or "refused by its destination"
            log.warning("event held", extra={"event": event.event_id, "destination": event.destination})
            return lambda current, made, _: deliveries.refused(current, made, reason)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            log.info("delivery postponed", extra={"event": event.event_id, "destination": event.destination})
            return lambda current, made, now: deliveries.postponed(current, made, reason, now)
        return deliveries.accepted

    def _commit(self, answers: list[tuple[Delivery, Answer]], report: DrainReport) -> None:
        if not answers:
            return
        with self._store.transaction("acknowledge") as tx:
            now = instant(self._clock)
            loaded = {
                event.event_id: event
                for event in tx.load_events([made.event.event_id for made, _ in answers], report.bad)
            }
            changed: list[Event] = []
            for made, answer in answers:
                event = loaded.get(made.event.event_id)
                if event is None:
                    continue
                try:
                    after = answer(event, made, now)
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

    def _dispatch(self, limit: int, report: DrainReport) -> list[Delivery]:
        with self._store.transaction("dispatch") as tx:
            now = instant(self._clock)
            events = self._candidates(tx, now, limit, report)
            ready, changed = [], []
            for event in events:
                if self._is_mine(event, now):
                    ready.append(deliveries.delivery_of(event))
                elif not deliveries.may_send(event, now):
                    continue
                elif self._destinations is not None and event.destination not in self._destinations:
                    changed.append(deliveries.held(event, f"no destination {event.destination!r} is configured"))
                    report.held += 1
                else:
                    taken = deliveries.claimed(event, self._owner, now)
                    changed.append(taken)
                    ready.append(deliveries.delivery_of(taken))
            tx.save([Change(events=tuple(changed))] if changed else [])
        return ready

    def _candidates(self, tx: Transaction, now: Instant, limit: int, report: DrainReport) -> list[Event]:
        with self._lock:
            busy = set(self._in_flight)
        ids = [i for i in tx.sendable(now, self._owner, limit + len(busy)) if i not in busy]
        return tx.load_events(ids[:limit], report.bad)

    def _is_mine(self, event: Event, now: Instant) -> bool:
        """Claimed by this owner, unsent, and not yet open to others."""
        return event.state is EventState.SENDING and event.owner == self._owner and not event.due.passed(now)

    def _answer(self, verb: str, delivery: Delivery, answer: Answer) -> None:
        with self._store.transaction(verb) as tx:
            event = tx.event(delivery.event.event_id)
            if event is None:
                raise UnknownEvent(
                    f"there is no event {delivery.event.event_id!r}", event=delivery.event.event_id
                )
            after = answer(event, delivery, instant(self._clock))
            tx.save([Change(events=(after,))] if after is not event else [])

    def _sending(self, batch: list[Delivery]) -> _InFlight:
        return _InFlight(self._lock, self._in_flight, batch)


class _InFlight:
    """Keeps two threads of one owner from sending the same attempt."""

    def __init__(self, lock: threading.Lock, busy: set[str], batch: list[Delivery]) -> None:
        self._lock, self._busy, self._batch = lock, busy, batch
        self._mine: list[Delivery] = []

    def __enter__(self) -> list[Delivery]:
        with self._lock:
            self._mine = [made for made in self._batch if made.event.event_id not in self._busy]
            self._busy.update(made.event.event_id for made in self._mine)
        return self._mine

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._busy.difference_update(made.event.event_id for made in self._mine)


def _interleaved(batch: list[Delivery]) -> Iterator[Delivery]:
    """Fresh events before often refused ones, and destinations in turn."""
    lanes: dict[str, list[Delivery]] = defaultdict(list)
    for delivery in sorted(batch, key=lambda made: (made.attempt, made.event.seq)):
        lanes[delivery.event.destination].append(delivery)
    queues = [iter(lane) for lane in lanes.values()]
    while queues:
        alive = []
        for queue in queues:
            following = next(queue, None)
            if following is not None:
                yield following
                alive.append(queue)
        queues = alive
