"""Tables and lists of values, at every width."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from runcoord.cli.tables import Cell, Column, Facts, Table, wrapped

COLUMNS = [
    Column("ID", whole=True, most=12),
    Column("STATE"),
    Column("AGE", right=True, leave_out=1),
    Column("OWNER", most=10, leave_out=2),
    Column("TASK", stretch=True, leave_out=3),
]
WORDS = st.text(st.sampled_from("ab 翻é🦔"), max_size=30).map(str.strip)
ROWS = st.lists(
    st.tuples(
        st.text(st.sampled_from("ab翻"), min_size=1, max_size=20),
        st.sampled_from(["running", "done"]),
        st.sampled_from(["", "3s", "12m"]),
        WORDS,
        WORDS,
    ),
    min_size=1,
    max_size=5,
)
LEAST = 12 + 2 + len("running")
"""Width of the two columns that are never left out."""


def table_of(rows: list[tuple[str, ...]]) -> Table:
    return Table(COLUMNS, [[Cell(value) for value in row] for row in rows])


@given(ROWS, st.integers(LEAST, 120))
def test_a_table_fits_its_width_and_shows_every_id_whole(rows: list[tuple[str, ...]], width: int) -> None:
    lines = [line.plain for line in table_of(rows).lines(width)]
    assert all(cell_len(line) <= max(width, cell_len(line.split()[0])) for line in lines)
    starts = [line.split()[0] for line in lines[1:]]
    position = 0
    for row in rows:
        position = starts.index(row[0], position) + 1


@given(ROWS)
def test_a_table_without_a_terminal_shows_everything_one_line_a_row(rows: list[tuple[str, ...]]) -> None:
    table = table_of(rows)
    lines = [line.plain for line in table.lines(None)]
    assert len(lines) == len(rows) + 1
    for line, row in zip(lines[1:], rows, strict=True):
        for value in row:
            assert (value or "-") in line
    assert table.left_out(None) == []


@given(ROWS, st.integers(LEAST, 120))
def test_a_column_with_values_is_shown_or_named_as_left_out(rows: list[tuple[str, ...]], width: int) -> None:
    table = table_of(rows)
    shown = table.lines(width)[0].plain.split()
    for index, column in enumerate(COLUMNS):
        if any(row[index] for row in rows):
            assert (column.title in shown) is not (column.title in table.left_out(width))


def test_columns_are_aligned_by_what_a_terminal_shows_not_by_characters() -> None:
    lines = table_of([("翻翻", "done", "3s", "me", "x"), ("abcd", "done", "3s", "me", "x")]).lines(80)
    positions = {cell_len(line.plain[: line.plain.index("done")]) for line in lines[1:]}
    assert positions == {lines[0].plain.index("STATE")} == {6}


@given(WORDS, st.integers(2, 40))
def test_wrapped_text_fits_and_loses_nothing(text: str, width: int) -> None:
    lines = wrapped(Text(text), width)
    assert all(cell_len(line.plain) <= width for line in lines)
    assert "".join(line.plain for line in lines).replace(" ", "") == text.replace(" ", "")


def test_values_without_content_are_left_out_and_long_ones_go_on_below_themselves() -> None:
    facts = Facts()
    facts.add("Task", "one two three four five six seven eight")
    facts.add("Agent", "")
    facts.add("Destination", "first\n\nthird")
    assert [line.plain.rstrip() for line in facts.lines(33)] == [
        "Task         one two three four",
        "             five six seven eight",
        "Destination  first",
        "",
        "             third",
    ]
