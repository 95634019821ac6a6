"""Seeded defects of where the events of imported runs go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from defects.catalogue import Defect
from defects.homes_scale import told_again_each_sweep
from runcoord._core import importing as core_importing
from runcoord._core.evolving import evolved
from runcoord._core.importing import imported_run
from runcoord._core.model import EventState
from runcoord._importer import reading

Patch = pytest.MonkeyPatch


def imported_as(patch: Patch, change: Any) -> None:
    """What a folder becomes is what ``change`` makes of the right function and its arguments."""

    def other(state: Any, tombstone: Any, **named: Any) -> Any:
        return change(imported_run, state, tombstone, named)

    patch.setattr(reading, "imported_run", other)


# --- untrusted-destination ---


def _folders_say_where_to(patch: Patch) -> None:
    def believed(imported: Any, state: Any, tombstone: Any, named: dict[str, Any]) -> Any:
        named["fallback"] = state.claims.destination or named["fallback"]
        return imported(state, tombstone, **named)

    imported_as(patch, believed)


def _acknowledged_to_nobody(patch: Patch) -> None:
    def delivered(imported: Any, state: Any, tombstone: Any, named: dict[str, Any]) -> Any:
        found = imported(state, tombstone, **named)
        if found.event is None or found.event.state is not EventState.HELD:
            return found
        event = evolved(found.event, state=EventState.DELIVERED, reason="", delivered_at=named["now"].wall)
        return replace(found, event=event)

    imported_as(patch, delivered)


def _without_an_event(patch: Patch) -> None:
    def dropped(imported: Any, state: Any, tombstone: Any, named: dict[str, Any]) -> Any:
        found = imported(state, tombstone, **named)
        return found if named["fallback"] else replace(found, event=None)

    imported_as(patch, dropped)


def _held_unseen(patch: Patch) -> None:
    def told(imported: Any, state: Any, tombstone: Any, named: dict[str, Any]) -> Any:
        found = imported(state, tombstone, **named)
        return found if found.event is None else replace(found, event=evolved(found.event, told=True))

    imported_as(patch, told)


def _without_the_claim(patch: Patch) -> None:
    patch.setattr(core_importing, "_untrusted", lambda state: "imported")


TELLING = [
    Defect(
        "untrusted-destination",
        "The destination that a folder names is used.",
        "delivered-to-someone",
        _folders_say_where_to,
        scenario="untrusted-destination-with-a-fallback",
    ),
    Defect(
        "untrusted-destination",
        "The destination is dropped, and the event acknowledged though nobody got it.",
        "delivered-to-someone",
        _acknowledged_to_nobody,
        "nobody",
    ),
    Defect(
        "untrusted-destination",
        "Where no destination is trusted there is no event.",
        "import_report",
        _without_an_event,
        "dropped",
    ),
    Defect(
        "untrusted-destination",
        "Held events of imports are in no digest.",
        "delivered",
        _held_unseen,
        "unseen",
    ),
    Defect(
        "untrusted-destination",
        "The operator is told of the same held event by every sweep.",
        "held-is-told",
        told_again_each_sweep,
        "digest",
    ),
    Defect(
        "untrusted-destination",
        "Why an event is held does not say that its folder names a destination.",
        "event",
        _without_the_claim,
        "claim",
    ),
]
