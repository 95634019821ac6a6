"""Durations and moments in words."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcoord.cli.wording import age, ago, counted, duration, iso_time, local_time


@pytest.mark.parametrize(
    ("seconds", "long", "short"),
    [
        (0, "0s", "0s"),
        (0.04, "0.1s", "0s"),
        (0.44, "0.4s", "0s"),
        (0.96, "1s", "0s"),
        (12.9, "12s", "12s"),
        (59.99, "59s", "59s"),
        (60, "1m00s", "1m"),
        (3_599, "59m59s", "59m"),
        (3_600, "1h00m", "1h"),
        (86_399, "23h59m", "23h"),
        (86_400, "1d0h", "1d"),
        (8 * 86_400 + 7_200, "8d2h", "8d"),
        (-90, "-1m30s", "-1m"),
        (math.inf, "?", "?"),
        (math.nan, "?", "?"),
    ],
)
def test_a_length_of_time_is_written_in_its_largest_units(seconds: float, long: str, short: str) -> None:
    assert (duration(seconds), age(seconds)) == (long, short)


def test_a_moment_to_come_is_not_called_past() -> None:
    assert (ago(70), ago(0), ago(-70)) == ("1m ago", "0s ago", "in 1m")


@pytest.fixture
def in_nepal(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "NPT-05:45")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("in_nepal")
def test_moments_are_local_with_their_offset_for_people_and_utc_for_programs() -> None:
    assert local_time(1_700_000_000.9) == "2023-11-15 03:58:20 +05:45"
    assert iso_time(1_700_000_000.9) == "2023-11-14T22:13:20.900Z"
    assert iso_time(None) is None


@pytest.mark.parametrize("moment", [1e300, -1e300, math.inf, math.nan])
def test_a_moment_that_no_calendar_has_is_shown_as_its_number(moment: float) -> None:
    assert local_time(moment) == iso_time(moment) == f"@{moment!r}"


@given(st.floats())
def test_every_number_can_be_told(number: float) -> None:
    for told in (duration(number), age(number), ago(number), local_time(number), iso_time(number)):
        assert told


def test_one_is_counted_without_a_plural() -> None:
    assert (counted(1, "run"), counted(0, "run"), counted(1_234, "entry", "entries")) == (
        "1 run",
        "0 runs",
        "1,234 entries",
    )
