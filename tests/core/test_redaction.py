"""What looks like a credential is taken out, what does not stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.credentials import AROUND, HARMLESS, SECRET, TOKENS, TOLD
from runcoord._core.redaction import REDACTED, redacted


@pytest.mark.parametrize("kind", TOKENS)
@pytest.mark.parametrize("around", AROUND)
def test_a_token_is_taken_out_wherever_it_stands(kind: str, around: str) -> None:
    token = TOKENS[kind]
    shown = redacted(around.format(token))
    assert token not in shown
    assert token[-10:] not in shown
    assert REDACTED in shown


@pytest.mark.parametrize("text", TOLD)
def test_a_secret_is_taken_out_where_its_surroundings_tell_that_it_is_one(text: str) -> None:
    shown = redacted(text.format(SECRET))
    assert SECRET not in shown
    assert REDACTED in shown


@pytest.mark.parametrize("text", HARMLESS)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert redacted(text) == text


def test_what_stands_around_a_credential_stays() -> None:
    token = TOKENS["github"]
    assert redacted(f"clone with {token}, then build") == f"clone with {REDACTED}, then build"
    assert redacted("mysql://root:abc@db/x?y=1") == f"mysql://root:{REDACTED}@db/x?y=1"
    assert redacted('{"user": "bob", "password": "a b\\" c", "n": 1}') == (
        f'{{"user": "bob", "password": {REDACTED}, "n": 1}}'
    )


def test_the_names_of_variables_stay() -> None:
    assert redacted("DB_PASSWORD=abc PORT=1") == f"DB_PASSWORD={REDACTED} PORT=1"


@given(
    st.lists(st.sampled_from([*TOKENS.values(), *AROUND, *TOLD, *HARMLESS, " ", ":", "=", '"', "\\"])).map(
        " ".join
    )
)
def test_a_second_time_takes_out_nothing_more(text: str) -> None:
    once = redacted(text)
    assert redacted(once) == once


@given(st.text(max_size=300), st.sampled_from(list(TOKENS.values())), st.text(max_size=300))
def test_a_token_is_taken_out_of_any_text(before: str, token: str, after: str) -> None:
    shown = redacted(f"{before} {token} {after}")
    assert token not in shown


@pytest.mark.parametrize(
    "piece",
    [
        "a_",
        "password",
        "pass:",
        "key-",
        "://a:",
        "Basic ",
        '\\"',
        "--pass-",
        "-----BEGIN PRIVATE KEY-----",
        "eyJa.",
        "-eyJ",
        "-eyJabcdefgh.",
        "_SG.",
        "is ",
        "sk-",
        "A" * 15,
        "token is ",
        "secret \\\\\\'",
    ],
)
def test_no_text_takes_more_time_than_its_length_is_worth(piece: str) -> None:
    # No clock: a pattern that goes back and forth would not come to an end at this size.
    text = piece * (200_000 // len(piece))
    assert isinstance(redacted(text), str)
