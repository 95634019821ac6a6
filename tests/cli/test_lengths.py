"""Lengths of time on the command line."""

from __future__ import annotations

import click
import pytest

from runcoord.cli.lengths import Length


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("90", 90.0),
        ("0", 0.0),
        ("0.5", 0.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("500ms", 0.5),
        ("90s", 90.0),
        ("2m", 120.0),
        ("1.5h", 5400.0),
        ("1h", 3600.0),
        ("2d", 172_800.0),
    ],
)
def test_a_length_has_a_unit_or_is_seconds(written: str, seconds: float) -> None:
    assert Length().convert(written, None, None) == seconds


@pytest.mark.parametrize(
    "written", ["-1s", "+1s", "1e3", "nan", "inf", "1_0", "٣", "1 s", "1s\n", "s", ".", ""]
)
def test_anything_else_is_refused_with_what_to_write(written: str) -> None:
    with pytest.raises(click.BadParameter, match=r"is not a length of time\. Write a number and its unit"):
        Length().convert(written, None, None)


def test_one_that_is_too_long_is_refused_with_the_longest() -> None:
    assert Length(most=60.0).convert("1m", None, None) == 60.0
    with pytest.raises(click.BadParameter, match=r"'61s' is longer than the longest, 60s\."):
        Length(most=60.0).convert("61s", None, None)
