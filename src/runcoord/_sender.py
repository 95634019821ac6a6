"""Offering events to their destinations, so that one that is slow or never answers holds up nobody."""

from __future__ import annotations

import threading
from collections.abc import Callable

from runcoord._coordinator import instant
from runcoord._core import deliveries, limits
from runcoord._core.model import Delivery, Event, Instant
from runcoord._core.texts import message_of
from runcoord._core.values import value
from runcoord._log import INFO, WARNING, Log, say
from runcoord.errors import DestinationRefused, StoreTimeout, StoreUnavailable
from runcoord.ports import Bounded, Clock, Destination, Message

log = Log("runcoord.outbox")


@value
class Answered:
    """An attempt that was made. ``apply`` gives the event as it is after the answer."""

    delivery: Delivery
    apply: Callable[[Event, Delivery, Instant], Event]


class Sender:
    """Calls the destinations of one process. What they answer is recorded by the outbox."""

    def __init__(self, destinations: dict[str, Destination], clock: Clock, bounded: Bounded) -> None:
        self._destinations = destinations
        self._clock = clock
        self._bounded = bounded
        self._lock = threading.Lock()
        self._stuck: set[str] = set()

    def knows(self, target: str) -> bool:
        return target in self._destinations

    def stuck(self) -> set[str]:
        """Destinations that were given up and have not returned; nothing is offered to them until they do."""
        with self._lock:
            return set(self._stuck)

    def offer(self, target: str, attempts: list[Delivery]) -> list[Answered]:
        """Offer ``target`` events in their order, for about a second; the rest is for another turn.

        What has not been answered when the turn should be long over counts as a failed attempt. Empty when
        nothing could be offered.
        """
        seconds = limits.SEND_SECONDS
        answered: list[Answered] = []
        given_up = returned = False
        caller = threading.get_ident()

        def send_some() -> None:
            nonlocal returned
            end = self._clock.boottime() + limits.ACKNOWLEDGE_SECONDS
            try:
                for delivery in attempts:
                    now = instant(self._clock)
                    if given_up or now.boottime >= end or delivery.until.passed(now):
                        return
                    answered.append(self._send(delivery, caller))
            finally:
                with self._lock:
                    returned = True
                    if given_up:
                        self._stuck.discard(target)

        if target in self.stuck():
            return []
        try:
            self._bounded.call(seconds, send_some)
        except StoreTimeout:
            pass
        except StoreUnavailable:
            say(log, WARNING, "too many destinations do not return", destination=target)
            return []
        else:
            return answered
        with self._lock:
            given_up = True
            if not returned:
                self._stuck.add(target)
            made = list(answered)
        if len(made) < len(attempts):
            reason = f"no answer within {seconds:.3g} s"
            say(log, WARNING, "delivery given up", destination=target, reason=reason)
            made.append(_postponed(attempts[len(made)], reason))
        return made

    def _send(self, delivery: Delivery, caller: int) -> Answered:
        event = delivery.event
        message = Message(
            event.event_id,
            event.kind.value,
            event.run_id,
            event.destination,
            event.body.encode(),
            delivery.attempt,
        )
        try:
            self._destinations[event.destination](message)
        except DestinationRefused as refusal:
            reason = message_of(refusal) or "refused by its destination"
            say(log, WARNING, "event held", event=event.event_id, destination=event.destination)
            return Answered(delivery, lambda current, made, _: deliveries.refused(current, made, reason))
        except BaseException as error:
            # Whatever it raises is its answer. In a thread of its own that goes for SystemExit and its like:
            # passed on, they would end the caller's timer in silence, and with it every sweep.
            if not isinstance(error, Exception) and threading.get_ident() == caller:
                raise
            say(log, INFO, "delivery postponed", event=event.event_id, destination=event.destination)
            return _postponed(delivery, f"{type(error).__name__}: {message_of(error)}")
        return Answered(delivery, deliveries.accepted)


def _postponed(delivery: Delivery, reason: str) -> Answered:
    return Answered(delivery, lambda event, made, now: deliveries.postponed(event, made, reason, now))
