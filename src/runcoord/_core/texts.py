"""Text that comes from work and destinations, not from a caller who could be told to correct it."""

from __future__ import annotations


def storable(text: str) -> str:
    """``text`` with what UTF-8 cannot say written as escapes.

    Output of programs and names of files reach Python with lone surrogates in the place of bytes that are
    not text (PEP 383). To refuse those would lose the outcome that they come with.
    """
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def message_of(error: BaseException) -> str:
    """What an exception of somebody else's code says, though it may fail at that too."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an answer is never lost because its explanation cannot be shown
        return "(its message cannot be shown)"
