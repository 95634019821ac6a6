"""Text that comes from work and destinations, not from a caller who could be told to correct it."""

from __future__ import annotations


def storable(text: str) -> str:
    """``text`` with what UTF-8 cannot say written as escapes.

    Output of programs and names of files reach Python with lone surrogates in the place of bytes that are
    not text (PEP 383). To refuse those would lose the outcome that they come with.
    """
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
