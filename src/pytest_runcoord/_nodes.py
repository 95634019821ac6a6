"""The light tree that a scenario file is read into: plain values that know where they stand.

A value that stands in a mapping also knows where its key stands, because most messages point at the key.
Positions are kept as the parser's marks and turned into line and column, counted from 1, when asked for.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

Plain: TypeAlias = str | int | float | bool | None


class Mark(Protocol):
    """A place in the text; all three count from 0, in characters."""

    @property
    def index(self) -> int:
        """From the beginning of the text."""

    @property
    def line(self) -> int:
        """Lines before it."""

    @property
    def column(self) -> int:
        """From the beginning of its line."""


class Placed:
    """Where a value stands, and where its key does; without a key both are the same place.

    None has a constructor: whoever reads sets all fields, at half the price for every value of every file.
    """

    __slots__ = ("key_mark", "mark")

    mark: Mark
    key_mark: Mark | None

    @property
    def line(self) -> int:
        return self.mark.line + 1

    @property
    def column(self) -> int:
        return self.mark.column + 1

    @property
    def key_line(self) -> int:
        return (self.key_mark or self.mark).line + 1

    @property
    def key_column(self) -> int:
        return (self.key_mark or self.mark).column + 1


class ScalarNode(Placed):
    """One text, number, truth value or null; ``written`` is it as the file has it, without quotes."""

    __slots__ = ("value", "written")

    value: Plain
    written: str


class ListNode(Placed):
    """A list, in order."""

    __slots__ = ("items",)

    items: list[Node]


class MappingNode(Placed):
    """A mapping of text to values, in the order of the file."""

    __slots__ = ("entries",)

    entries: dict[str, Node]

    def key_node(self, key: str) -> ScalarNode:
        """A key as a value of its own, to be read by a kind."""
        entry, node = self.entries[key], ScalarNode()
        node.value = node.written = key
        node.mark, node.key_mark = entry.key_mark or entry.mark, None
        return node


def key_places(entries: dict[str, Node]) -> tuple[int, ...]:
    """Line and column of every key, one after the other."""
    places: list[int] = []
    for entry in entries.values():
        mark = entry.key_mark or entry.mark
        places += (mark.line + 1, mark.column + 1)
    return tuple(places)


Node: TypeAlias = ScalarNode | ListNode | MappingNode


def shape(node: Node) -> str:
    """What a value is, in the word a message uses for it."""
    if isinstance(node, ListNode):
        return "list"
    if isinstance(node, MappingNode):
        return "mapping"
    value = node.value
    if isinstance(value, str):
        return "text"
    if value is None:
        return "null"
    return "flag" if isinstance(value, bool) else "number"


def plain(node: Node) -> object:
    """The tree as plain dicts, lists and scalars, without its positions."""
    if isinstance(node, ScalarNode):
        return node.value
    if isinstance(node, ListNode):
        return [plain(each) for each in node.items]
    return {key: plain(each) for key, each in node.entries.items()}
