"""Which runs a process belongs to, by the cookies in its environment."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.strategies import SOME
from runcoord._core.limits import COOKIE_DIGITS, MAX_COOKIES, MAX_DEPTH_CEILING
from runcoord._core.lineage import (
    COOKIE_VARIABLE,
    HANDED_OVER_VARIABLE,
    CookieLine,
    FoundLine,
    belongs,
    extended,
    handed_over,
    line_of,
)
from runcoord.errors import DepthExceeded, InvalidRequest


def cookie(number: int) -> str:
    return f"{number:0{COOKIE_DIGITS}x}"


A, B, C = cookie(10), cookie(11), cookie(12)

#: What is no line, though some of it has whole cookies.
MALFORMED_LINES = {
    "empty": "",
    "short": A[1:],
    "long": f"{A}0",
    "upper-case": A.upper(),
    "no-hexadecimal": "g" * COOKIE_DIGITS,
    "arabic-digits": "٣" * COOKIE_DIGITS,
    "blank-before": f" {A}",
    "newline-after": f"{A}\n",
    "colon-before": f":{A}",
    "colon-after": f"{A}:",
    "two-colons": f"{A}::{B}",
    "comma": f"{A},{B}",
    "too-many": ":".join(map(cookie, range(MAX_COOKIES + 1))),
}
lines = st.lists(st.integers(0, 2**128 - 1), min_size=1, max_size=MAX_COOKIES, unique=True).map(
    lambda numbers: CookieLine(tuple(map(cookie, numbers)))
)


def environ_of(line: CookieLine) -> dict[bytes, bytes]:
    return {name.encode(): value.encode() for name, value in line.exports.items()}


def block(*entries: str) -> bytes:
    """An environment as the kernel shows it."""
    return b"".join(entry.encode() + b"\0" for entry in entries)


def test_outside_of_any_run_there_is_no_line_and_nothing_to_warn_of() -> None:
    assert line_of({b"PATH": b"/bin"}) == FoundLine(None)


def test_a_first_run_begins_a_lineage_and_those_below_it_belong_to_it() -> None:
    first = extended(None, A)
    third = extended(extended(first, B), C)
    assert (first.lineage, first.own) == (A, A)
    assert (third.lineage, third.own, third.cookies) == (A, C, (A, B, C))
    assert third.exports == {COOKIE_VARIABLE: f"{A}:{B}:{C}"}


@given(line=lines)
@SOME
def test_a_line_is_read_as_it_was_exported(line: CookieLine) -> None:
    assert line_of(environ_of(line)) == FoundLine(line)


@pytest.mark.parametrize("value", MALFORMED_LINES.values(), ids=MALFORMED_LINES)
def test_a_malformed_line_is_none_and_reported_without_its_value(value: str) -> None:
    found = line_of({COOKIE_VARIABLE.encode(): value.encode()})
    assert found.line is None
    assert COOKIE_VARIABLE in found.problem
    assert not value or value.strip() not in found.problem


@pytest.mark.parametrize("value", [b"\xff" * COOKIE_DIGITS, A.encode() + b"\xff"])
def test_a_line_of_bytes_that_are_no_text_is_none_and_reported(value: bytes) -> None:
    found = line_of({COOKIE_VARIABLE.encode(): value})
    assert (found.line, bool(found.problem)) == (None, True)


@pytest.mark.parametrize("value", ["", A[1:], f"{A}0", A.upper(), f"{A}\n", f"{A}:{B}", "٣" * COOKIE_DIGITS])
def test_a_line_is_not_extended_by_what_is_no_cookie(value: str) -> None:
    line = CookieLine((B,))
    with pytest.raises(InvalidRequest) as caught:
        extended(line, value)
    assert caught.value.details == {"characters": len(value)}
    assert line == CookieLine((B,))


def test_a_line_is_not_extended_by_a_cookie_that_it_has() -> None:
    with pytest.raises(InvalidRequest, match="run above"):
        extended(CookieLine((A, B)), A)


def test_there_is_a_cookie_for_every_depth_that_is_admitted_and_a_full_line_is_refused() -> None:
    line = CookieLine(tuple(map(cookie, range(MAX_DEPTH_CEILING))))
    assert line_of(environ_of(line)).line == line
    with pytest.raises(DepthExceeded) as caught:
        extended(line, cookie(MAX_DEPTH_CEILING))
    assert caught.value.details == {"depth": MAX_DEPTH_CEILING, "max": MAX_DEPTH_CEILING}


# --- other processes -----------------------------------------------------------------------------


def test_a_process_belongs_to_every_run_of_its_line_and_to_no_other() -> None:
    seen = block("PATH=/bin", f"{COOKIE_VARIABLE}={A}:{B}")
    assert [belongs(seen, each) for each in (A, B, C)] == [True, True, False]


@given(line=lines, other=st.integers(0, 2**128 - 1).map(cookie))
@SOME
def test_whoever_is_started_by_a_run_belongs_to_it(line: CookieLine, other: str) -> None:
    seen = block("A=1", *(f"{name}={value}" for name, value in line.exports.items()), "B=")
    assert all(belongs(seen, each) for each in line.cookies)
    assert belongs(seen, other) == (other in line.cookies)


@pytest.mark.parametrize(
    "seen",
    [
        b"",
        block(f"OTHER={A}"),
        block(f"{COOKIE_VARIABLE}X={A}"),
        block(f"X{COOKIE_VARIABLE}={A}"),
        block(f"X= {COOKIE_VARIABLE}={A}"),
        block(f"{COOKIE_VARIABLE}={A}0"),
        block(f"{COOKIE_VARIABLE}={A}:{B[1:]}"),
        block(f"{HANDED_OVER_VARIABLE}={A}"),
        A.encode(),
    ],
)
def test_a_cookie_in_another_place_proves_nothing(seen: bytes) -> None:
    assert not belongs(seen, A)


def test_a_line_is_found_when_it_stands_in_a_block_twice_or_without_an_end() -> None:
    assert belongs(block(f"{COOKIE_VARIABLE}={B}", f"{COOKIE_VARIABLE}={A}"), A)
    assert belongs(block("PATH=/bin", f"{COOKIE_VARIABLE}={A}").removesuffix(b"\0"), A)
    assert belongs(b"\xff\xfe=\xff\0" + block(f"{COOKIE_VARIABLE}={A}"), A)


@pytest.mark.parametrize("what", ["", ":", A[1:], f"{A}:{B}"])
def test_what_is_no_cookie_is_carried_and_handed_over_by_nobody(what: str) -> None:
    seen = block(f"{COOKIE_VARIABLE}={A}:{B}", f"{HANDED_OVER_VARIABLE}={what}")
    assert not belongs(seen, what)
    assert not handed_over(seen, what)


def test_a_process_is_handed_over_by_the_run_that_the_marker_names_and_no_other() -> None:
    seen = block(f"{COOKIE_VARIABLE}={A}:{B}", f"{HANDED_OVER_VARIABLE}={B}")
    assert [handed_over(seen, each) for each in (A, B, C)] == [False, True, False]


@pytest.mark.parametrize("value", ["1", "", f"{A}:{B}", f" {A}", A.upper(), A[1:]])
def test_a_marker_that_names_no_run_spares_nobody(value: str) -> None:
    assert not handed_over(block(f"{COOKIE_VARIABLE}={A}", f"{HANDED_OVER_VARIABLE}={value}"), A)
