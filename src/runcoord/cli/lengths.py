"""Lengths of time on the command line."""

from __future__ import annotations

from typing import Any

import click

from runcoord.cli.length_texts import UNITS, seconds_of


class Length(click.ParamType):  # type: ignore[type-arg]
    """A length of time; the value is a float in seconds."""

    name = "length"

    def __init__(self, most: float | None = None) -> None:
        """``most``: the longest one that may be given, in seconds."""
        self._most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):  # it was converted before, as defaults are
            return value
        seconds = seconds_of(str(value))
        if seconds is None:
            units = ", ".join(UNITS)
            self.fail(
                f"{str(value)!r:.60} is not a length of time."
                f" Write a number and its unit ({units}), as in 90s;"
                " without a unit it is seconds.",
                param,
                ctx,
            )
        if self._most is not None and seconds > self._most:
            self.fail(f"{str(value)!r:.60} is longer than the longest, {self._most:.0f}s.", param, ctx)
        return seconds


LENGTH = Length()
