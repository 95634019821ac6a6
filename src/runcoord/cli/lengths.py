"""Lengths of time on the command line: ``90s``, ``1.5h``, or a plain number of seconds."""

from __future__ import annotations

import re
from typing import Any

import click

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
"""Seconds in each unit: those of the scenario language, which are also those of GNU's ``timeout``."""

_LENGTH = re.compile(r"([0-9]{1,15}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})(ms|[smhd])?", re.ASCII)


class Length(click.ParamType):  # type: ignore[type-arg]
    """A length of time; the value is a float in seconds. Without a unit it is seconds.

    Not all that :class:`float` takes: no sign, no exponent, no ``nan`` or ``inf``.
    """

    name = "length"

    def __init__(self, most: float | None = None) -> None:
        """``most``: the longest one that may be given, in seconds."""
        self._most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):  # it was converted before, as defaults are
            return value
        found = _LENGTH.fullmatch(str(value))
        if found is None:
            units = ", ".join(UNITS)
            self.fail(
                f"{str(value)!r:.60} is not a length of time."
                f" Write a number and its unit ({units}), as in 90s;"
                " without a unit it is seconds.",
                param,
                ctx,
            )
        seconds = float(found[1]) * UNITS[found[2] or "s"]
        if self._most is not None and seconds > self._most:
            self.fail(f"{str(value)!r:.60} is longer than the longest, {self._most:.0f}s.", param, ctx)
        return seconds


LENGTH = Length()
