"""Seeded defects of attempts that nobody answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from defects.catalogue import Defect
from runcoord import _coordinator
from runcoord._core import deliveries
from runcoord._core.model import Event, Instant

Patch = pytest.MonkeyPatch


def _tries_for_ever(patch: Patch) -> None:
    patch.setattr(deliveries, "MAX_UNANSWERED_ATTEMPTS", 1_000_000)


def _replay_remembers_the_attempts(patch: Patch) -> None:
    right = deliveries.replayed

    def replayed(event: Event, destination: str, now: Instant) -> Event:
        return replace(right(event, destination, now), unanswered=event.unanswered)

    patch.setattr(_coordinator, "replayed", replayed)
    claimed = deliveries.claimed

    def counting(event: Event, owner: str, now: Instant) -> Event:
        if event.unanswered >= deliveries.MAX_UNANSWERED_ATTEMPTS:
            return deliveries.held(event, "gave up before")
        return claimed(event, owner, now)

    patch.setattr(deliveries, "claimed", counting)


def _all_in_one_batch(patch: Patch) -> None:
    patch.setattr(deliveries, "sent_alone", lambda event: False)


UNANSWERED: list[Defect] = [
    Defect(
        "sender-dies-of-it",
        "An event that kills its senders is sent again every minute for ever.",
        "event",
        _tries_for_ever,
        name="for-ever",
    ),
    Defect(
        "sender-dies-of-it",
        "A replay remembers the attempts from before, and is given up at once.",
        "event",
        _replay_remembers_the_attempts,
        name="replayed-once",
    ),
    Defect(
        "sender-dies-of-it",
        "An event that kills its senders is sent in one batch with others, which are as often left behind.",
        "delivered",
        _all_in_one_batch,
        name="together",
        scenario="others-outlive-it",
    ),
]
