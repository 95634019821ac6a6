"""The light tree that a scenario file is read into: plain values that know where they stand.

A value that stands in a mapping also knows where its key stands, because most messages point at the key.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

Plain: TypeAlias = str | int | float | bool | None


class ScalarNode:
    """One text, number, truth value or null; ``written`` is it as the file has it, without quotes."""

    __slots__ = ("column", "key_column", "key_line", "line", "value", "written")

    def __init__(
        self, value: Plain, written: str, line: int, column: int, key_line: int = 0, key_column: int = 0
    ) -> None:
        self.value = value
        self.written = written
        self.line = line
        self.column = column
        self.key_line = key_line
        self.key_column = key_column


class ListNode:
    """A list, in order."""

    __slots__ = ("column", "items", "key_column", "key_line", "line")

    def __init__(self, line: int, column: int, key_line: int = 0, key_column: int = 0) -> None:
        self.items: list[Node] = []
        self.line = line
        self.column = column
        self.key_line = key_line
        self.key_column = key_column


class MappingNode:
    """A mapping of text to values, in the order of the file."""

    __slots__ = ("column", "entries", "key_column", "key_line", "line")

    def __init__(self, line: int, column: int, key_line: int = 0, key_column: int = 0) -> None:
        self.entries: dict[str, Node] = {}
        self.line = line
        self.column = column
        self.key_line = key_line
        self.key_column = key_column


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


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, parents first, in the order of the file."""
    yield node
    if isinstance(node, ListNode):
        for each in node.items:
            yield from walk(each)
    elif isinstance(node, MappingNode):
        for each in node.entries.values():
            yield from walk(each)
