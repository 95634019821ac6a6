"""JSON of anybody: an object, or one reason why not."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.strategies import SOME
from runcoord._core.limits import MAX_JSON_DEPTH, MAX_NUMBER_CHARACTERS
from runcoord._core.strict_json import NotStrict, strict_object

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**50), 10**50) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@SOME
@given(st.dictionaries(st.text(), PLAIN, max_size=5), st.booleans(), st.booleans())
def test_what_json_writes_is_read(document: dict[str, object], ascii_only: bool, marked: bool) -> None:
    try:
        data = json.dumps(document, ensure_ascii=ascii_only, allow_nan=False).encode()
    except ValueError:  # an infinity
        return
    assert strict_object(b"\xef\xbb\xbf" + data if marked else data) == document


BAD = {
    "empty": (b"", "empty"),
    "blank": (b" \n\t ", "blank"),
    "torn": (b'{"id": "a", "ta', "not JSON"),
    "two documents": (b"{} {}", "not JSON"),
    "trailing": (b"{}x", "not JSON"),
    "list": (b"[]", "a list"),
    "text": (b'"x"', "text"),
    "number": (b"1", "a number"),
    "null": (b"null", "null"),
    "true": (b"true", "true or false"),
    "duplicate key": (b'{"id": "a", "id": "b"}', "a key twice"),
    "duplicate key inside": (b'{"id": "a", "x": [{"y": 1, "y": 1}]}', "a key twice"),
    "duplicate key in other spelling": (b'{"id": 1, "\\u0069d": 2}', "a key twice"),
    "NaN": (b'{"a": NaN}', "NaN"),
    "Infinity": (b'{"a": -Infinity}', "NaN or Infinity"),
    "not UTF-8": (b'{"a": "\xff"}', "not UTF-8 (byte 7)"),
    "latin": ('{"a": "\u00e9"}'.encode("latin-1"), "not UTF-8"),
    "surrogate in UTF-8": (b'{"a": "\xed\xa0\x80"}', "not UTF-8"),
    "UTF-16": ('{"a": 1}'.encode("utf-16"), "not UTF-8"),
    "UTF-32": ('{"a": 1}'.encode("utf-32-le"), "not JSON"),
    "zeros": (b"\0" * 100, "not JSON"),
    "control character": (b'{"a": "\n"}', "not JSON"),
    "comment": (b"{} // x", "not JSON"),
    "single quotes": (b"{'a': 1}", "not JSON"),
    "pickle": (b"\x80\x04}.", "not UTF-8"),
    "deep": (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "inside of each other"),
    "deep and torn": (b'{"a":' * 100_000, "inside of each other"),
    "too deep by one": (b'{"a":' * (MAX_JSON_DEPTH + 1) + b"1" + b"}" * (MAX_JSON_DEPTH + 1), "inside"),
    "many digits": (b'{"a": 1' + b"0" * MAX_NUMBER_CHARACTERS + b"}", "digits"),
    "a million digits": (b'{"a": ' + b"9" * 10**6 + b"}", "digits"),
    "many digits of a float": (b'{"a": 0.' + b"3" * MAX_NUMBER_CHARACTERS + b"}", "digits"),
}


@pytest.mark.parametrize(("data", "why"), BAD.values(), ids=[name.replace(" ", "-") for name in BAD])
def test_anything_else_is_refused_with_one_reason(data: bytes, why: str) -> None:
    with pytest.raises(NotStrict) as refused:
        strict_object(data)
    assert why in str(refused.value)
    assert len(str(refused.value)) < 120


def test_a_document_as_deep_as_may_be_is_read() -> None:
    assert strict_object(b'{"a":' * MAX_JSON_DEPTH + b"1" + b"}" * MAX_JSON_DEPTH)
    assert len(strict_object(b'{"a": [' + b",".join([b"[]"] * 10_000) + b"]}")["a"]) == 10_000


def test_the_reason_quotes_nothing_of_the_file() -> None:
    for data in (b'{"hunter2": 1, "hunter2": 2}', b'hunter2{"a": 1}', b'"hunter2"', b'{"hunter2": NaN}'):
        with pytest.raises(NotStrict) as refused:
            strict_object(data)
        assert "hunter2" not in str(refused.value)


@SOME
@given(
    st.binary(max_size=200)
    | st.text(alphabet='{}[]":,\\u0019 NaInftrue\ud800', max_size=60).map(
        lambda text: text.encode("utf-8", "surrogatepass")
    )
)
def test_no_bytes_do_anything_else(data: bytes) -> None:
    with contextlib.suppress(NotStrict):
        assert type(strict_object(data)) is dict
