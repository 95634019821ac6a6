"""How messages of the subject reach the destinations of a world, and what the history says of it."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_runcoord.destinations import Destination
from pytest_runcoord.history import History
from pytest_runcoord.probed_ports import NoAnswer
from pytest_runcoord.timekeeper import Timekeeper
from runcoord import DestinationRefused
from runcoord.ports import Message


class Post:
    """Offers messages to the destinations of one world, by name."""

    def __init__(self, history: History, time: Timekeeper, destinations: Mapping[str, Destination]) -> None:
        self._history, self._time, self._destinations = history, time, destinations

    def send(self, actor: str, message: Message, patience: float | None) -> None:
        """Offer a message, and record the answer; raises what the destination raises.

        ``patience`` is how many seconds the caller waits, ``None`` for ever. A destination that takes longer
        accepts the message all the same, when it is done and nobody listens any more.
        """
        place = self._destinations.get(message.destination) or Destination(message.destination, "down")
        said = {
            "event": message.event_id,
            "event_kind": message.kind,
            "attempt": message.attempt,
            "run": message.run_id,
            "destination": message.destination,
            "body": message.body,
        }
        entry = self._history.begin("message", actor, f"send to {place.name}", "offered", **said)

        def wait(seconds: float) -> None:
            if patience is not None and seconds > patience:
                if place.behaviour == "accepts":
                    self._time.alarm(seconds, accept_late)
                raise NoAnswer
            self._time.wait(seconds)

        def accept_late() -> None:
            place.accepted.append(message)
            event, attempt = message.event_id, message.attempt
            self._history.add("world", place.name, "accepted elsewhere", event=event, attempt=attempt)

        try:
            place.offer(message, wait)
        except NoAnswer:
            self._history.end(entry, "unanswered")
            raise
        except Exception as error:
            self._history.end(entry, "refused" if isinstance(error, DestinationRefused) else "failed")
            raise
        self._history.end(entry, "accepted")
