"""Lengths of time as people write them: ``90s``, ``1.5h``, or a plain number of seconds."""

from __future__ import annotations

import re

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
"""Seconds in each unit: those of the scenario language, which are also those of GNU's ``timeout``."""

_LENGTH = r"([0-9]{1,15}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})(ms|[smhd])?"


def seconds_of(text: str) -> float | None:
    """Seconds; ``None`` for what is no length of time. Without a unit it is seconds.

    Not all that :class:`float` takes: no sign, no exponent, no ``nan`` or ``inf``.
    """
    found = re.fullmatch(_LENGTH, text, re.ASCII)
    return float(found[1]) * UNITS[found[2] or "s"] if found is not None else None
