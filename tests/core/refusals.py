"""Asking, and looking at what came of it."""

from __future__ import annotations

from collections.abc import Callable

from runcoord.errors import Refused


def refusal_of(call: Callable[[], object]) -> Refused | None:
    """The refusal that ``call`` ends in; ``None`` when it is answered."""
    try:
        call()
    except Refused as refusal:
        return refusal
    return None
