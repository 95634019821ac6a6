"""Nothing that is stored can take hold of a terminal, however it got there."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cli.planting import Garden
from cli.shell import Shell, in_a_process, in_a_terminal
from runcoord.cli.output import json_text
from runcoord.cli.wording import one_line, printable

HOSTILE = (
    "title \x1b]0;owned\x07 clear \x1b[2J c1 \x9b31m back \b\b\b return \rover "
    "bidi \u202egnp.exe\u202c line\u2028break\nnew line\ttab \x00 nul \x7f [bold]markup[/bold] :smile:"
)
COMMANDS = [
    ["runs"],
    ["show", "r"],
    ["show", "s"],
    ["events"],
    ["events", "--run", "r"],
    ["events", "--run", "bad"],
    ["recover"],
    ["stop", "s"],
    ["stop", "nobody\x1b[31m"],
    ["show", "\x1b[31m"],
    ["no such \x1b[31m command"],
    ["runs", "--state", "\x1b[31m"],
    ["--store", "/no \x1b[31m where", "runs"],
]


@pytest.fixture
def infested(garden: Garden) -> Garden:
    """Every text of the store is hostile, also those that the library would not have accepted."""
    garden.finished(
        "r",
        "failed",
        payload={HOSTILE: [HOSTILE]},
        task=HOSTILE,
        agent=HOSTILE,
        conversation_key=HOSTILE,
        destination=HOSTILE,
        group=HOSTILE,
        group_size=2,
        result=HOSTILE * 300,
        error=HOSTILE,
    )
    lease = garden.running("s", task=HOSTILE)
    garden.coordinator.progress(lease, HOSTILE)
    garden.coordinator.publish(lease, HOSTILE)
    garden.coordinator.stop("s", HOSTILE)
    garden.sql("UPDATE events SET reason = ?", HOSTILE)
    garden.sql("UPDATE runs SET owner = ?, retried_as = ?, retry_of = ?, line = ?", *[HOSTILE] * 4)
    garden.accepted("named")
    garden.sql("UPDATE runs SET run_id = ? WHERE run_id = 'named'", HOSTILE)
    garden.coordinator.stop(garden.accepted("held", destination=""))
    garden.sql("UPDATE events SET event_id = ? WHERE run_id = 'held'", HOSTILE)
    garden.accepted("bad")
    garden.sql("UPDATE runs SET state = ? WHERE run_id = 'bad'", HOSTILE)
    return garden


def dangerous(text: str) -> set[str]:
    """Characters that a terminal obeys, apart from the line break, and those that hide or reorder text."""
    return {
        each for each in text if each != "\n" and unicodedata.category(each) in {"Cc", "Cf", "Cs", "Zl", "Zp"}
    }


@pytest.mark.parametrize("flags", [[], ["--json"]], ids=["text", "json"])
def test_no_command_writes_a_dangerous_character(infested: Garden, shell: Shell, flags: list[str]) -> None:
    for args in COMMANDS:
        answer = shell(*flags, *args)
        assert answer.out + answer.err, args
        assert dangerous(answer.out) == dangerous(answer.err) == set(), args
        if flags and answer.out:
            json.loads(answer.out)


@pytest.mark.parametrize("args", [["runs"], ["show", "r"], ["events"]], ids=["runs", "show", "events"])
def test_a_terminal_receives_no_character_that_it_obeys_but_our_colours(
    infested: Garden, args: list[str]
) -> None:
    plain = in_a_terminal(infested.path, 80, *args, "--no-color")
    assert plain.out
    assert dangerous(plain.out) == set()
    colored = in_a_terminal(infested.path, 80, *args)
    assert dangerous(re.sub(r"\x1b\[[0-9;]*m", "", colored.out)) == set()


def test_markup_and_emoji_names_are_shown_as_they_are_written(infested: Garden, shell: Shell) -> None:
    assert "[bold]markup[/bold] :smile:" in shell("--color", "show", "r").out


def test_a_line_break_in_a_value_breaks_no_line_of_a_table(infested: Garden, shell: Shell) -> None:
    assert len(shell("runs").out.splitlines()) == 1 + 4
    assert "break\\nnew line\\ttab" in shell("runs").out


def test_the_document_has_hostile_text_exactly_as_stored(infested: Garden) -> None:
    document = in_a_process(infested.path, "show", "r", "--json").document
    assert document["task"] == document["error"] == HOSTILE
    assert document["result"] == (HOSTILE * 300)[:65_536]
    assert json.loads(document["payload"]) == {HOSTILE: [HOSTILE]}


# --- the functions that do it ---


@given(st.text())
@example("\ud800")
@example("\U000e0001")
def test_printable_text_has_nothing_dangerous(text: str) -> None:
    for shown in (printable(text), one_line(text), printable(text, keep="\n")):
        assert dangerous(shown) <= {"\u200c", "\u200d"}
    assert "\n" not in printable(text) + one_line(text)


@given(st.text(st.characters(categories=["L", "N", "P", "S", "M", "Zs"])))
def test_text_without_dangers_is_shown_as_it_is(text: str) -> None:
    assert printable(text) == text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(JSON)
@example(["\ud800", "\U000e0001", "\x7f\x9b"])
def test_json_says_the_same_after_its_dangers_were_escaped(value: object) -> None:
    text = json_text(value)
    assert json.loads(text) == value
    assert dangerous(text) <= {"\u200c", "\u200d"}
    text.encode()


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
def test_numbers_that_json_lacks_are_written_as_text(number: float) -> None:
    assert json.loads(json_text({"a": [number]})) == {"a": [repr(number)]}
