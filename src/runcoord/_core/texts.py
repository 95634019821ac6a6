"""Text that comes from work and destinations, not from a caller who could be told to correct it."""

from __future__ import annotations

import json


def storable(text: str) -> str:
    """``text`` with what UTF-8 cannot say written as escapes.

    Output of programs and names of files reach Python with lone surrogates in the place of bytes that are
    not text (PEP 383). To refuse those would lose the outcome that they come with.
    """
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


json_text = json.encoder.encode_basestring
"""Text as JSON has it, in quotes and not in ASCII only; of C, where Python has that. To make a whole document
by hand takes a third of the time of an encoder."""


def json_number(value: float | None) -> str:
    """A number as JSON has it. ``ValueError`` for one that is infinite or none."""
    if value is None:
        return "null"
    if value - value != 0.0:
        raise ValueError(f"{value} is no number that JSON has")
    return repr(value)


def message_of(error: BaseException) -> str:
    """What an exception of somebody else's code says, though it may fail at that too."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an answer is never lost because its explanation cannot be shown
        return "(its message cannot be shown)"
