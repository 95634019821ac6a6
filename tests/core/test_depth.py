"""Who may start a run in which depth, and what is handed down."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.refusals import refusal_of
from core.strategies import SOME
from runcoord._core.depth import MALFORMED, Admission, DepthNames, admit
from runcoord._core.limits import (
    COOKIE_DIGITS,
    DEFAULT_MAX_DEPTH,
    MAX_DEPTH_CEILING,
    MAX_NUMERAL,
    MAX_VARIABLE_CHARACTERS,
)
from runcoord._core.lineage import COOKIE_VARIABLE
from runcoord.errors import DepthExceeded, InvalidConfiguration

DEPTH, MAXIMUM = b"RUNCOORD_DEPTH", b"RUNCOORD_MAX_DEPTH"

#: Anything else than a plain number, that parsers of numbers are known to take for one or to stumble over.
MALFORMED_VALUES = {
    "empty": b"",
    "blank": b"  ",
    "negative": b"-1",
    "negative-zero": b"-0",
    "fraction": b"2.0",
    "hexadecimal": b"0x1",
    "exponent": b"1e0",
    "large-exponent": b"1e9",
    "underscore": b"1_0",
    "arabic-digit": "٣".encode(),
    "fullwidth-digit": "２".encode(),
    "superscript": "²".encode(),
    "not-utf-8": b"\xff\xfe",
    "number-and-not-utf-8": b"1\xff",
    "words": b"abc",
    "two-numbers": b"1 2",
    "two-pluses": b"++1",
    "plus-apart": b"+ 1",
    "plus-alone": b"+",
    "no-break-space": "\xa01".encode(),
    "unit-separator": b"\x1f1",
    "nul": b"1\0",
    "eleven-digits": b"00000000001",
    "beyond-32-bits": b"4294967296",
    "2**80": str(2**80).encode(),
    "more-digits-than-python-reads": b"9" * 5_000,
}
PLAIN_VALUES = {
    b"0": 0,
    b"2": 2,
    b"+2": 2,
    b" 2 ": 2,
    b"2\n": 2,
    b"\t\r\n\v\f 2": 2,
    b"00000001": 1,
    b"0000000002": 2,
}
anything = st.one_of(
    st.binary(max_size=12),
    st.sampled_from([*MALFORMED_VALUES.values(), *PLAIN_VALUES]),
    st.integers(-5, 40).map(lambda number: str(number).encode()),
    st.integers(0, 2**34).map(lambda number: str(number).encode()),
)


def environment(depth: bytes | None = None, maximum: bytes | None = None) -> dict[bytes, bytes]:
    values = {DEPTH: depth, MAXIMUM: maximum, b"PATH": b"/bin"}
    return {name: value for name, value in values.items() if value is not None}


def refused(environ: dict[bytes, bytes], **how: Any) -> DepthExceeded:
    before = dict(environ)
    with pytest.raises(DepthExceeded) as caught:
        admit(environ, **how)
    assert environ == before
    return caught.value


def below(admission: Admission) -> dict[bytes, bytes]:
    """The environment of what the admitted run starts."""
    return {name.encode(): value.encode() for name, value in admission.exports.items()}


def down_a_line(environ: dict[bytes, bytes], settings: list[int]) -> Iterator[Admission]:
    """Runs that start one another, each with its own setting, until one is refused."""
    for at_most in settings:
        try:
            admission = admit(environ, at_most=at_most)
        except DepthExceeded:
            return
        environ = below(admission)
        yield admission


def test_outside_of_any_run_the_depth_is_0_and_the_maximum_the_default() -> None:
    assert admit({}) == Admission(
        0, DEFAULT_MAX_DEPTH, {"RUNCOORD_DEPTH": "1", "RUNCOORD_MAX_DEPTH": str(DEFAULT_MAX_DEPTH)}
    )


@pytest.mark.parametrize(("value", "depth"), PLAIN_VALUES.items(), ids=map(repr, PLAIN_VALUES))
def test_a_plain_number_is_the_depth(value: bytes, depth: int) -> None:
    admission = admit(environment(value))
    assert (admission.depth, admission.exports["RUNCOORD_DEPTH"]) == (depth, str(depth + 1))


@pytest.mark.parametrize("value", [b"3", b"4", b" 3 ", b"32", str(MAX_NUMERAL).encode()])
def test_a_depth_at_or_past_the_maximum_is_refused_with_both_numbers(value: bytes) -> None:
    error = refused(environment(value))
    assert error.details == {"depth": int(value), "max": DEFAULT_MAX_DEPTH}
    assert str(int(value)) in error.problem
    assert str(DEFAULT_MAX_DEPTH) in error.problem
    assert error.remedy


@pytest.mark.parametrize("value", MALFORMED_VALUES.values(), ids=MALFORMED_VALUES)
@pytest.mark.parametrize("maximum", [None, b"1", b"32", b"999999"])
def test_a_malformed_depth_counts_as_the_maximum_whatever_that_is(
    value: bytes, maximum: bytes | None
) -> None:
    error = refused(environment(value, maximum))
    assert error.details["depth"] == MALFORMED
    assert isinstance(error.details["max"], int)


@pytest.mark.parametrize("value", MALFORMED_VALUES.values(), ids=MALFORMED_VALUES)
def test_a_malformed_maximum_is_the_default(value: bytes) -> None:
    assert admit(environment(b"2", value)).maximum == DEFAULT_MAX_DEPTH
    assert refused(environment(b"3", value)).details["max"] == DEFAULT_MAX_DEPTH


@pytest.mark.parametrize(
    ("value", "maximum"),
    {b"1": 1, b"+4": 4, b" 4 ": 4, b"32": 32, b"33": 32, b"999999": 32, b"4294967295": 32}.items(),
)
def test_a_maximum_is_clamped_to_the_ceiling_and_exported_so(value: bytes, maximum: int) -> None:
    admission = admit(environment(None, value))
    assert (admission.maximum, admission.exports["RUNCOORD_MAX_DEPTH"]) == (maximum, str(maximum))
    assert refused(environment(str(maximum).encode(), value)).details == {"depth": maximum, "max": maximum}


@pytest.mark.parametrize("depth", [None, b"0", b"1"])
def test_a_maximum_of_0_refuses_always(depth: bytes | None) -> None:
    assert refused(environment(depth, b"0")).details == {"depth": int(depth or 0), "max": 0}


@pytest.mark.parametrize(("at_most", "maximum"), [(0, 0), (-1, 0), (2, 2), (5, 5), (40, 5)])
def test_a_setting_lowers_the_maximum_and_never_raises_it(at_most: int, maximum: int) -> None:
    environ = environment(None, b"5")
    if maximum:
        assert admit(environ, at_most=at_most).maximum == maximum
    error = refused(environment(str(maximum).encode(), b"5"), at_most=at_most)
    assert error.details["max"] == maximum
    assert ("--max-depth" in error.remedy) == (maximum < 5), "what lowered it is what is to be changed"


def line_of_cookies(runs: int) -> dict[bytes, bytes]:
    """What the environment has below so many runs."""
    line = ":".join(f"{number:0{COOKIE_DIGITS}x}" for number in range(runs))
    return {COOKIE_VARIABLE.encode(): line.encode()}


@pytest.mark.parametrize("depth", [None, b"0", b"1"])
def test_a_depth_that_was_unset_or_lowered_is_the_number_of_runs_above(depth: bytes | None) -> None:
    admission = admit(environment(depth) | line_of_cookies(2))
    assert (admission.depth, admission.exports["RUNCOORD_DEPTH"]) == (2, "3")
    assert refused(environment(depth) | line_of_cookies(3)).details == {"depth": 3, "max": 3}


def test_a_depth_that_a_host_began_with_is_kept_where_it_is_greater_than_the_runs_above() -> None:
    assert admit(environment(b"2") | line_of_cookies(1)).depth == 2


def test_the_runs_above_count_also_under_the_names_of_a_host() -> None:
    names = DepthNames("HOST_DEPTH", "HOST_MAX")
    assert admit({b"HOST_DEPTH": b"0"} | line_of_cookies(2), names).exports["HOST_DEPTH"] == "3"


@pytest.mark.parametrize("depth", [None, b"0", b"1"])
@pytest.mark.parametrize("line", [b"", b"hunter2", b"\xff", b"0" * (COOKIE_DIGITS + 1)])
def test_runs_above_that_cannot_be_counted_are_at_the_maximum(depth: bytes | None, line: bytes) -> None:
    error = refused(environment(depth) | {COOKIE_VARIABLE.encode(): line})
    assert error.details == {"depth": MALFORMED, "max": DEFAULT_MAX_DEPTH}
    assert COOKIE_VARIABLE in error.problem
    assert "hunter2" not in f"{error} {error.remedy}"


def test_a_host_has_names_of_its_own_and_ours_say_nothing_then() -> None:
    names = DepthNames("AMPLIHACK_SESSION_DEPTH", "AMPLIHACK_MAX_DEPTH")
    admission = admit(
        {b"AMPLIHACK_SESSION_DEPTH": b"2", b"AMPLIHACK_MAX_DEPTH": b"6", DEPTH: b"9", MAXIMUM: b"0"}, names
    )
    assert admission == Admission(2, 6, {"AMPLIHACK_SESSION_DEPTH": "3", "AMPLIHACK_MAX_DEPTH": "6"})
    assert "AMPLIHACK_SESSION_DEPTH" in refused({b"AMPLIHACK_SESSION_DEPTH": b"x"}, names=names).problem


@pytest.mark.parametrize(
    "name", ["", "A B", "A=B", "1A", "A\0", "Å", "A\n", "A" * (MAX_VARIABLE_CHARACTERS + 1), None, 3, b"A"]
)
@pytest.mark.parametrize("setting", ["depth", "maximum"])
def test_what_is_no_name_of_a_variable_is_refused(setting: str, name: Any) -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        DepthNames(**{setting: name})
    assert caught.value.details == {"setting": setting}


def test_one_name_for_both_is_refused() -> None:
    with pytest.raises(InvalidConfiguration, match="both read from D"):
        DepthNames("D", "D")


def test_ten_children_in_turn_of_one_parent_are_all_admitted() -> None:
    parent = below(admit({}))
    admissions = [admit(parent) for _ in range(10)]
    assert {admission.depth for admission in admissions} == {1}
    assert parent == below(admit({}))


@given(depth=anything, maximum=st.none() | anything, at_most=st.integers(-3, 50))
@SOME
def test_an_admission_is_always_below_a_maximum_within_the_ceiling(
    depth: bytes, maximum: bytes | None, at_most: int
) -> None:
    environ = environment(depth, maximum)
    refusal = refusal_of(lambda: admit(environ, at_most=at_most))
    if refusal is not None:
        told = refusal.details
        assert (type(refusal), set(told)) == (DepthExceeded, {"depth", "max"})
        assert 0 <= told["max"] <= min(MAX_DEPTH_CEILING, max(at_most, 0))
        assert told["depth"] == MALFORMED or told["depth"] >= told["max"]
    else:
        admission = admit(environ, at_most=at_most)
        assert 0 <= admission.depth < admission.maximum <= min(MAX_DEPTH_CEILING, at_most)
        assert set(admission.exports) == {"RUNCOORD_DEPTH", "RUNCOORD_MAX_DEPTH"}
        assert int(admission.exports["RUNCOORD_DEPTH"]) == admission.depth + 1
        assert int(admission.exports["RUNCOORD_MAX_DEPTH"]) == admission.maximum


@given(
    maximum=st.none() | anything,
    settings=st.lists(st.integers(0, 40), min_size=MAX_DEPTH_CEILING + 1, max_size=MAX_DEPTH_CEILING + 1),
)
@SOME
def test_down_a_line_the_depth_grows_by_one_the_maximum_only_shrinks_and_the_line_ends(
    maximum: bytes | None, settings: list[int]
) -> None:
    admitted = list(down_a_line(environment(None, maximum), settings))
    assert len(admitted) < len(settings)
    assert [admission.depth for admission in admitted] == list(range(len(admitted)))
    maxima = [admission.maximum for admission in admitted]
    assert maxima == sorted(maxima, reverse=True)


@given(value=st.text(st.characters(codec="utf-8", categories=["L"]), min_size=8, max_size=20))
@SOME
def test_no_value_of_the_environment_is_told(value: str) -> None:
    secret = value.encode()
    for environ in (environment(secret), environment(b"3", secret), environment(secret, secret)):
        error = refused(environ)
        assert value not in f"{error} {error.details}"
