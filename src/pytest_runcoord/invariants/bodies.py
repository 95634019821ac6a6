"""What an invariant reads in the body of an event; a body of somebody else's coordinator may be anything."""

from __future__ import annotations

import json
from typing import Any

from pytest_runcoord.invariants.base import Invariant
from pytest_runcoord.subject import EventSeen


def read_body(event: EventSeen) -> dict[str, Any] | None:
    """The fields of an event's body; None where it is no JSON object."""
    try:
        body = json.loads(event.body)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def numbers_of(invariant: Invariant, event: EventSeen, *names: str) -> dict[str, int]:
    """Numbers in the body of an event that must have them; the invariant fails otherwise."""
    body = read_body(event) or {}
    found = {name: body[name] for name in names if type(body.get(name)) is int}
    if len(found) != len(names):
        invariant.fail(
            f"the body of {event.event_id} does not say what it should",
            expected=f"a JSON object with numbers for {', '.join(names)}",
            seen=event.body[:200] or "an empty body",
        )
    return found
