"""How stored text, durations and moments are written for people and for programs."""

from __future__ import annotations

import math
import unicodedata

_NAMED_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_JOINERS = "\u200c\u200d"
"""Invisible, but they decide how emoji, Persian and Indic scripts look, and no terminal acts on them."""

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def printable(text: str, *, keep: str = "") -> str:
    """``text`` with everything escaped that a terminal could obey or a reader could not see.

    That is control and format characters (also those that reorder text), lone surrogates, line separators
    and unassigned ones. ``keep`` names characters that stay as they are, such as the newline.
    """
    if text.isprintable():
        return text
    return "".join(each if is_harmless(each) or each in keep else _escaped(each) for each in text)


def is_harmless(character: str) -> bool:
    """Whether a character may be shown as it is."""
    return character.isprintable() or character in _JOINERS or unicodedata.category(character) == "Zs"


def _escaped(character: str) -> str:
    code = ord(character)
    if character in _NAMED_ESCAPES:
        return _NAMED_ESCAPES[character]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def one_line(text: str) -> str:
    """``text`` on one line: runs of blanks and line breaks become one space, the rest is as printable."""
    return printable(" ".join(text.split()))


def duration(seconds: float) -> str:
    """A length of time in its two largest units: ``0.4s``, ``12s``, ``1m12s``, ``2h05m``, ``3d4h``."""
    if not math.isfinite(seconds):
        return "?"
    if seconds < 0:
        return f"-{duration(-seconds)}"
    if 0 < seconds < 1:
        return f"{seconds:.1g}s" if seconds >= 0.1 else "0.1s"
    whole = int(seconds)
    if whole < _MINUTE:
        return f"{whole}s"
    if whole < _HOUR:
        return f"{whole // _MINUTE}m{whole % _MINUTE:02d}s"
    if whole < _DAY:
        return f"{whole // _HOUR}h{whole % _HOUR // _MINUTE:02d}m"
    return f"{whole // _DAY}d{whole % _DAY // _HOUR}h"


def age(seconds: float) -> str:
    """A length of time in its largest unit: ``45s``, ``12m``, ``5h``, ``3d``."""
    if not math.isfinite(seconds):
        return "?"
    if seconds < 0:
        return f"-{age(-seconds)}"
    for unit, letter in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m")):
        if seconds >= unit:
            return f"{int(seconds // unit)}{letter}"
    return f"{int(seconds)}s"


def ago(seconds: float) -> str:
    """An age in words; a moment that is still to come, because a clock was set, says so."""
    return f"{age(seconds)} ago" if seconds >= 0 else f"in {age(-seconds)}"


def local_time(wall: float) -> str:
    """A moment (seconds since 1970) in local time with its offset: ``2026-01-31 14:05:03 +01:00``."""
    from datetime import UTC, datetime

    try:
        moment = datetime.fromtimestamp(wall, UTC).astimezone()
    except (OverflowError, ValueError, OSError):
        return f"@{wall!r}"
    text = moment.isoformat(" ", "seconds")
    return f"{text[:19]} {text[19:]}"


def iso_time(wall: float | None) -> str | None:
    """A moment (seconds since 1970) as ISO 8601 in UTC, to the millisecond.

    One that no calendar has (a damaged row) is written as ``@`` and the number.
    """
    if wall is None:
        return None
    from datetime import UTC, datetime

    try:
        moment = datetime.fromtimestamp(wall, UTC)
    except (OverflowError, ValueError, OSError):
        return f"@{wall!r}"
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def counted(number: int, one: str, many: str = "") -> str:
    """``1 run``, ``3 runs``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
