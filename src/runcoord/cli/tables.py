"""Tables that fit the terminal, and lists of named values. Without a terminal nothing is cut or left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.text import Text

from runcoord._core.values import field, record, value

GAP = "  "
"""Between two columns: two blanks, so that a single one can stand inside a value."""
ABSENT = "-"
"""What stands for no value, so that programs that split lines at blanks count columns right."""
_BELOW_INDENT = 4
_BELOW_LINES = 3
"""Longest remark below a row on a terminal; the whole is in the pipe and in JSON."""
_LEAST_STRETCH = 16
"""A stretching column narrower than this is left out: it would say nothing."""


@value
class Cell:
    """One value and its style. An empty one is absent."""

    text: str = ""
    style: str = ""


@value
class Column:
    """One column. ``most`` bounds its width on a terminal, where longer values are cut. The stretching one,
    the last, takes the room that is left. A ``whole`` one, the first, is never cut: what does not fit gets a
    line of its own."""

    title: str
    right: bool = False
    most: int = 0
    whole: bool = False
    stretch: bool = False
    leave_out: int = 0
    """Order in which columns are left out on a narrow terminal, 1 first; 0: never."""


@record
class Table:
    """Rows under titles. ``below`` holds remarks by row number, shown under their row."""

    columns: Sequence[Column]
    rows: list[list[Cell]] = field(default_factory=list)
    below: dict[int, Cell] = field(default_factory=dict)

    def lines(self, width: int | None) -> list[Text]:
        """The table in ``width`` columns; ``None``: as wide as it needs, nothing cut."""
        shown = list(range(len(self.columns))) if width is None else self._fitting(width)
        widths = {index: self._width(index, bounded=width is not None) for index in shown}
        if width is not None:
            self._stretch(shown, widths, width)
        lines = [self._line([Cell(self.columns[i].title, "bold") for i in shown], shown, widths)]
        for number, row in enumerate(self.rows):
            cells = [row[i] for i in shown]
            if self.columns[0].whole and cell_len(cells[0].text) > widths[0]:
                lines.append(Text(cells[0].text, style=cells[0].style))
                cells[0] = Cell(" ")
            lines.append(self._line(cells, shown, widths, cut=width is not None))
            if number in self.below:
                lines.extend(_remark(self.below[number], width))
        return lines

    def left_out(self, width: int | None) -> list[str]:
        """Titles of the columns that do not fit and do have values."""
        if width is None:
            return []
        shown = self._fitting(width)
        return [c.title for i, c in enumerate(self.columns) if i not in shown and self._has_values(i)]

    # --- widths ---

    def _fitting(self, width: int) -> list[int]:
        shown = [i for i, column in enumerate(self.columns) if self._has_values(i) or not column.leave_out]
        order = sorted((c.leave_out, i) for i, c in enumerate(self.columns) if c.leave_out)
        for _, index in order:
            if self._least(shown) <= width:
                break
            if index in shown:
                shown.remove(index)
        return shown

    def _least(self, shown: list[int]) -> int:
        widths = [self._least_of(i) for i in shown]
        return sum(widths) + len(GAP) * (len(shown) - 1)

    def _least_of(self, index: int) -> int:
        width = self._width(index, bounded=True)
        return min(width, _LEAST_STRETCH) if self.columns[index].stretch else width

    def _width(self, index: int, *, bounded: bool) -> int:
        column = self.columns[index]
        widths = [cell_len(column.title), *(cell_len(row[index].text or ABSENT) for row in self.rows)]
        if not bounded or not column.most:
            return max(widths)
        if column.whole:  # a value with a line of its own takes no room in the others
            return max(width for width in widths if width <= column.most)
        return min(max(widths), column.most)

    def _stretch(self, shown: list[int], widths: dict[int, int], width: int) -> None:
        for index in shown:
            if self.columns[index].stretch:
                others = sum(w for i, w in widths.items() if i != index) + len(GAP) * (len(shown) - 1)
                widths[index] = max(1, min(widths[index], width - others))

    def _has_values(self, index: int) -> bool:
        return any(row[index].text for row in self.rows)

    # --- lines ---

    def _line(
        self, cells: list[Cell], shown: list[int], widths: dict[int, int], *, cut: bool = False
    ) -> Text:
        line = Text()
        for position, (index, cell) in enumerate(zip(shown, cells, strict=True)):
            column = self.columns[index]
            text = Text(cell.text or ABSENT, style=cell.style if cell.text else "dim")
            if cut:
                text.truncate(widths[index], overflow="ellipsis")
            room = " " * max(0, widths[index] - text.cell_len)
            if position:
                line.append(GAP)
            last = position == len(shown) - 1
            line.append_text(Text(room) + text if column.right else text + Text("" if last else room))
        return line


def _remark(remark: Cell, width: int | None) -> list[Text]:
    text = Text(remark.text, style=remark.style)
    if width is None:
        return [Text(" " * _BELOW_INDENT) + text]
    lines = wrapped(text, width - _BELOW_INDENT)
    if len(lines) > _BELOW_LINES:
        lines = lines[:_BELOW_LINES]
        lines[-1].append("…")
        lines[-1].truncate(width - _BELOW_INDENT, overflow="ellipsis")
    return [Text(" " * _BELOW_INDENT) + line for line in lines]


def wrapped(text: Text, width: int) -> list[Text]:
    """``text`` in lines of at most ``width`` columns, broken between words where that is possible."""
    from rich.console import Console

    return list(text.wrap(Console(width=max(1, width)), max(1, width), overflow="fold"))


@record
class Facts:
    """Named values, one below the other; those without a value are left out."""

    indent: str = ""
    values: dict[str, Text] = field(default_factory=dict)

    def add(self, name: str, value: str | Text, style: str = "") -> None:
        """One value; one with line breaks goes on below itself."""
        if isinstance(value, str):
            value = Text(value, style=style)
        if value.plain:
            self.values[name] = value

    def lines(self, width: int | None, aligned_with: Iterable[str] = ()) -> list[Text]:
        """The values; their beginnings stand where those of the names in ``aligned_with`` would."""
        room = max((cell_len(name) for name in (*self.values, *aligned_with)), default=0)
        lines: list[Text] = []
        for name, shown in self.values.items():
            head = self.indent + name + " " * (room - cell_len(name)) + GAP
            parts = list(shown.split("\n", allow_blank=True))
            if width is not None:
                left = max(_LEAST_STRETCH, width - cell_len(head))
                parts = [line for part in parts for line in (wrapped(part, left) or [Text()])]
            for number, part in enumerate(parts):
                start = Text(head, style="dim") if number == 0 else Text(" " * cell_len(head))
                lines.append(start + part)
        return lines
