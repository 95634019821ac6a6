"""Destinations of a simulated world: what they answer, and what they have accepted."""

from __future__ import annotations

from collections.abc import Callable

from pytest_runcoord.probed_ports import NoAnswer
from runcoord import DestinationRefused
from runcoord.ports import Message
from runcoord.values import field, record

BEHAVIOURS: dict[str, str] = {
    "accepts": "accepts every event",
    "refuses": "refuses every event for good",
    "down": "is not reachable: every attempt fails and is worth another",
    "raises": "fails with an unexpected error",
    "hangs": "never answers",
}

PASSING = frozenset({"down", "raises", "hangs"})
"""Behaviours that end when the faults of a scenario do; one that refuses goes on refusing."""


@record
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
        """Whether it accepts everything at once."""
        return self.behaviour == "accepts" and not self.takes

    def ails(self, run_id: str) -> bool:
        """Whether events of this run meet its behaviour, where that is not simply to accept."""
        return not self.healthy and self.only in ("", run_id) and (self.times is None or self.times > 0)

    def holds_up(self, run_id: str) -> bool:
        """Whether events of this run may have to wait: what takes its time holds up all of its own."""
        slow = self.takes > 0 or self.behaviour == "hangs"
        return not self.healthy and (slow or self.only in ("", run_id))

    def offer(self, message: Message, wait: Callable[[float], None]) -> None:
        """Raises what a real destination would."""
        self.offered.append(message)
        behaviour = "accepts"
        if self.ails(message.run_id):
            behaviour = self.behaviour
            if self.times is not None:
                self.times -= 1
            if self.takes:
                wait(self.takes)
        if behaviour == "hangs":
            raise NoAnswer
        if behaviour == "refuses":
            raise DestinationRefused(f"{self.name} refuses {message.event_id}")
        if behaviour == "down":
            raise ConnectionError(f"{self.name} is down")
        if behaviour == "raises":
            raise RuntimeError(f"{self.name} failed unexpectedly")
        self.accepted.append(message)
