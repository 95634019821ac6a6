"""Taking credentials out of text, by their usual shapes."""

from __future__ import annotations

REDACTED = "[redacted]"


def redacted(text: str) -> str:
    """``text`` with what looks like a credential replaced by :data:`REDACTED`."""
    return text
