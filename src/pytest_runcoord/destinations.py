"""Destinations of a simulated world: what they answer, and what they have accepted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from runcoord import DestinationRefused
from runcoord.ports import Message

BEHAVIOURS: dict[str, str] = {
    "accepts": "accepts every event",
    "refuses": "refuses every event for good",
    "down": "is not reachable: every attempt fails and is worth another",
    "raises": "fails with an unexpected error",
}


@dataclass(slots=True)
class Destination:
    """One destination. It acts once on each event id: a second copy is accepted and not acted on."""

    name: str
    behaviour: str = "accepts"
    takes: float = 0.0
    """Seconds on the world's clocks that one attempt takes."""
    times: int | None = None
    """How many more attempts show this behaviour, before it accepts again; ``None``: all of them."""
    only: str = ""
    """Run whose events meet the behaviour; others are accepted. Empty: all."""
    offered: list[Message] = field(default_factory=list)
    accepted: list[Message] = field(default_factory=list)

    @property
    def acted_on(self) -> set[str]:
        return {message.event_id for message in self.accepted}

    @property
    def healthy(self) -> bool:
        return self.behaviour == "accepts"

    def offer(self, message: Message, wait: Callable[[float], None]) -> None:
        """Raises what a real destination would."""
        self.offered.append(message)
        if self.takes:
            wait(self.takes)
        behaviour = self.behaviour
        if self.only and message.run_id != self.only:
            behaviour = "accepts"
        elif self.times is not None:
            if self.times <= 0:
                behaviour = "accepts"
            else:
                self.times -= 1
        if behaviour == "refuses":
            raise DestinationRefused(f"{self.name} refuses {message.event_id}")
        if behaviour == "down":
            raise ConnectionError(f"{self.name} is down")
        if behaviour == "raises":
            raise RuntimeError(f"{self.name} failed unexpectedly")
        self.accepted.append(message)
