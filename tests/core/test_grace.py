"""How long processes may take to end by themselves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.strategies import SOME
from core.test_depth import MALFORMED_VALUES, PLAIN_VALUES, anything
from runcoord._core.grace import GRACE_VARIABLE, Grace, grace_of
from runcoord._core.limits import GRACE_SECONDS, MAX_GRACE_SECONDS


def asked(value: bytes) -> Grace:
    return grace_of({GRACE_VARIABLE.encode(): value})


def test_an_absent_grace_is_the_default_and_nothing_to_warn_of() -> None:
    assert grace_of({b"PATH": b"/bin"}) == Grace(GRACE_SECONDS)


@pytest.mark.parametrize(("value", "seconds"), PLAIN_VALUES.items(), ids=map(repr, PLAIN_VALUES))
def test_whole_seconds_are_the_grace_and_0_is_one_of_them(value: bytes, seconds: int) -> None:
    assert asked(value) == Grace(seconds)


@pytest.mark.parametrize("value", [*MALFORMED_VALUES.values(), b"1.5"], ids=[*MALFORMED_VALUES, "1.5"])
def test_a_malformed_grace_is_the_default_with_a_warning(value: bytes) -> None:
    grace = asked(value)
    assert grace.seconds == GRACE_SECONDS
    assert GRACE_VARIABLE in grace.problem
    assert str(GRACE_SECONDS) in grace.problem


def test_a_grace_over_the_limit_is_the_limit_with_a_warning() -> None:
    assert asked(str(MAX_GRACE_SECONDS).encode()) == Grace(MAX_GRACE_SECONDS)
    grace = asked(str(MAX_GRACE_SECONDS + 1).encode())
    assert grace.seconds == MAX_GRACE_SECONDS
    assert str(MAX_GRACE_SECONDS) in grace.problem


def test_a_host_has_a_name_of_its_own_for_it() -> None:
    environ = {b"AMPLIHACK_TEARDOWN_GRACE_SECS": b"7", GRACE_VARIABLE.encode(): b"9"}
    assert grace_of(environ, "AMPLIHACK_TEARDOWN_GRACE_SECS") == Grace(7)


@given(value=anything)
@SOME
def test_any_bytes_give_a_grace_within_its_bounds(value: bytes) -> None:
    grace = asked(value)
    assert 0 <= grace.seconds <= MAX_GRACE_SECONDS
    if grace.problem:
        assert grace.seconds in {GRACE_SECONDS, MAX_GRACE_SECONDS}


@given(value=st.text(st.characters(codec="utf-8", categories=["L"]), min_size=8, max_size=20))
@SOME
def test_a_warning_tells_no_value_of_the_environment(value: str) -> None:
    assert value not in asked(value.encode()).problem
