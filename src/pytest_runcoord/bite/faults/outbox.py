"""Faults of how events reach their destinations."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from pytest_runcoord.bite.boundary import Asked, Boundary, FaultySession
from pytest_runcoord.bite.fault import BoundaryFault, fault
from pytest_runcoord.bite.faults.accepting import SaysYes
from pytest_runcoord.subject import Answer, Snapshot
from runcoord import DestinationRefused
from runcoord.ports import Message

SENDING = frozenset({"deliver", "recover", "startup", "dispatch"})
Offer = Callable[[Message], None]


class _SentAgain(Boundary):
    """What was acknowledged is sent once more, the next time that anything is."""

    def __init__(self) -> None:
        super().__init__()
        self.accepted: dict[str, Message] = {}

    def send(self, session: FaultySession, message: Message, offer: Offer) -> None:
        offer(message)
        self.accepted[message.event_id] = message

    def call(self, asked: Asked) -> Answer:
        if asked.verb in SENDING and self.accepted:
            for event in self.look(asked.session).events.values():
                message = self.accepted.get(event.event_id)
                if event.state == "delivered" and message is not None:
                    self.meet()
                    del self.accepted[event.event_id]
                    asked.session.world.probe.send(message)
        return asked.go()


class _TakenForAccepted(Boundary):
    """A destination that refuses, or fails, counts as one that accepted."""

    def send(self, session: FaultySession, message: Message, offer: Offer) -> None:
        try:
            offer(message)
        except Exception:  # noqa: BLE001  whatever a destination fails with
            self.meet()


class _Lost(Boundary):
    """An event is never sent, and counts as delivered."""

    def send(self, session: FaultySession, message: Message, offer: Offer) -> None:
        self.meet()


class _CopiesDiffer(Boundary):
    """The second copy of an event has other bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: set[str] = set()

    def send(self, session: FaultySession, message: Message, offer: Offer) -> None:
        if message.event_id in self.sent:
            self.meet()
            message = _with_body(message, message.body + b" ")
        self.sent.add(message.event_id)
        offer(message)


class _TriedAgain(Boundary):
    """A refusal for good is taken for "not now"."""

    def send(self, session: FaultySession, message: Message, offer: Offer) -> None:
        try:
            offer(message)
        except DestinationRefused as error:
            self.meet()
            raise ConnectionError(str(error)) from error


class _OneBlocksAll(Boundary):
    """After one destination has failed, nothing more is sent to any other by the same sweep."""

    def __init__(self) -> None:
        super().__init__()
        self.failed = False

    def call(self, asked: Asked) -> Answer:
        self.failed = False
        return asked.go()

    def send(self, session: FaultySession, message: Message, offer: Offer) -> None:
        if self.failed:
            self.meet()
            raise ConnectionError("what was sent before has failed")
        try:
            offer(message)
        except Exception:
            self.failed = True
            raise


class _Guessed(Boundary):
    """A run without a destination gets the first one that is configured."""

    def call(self, asked: Asked) -> Answer:
        places = asked.session.world.destinations
        if asked.verb != "submit" or asked.args.get("destination") or not places:
            return asked.go()
        self.meet()
        return asked.go(destination=next(iter(places)))


class _StaleAnswer(SaysYes):
    """What became of an attempt is written down also when a later attempt is under way."""

    verbs = frozenset({"acknowledge", "postpone", "refuse"})
    codes = frozenset({"stale-delivery"})

    def granted(self, asked: Asked) -> Answer | None:
        return Answer(dict(asked.known))


class _Miscounted(Boundary):
    """The summary of a group counts one member more as completed, in the store and where it is sent."""

    def send(self, session: FaultySession, message: Message, offer: Offer) -> None:
        if message.kind == "group.finished":
            message = _with_body(message, _one_more(message.body.decode()).encode())
        offer(message)

    def snapshot(self, seen: Snapshot) -> Snapshot:
        groups = {name: event for name, event in seen.events.items() if event.kind == "group.finished"}
        more = {name: replace(event, body=_one_more(event.body)) for name, event in groups.items()}
        if not more:
            return seen
        self.meet()
        return replace(seen, events={**seen.events, **more})


def _one_more(body: str) -> str:
    told = json.loads(body)
    return json.dumps({**told, "completed": told.get("completed", 0) + 1})


def _with_body(message: Message, body: bytes) -> Message:
    return Message(
        event_id=message.event_id,
        kind=message.kind,
        run_id=message.run_id,
        destination=message.destination,
        body=body,
        attempt=message.attempt,
    )


class _OperatorNotTold(Boundary):
    """What is held stays so, and the operator learns nothing of it."""

    def snapshot(self, seen: Snapshot) -> Snapshot:
        events = {
            name: replace(event, told=False)
            for name, event in seen.events.items()
            if event.kind != "held.digest"
        }
        if events == seen.events:
            return seen
        self.meet()
        return replace(seen, events=events)


FAULTS: tuple[BoundaryFault, ...] = (
    fault(
        "delivered-twice",
        "An event is sent again after it was acknowledged.",
        _SentAgain,
        needs="outbox",
        words="deliver delivered recover",
        shows_in="destinations",
        caught_by="acknowledged-stays",
    ),
    fault(
        "acknowledged-without-acceptance",
        "An event counts as delivered though its destination refused it, or failed.",
        _TakenForAccepted,
        needs="outbox",
        words="deliver destination event",
        shows_in="destinations",
        caught_by="delivered-to-someone",
    ),
    fault(
        "event-lost",
        "An event counts as delivered, and was never sent.",
        _Lost,
        needs="outbox",
        words="deliver delivered",
        shows_in="destinations",
        caught_by="delivered-to-someone",
    ),
    fault(
        "copies-differ",
        "A second copy of an event has other bytes than the first.",
        _CopiesDiffer,
        needs="outbox",
        words="deliver destination crash after-send",
        shows_in="destinations",
        caught_by="same-event-same-bytes",
    ),
    fault(
        "refusal-tried-again",
        "A destination that refuses for good is asked again and again.",
        _TriedAgain,
        needs="outbox replay",
        words="deliver destination event",
        shows_in="destinations",
        caught_by="replay event events delivered",
    ),
    fault(
        "one-destination-blocks-all",
        "A destination that fails keeps events from others.",
        _OneBlocksAll,
        needs="outbox",
        words="deliver destinations down postponed refuses backlog many",
        shows_in="destinations",
        caught_by="answer delivered event events one-bad-apple",
    ),
    fault(
        "destination-guessed",
        "A run without a destination has its events sent to some other one.",
        _Guessed,
        needs="outbox replay",
        words="event delivered deliver",
        shows_in="destinations",
        caught_by="event events delivered",
    ),
    fault(
        "stale-acknowledgement-accepted",
        "What became of an attempt is accepted though a later attempt is under way.",
        _StaleAnswer,
        needs="attempts",
        words="acknowledge dispatch stale-delivery",
        shows_in="acknowledge postpone refuse",
        caught_by="refused",
    ),
    fault(
        "group-miscounted",
        "The summary of a group counts other outcomes than its members have.",
        _Miscounted,
        needs="groups event-bodies",
        words="submit complete event group group_size",
        shows_in="group",
        caught_by="group-adds-up",
    ),
    fault(
        "operator-not-told",
        "Events are held, and nobody is told.",
        _OperatorNotTold,
        needs="digests recovery",
        words="recover settings event delivered",
        shows_in="operator",
        caught_by="held-is-told",
    ),
)
