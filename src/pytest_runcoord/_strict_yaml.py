"""Reads scenario files: the core of YAML 1.2, strictly, with line and column of every key and value.

PyYAML speaks YAML 1.1 (``NO`` is false, ``1:30`` is ninety, ``on`` is a key ``True``), while editors speak
YAML 1.2. So only its parser is used, the C one where it is built in, and plain values are resolved by
:mod:`pytest_runcoord._core_schema`.

Refused, each with its place and a remedy: duplicate keys, anchors and aliases, tags, keys that are not text,
merge keys, directives other than ``%YAML 1.2``, characters that cannot be seen, and whatever exceeds a
limit of :mod:`pytest_runcoord._limits`. What spoils one document only is kept with that document, so that
the others of the file still run; what spoils the file is raised as :class:`ScenarioFileError`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
    StreamStartEvent,
)

from runcoord.values import value

from ._core_schema import MAY_BE_MORE, NumberTooLong, resolve
from ._limits import MAX_DOCUMENTS, MAX_NESTING, MAX_NODES, MAX_NUMBER_CHARACTERS
from ._nodes import ListNode, MappingNode, Mark, Node, Plain, ScalarNode
from ._positions import Position, ScenarioError, ScenarioFileError, shown
from ._scenario_text import at_index
from ._syntax_errors import syntax_error, too_deep

PARSER: Callable[[str], Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Gives events. The pure one is about eight times slower and words its errors differently."""


PARSER_NESTING = 1_000
"""Brackets inside each other that no parser gets to see; newer libyaml stops at as many by itself."""

_BRACKET = re.compile(r"[\[\]{}]")


@value
class Document:
    """One YAML document of a file.

    ``number`` counts from 1. ``error`` is the first thing that the YAML itself must not contain; ``root`` is
    then what could be read nevertheless, good enough to find the scenario's name in it.
    """

    number: int
    position: Position
    root: Node
    error: ScenarioError | None


def read_documents(text: str, path: str) -> list[Document]:
    """All documents of a file; raises :class:`ScenarioFileError` where it is not YAML, empty or too large."""
    if text.count("[") + text.count("{") > PARSER_NESTING:
        _check_brackets(text, path)
    reader = _Reader(text, path)
    try:
        documents = reader.read_all()
    except yaml.MarkedYAMLError as error:
        raise syntax_error(error, text, path, reader.open) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise ScenarioFileError(
            Position(path, 1, 1), f"the file is not YAML: {error}", "correct it"
        ) from error
    if not documents:
        raise ScenarioFileError(
            Position(path, 1, 1),
            "the file is empty",
            "write a scenario that begins with 'runcoord: 1', or remove the file",
        )
    return documents


class _Reader:
    """Builds the tree from the parser's events. One object reads one file."""

    __slots__ = ("_container_keys", "_left", "_marks", "_next", "_path", "_text", "fault", "open")

    def __init__(self, text: str, path: str) -> None:
        self._next: Callable[[], Any] = PARSER(text).get_event
        self._text = text
        self._path = path
        self._left = MAX_NODES
        #: Anchors and tags need one of these characters; without them no value has to be asked.
        self._marks = "&" in text or "!" in text
        #: The lists and mappings that are open, outermost first.
        self.open: list[ListNode | MappingNode] = []
        #: Depths at which a list or mapping stands in the place of a key.
        self._container_keys: list[int] = []
        self.fault: ScenarioError | None = None

    def read_all(self) -> list[Document]:
        documents: list[Document] = []
        while True:
            event = self._next()
            kind = type(event)
            if kind is StreamEndEvent or event is None:
                return documents
            if kind is StreamStartEvent:
                continue
            # Each time here a document starts: _read_document takes all events up to its end.
            position = self._position(event)
            if len(documents) == MAX_DOCUMENTS:
                raise ScenarioFileError(
                    position, f"the file holds more than {MAX_DOCUMENTS} scenarios", "split the file"
                )
            self.fault = None
            self._check_directives(event, position)
            root = self._read_document()
            position = Position(self._path, root.line, root.column)
            documents.append(Document(len(documents) + 1, position, root, self.fault))

    def _read_document(self) -> Node:
        # One loop with local names: it runs for every key and value of every file at each collection.
        next_event, marks = self._next, self._marks
        root: Node | None = None
        # Where the next value goes: one of the two, or neither for the root.
        items: list[Node] | None = None
        entries: dict[str, Node] | None = None
        key: str | None = None  # of the value that comes next; None where a key comes next
        key_mark: Mark | None = None
        event: Any = None
        for left in range(self._left, 0, -1):
            event = next_event()
            kind = type(event)
            if kind is ScalarEvent:
                value = text = event.value
                if marks:
                    self._check_marks(event)
                if event.implicit[0] and (not text or text[0] in MAY_BE_MORE):
                    value = self._resolved(event)
                if entries is None:
                    node: Node = ScalarNode(value, text, event.start_mark)
                    if items is None:
                        root = node
                    else:
                        items.append(node)
                elif key is None:
                    if value is not text or text in entries or text == "<<":
                        self._check_key(event, value, entries)
                    key, key_mark = text, event.start_mark
                else:
                    entries[key] = ScalarNode(value, text, event.start_mark, key_mark)
                    key = None
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                parent = self._closed()
                items = parent.items if type(parent) is ListNode else None
                entries = parent.entries if type(parent) is MappingNode else None
                key = "" if self._container_keys and self._ended_a_key() else None
            elif kind is DocumentEndEvent:
                self._left = left
                assert root is not None
                return root
            else:
                node = self._begun(event, None if key is None else key_mark)
                if items is not None:
                    items.append(node)
                elif entries is None:
                    root = node
                elif key is not None:
                    entries[key] = node
                    key = None
                else:
                    key = self._odd_key(event)
                if type(node) is MappingNode:
                    items, entries = None, node.entries
                elif type(node) is ListNode:
                    items, entries = node.items, None
        raise ScenarioFileError(
            Position(self._path, event.start_mark.line + 1, event.start_mark.column + 1),
            f"the file holds more than {MAX_NODES} keys, values and ends of lists and mappings",
            "split the file",
        )

    def _begun(self, event: Any, key_mark: Mark | None) -> Node:
        """The node of an event that is no scalar: a list or mapping that begins here, or a refused alias."""
        is_alias = type(event) is AliasEvent
        if self._marks or is_alias:
            self._check_marks(event)
        if is_alias:
            return ScalarNode(None, f"*{event.anchor}", event.start_mark, key_mark)
        if len(self.open) == MAX_NESTING:
            raise too_deep(self._position(event))
        form = MappingNode if type(event) is MappingStartEvent else ListNode
        node = form(event.start_mark, key_mark)
        self.open.append(node)
        return node

    def _closed(self) -> ListNode | MappingNode | None:
        """Closes the innermost list or mapping; gives the one around it."""
        self.open.pop()
        return self.open[-1] if self.open else None

    def _ended_a_key(self) -> bool:
        """Whether what was closed last stood in the place of a key."""
        if self._container_keys[-1] != len(self.open):
            return False
        self._container_keys.pop()
        return True

    def _odd_key(self, event: Any) -> str | None:
        """Refuses a key that is no scalar. An alias is the whole key; a list or mapping has yet to end."""
        if type(event) is AliasEvent:
            return ""
        self._refuse(self._position(event), "a key is a list or a mapping", "write the key as plain text")
        self._container_keys.append(len(self.open) - 1)
        return None

    def _resolved(self, event: ScalarEvent) -> Plain:
        try:
            return resolve(event.value)
        except NumberTooLong:
            self._refuse(
                self._position(event),
                f"the number {shown(event.value)} has more than {MAX_NUMBER_CHARACTERS} characters",
                "quote it if it is meant as text",
            )
            return None

    def _position(self, event: Any) -> Position:
        return Position(self._path, event.start_mark.line + 1, event.start_mark.column + 1)

    def _refuse(self, position: Position, problem: str, remedy: str) -> None:
        """Keeps the first fault of a document; reading goes on to find where the document ends."""
        if self.fault is None:
            self.fault = ScenarioError(position, problem, remedy)

    def _check_marks(self, event: Any) -> None:
        """Refuses aliases, anchors and tags."""
        if isinstance(event, AliasEvent):
            problem, remedy = f"'*{event.anchor}' is an alias", "write the value out"
        elif event.anchor is not None:
            problem, remedy = f"'&{event.anchor}' is an anchor", "remove it and write each value out"
        elif event.tag is not None:
            problem, remedy = f"{shown(event.tag)} is a tag", "remove it; quote the value if it is text"
        elif self._text.startswith("!", event.start_mark.index):
            # The parser hides this one: "! 12" comes as 12.
            problem, remedy = "'!' is a tag", "remove it; quote the value if it is text"
        else:
            return
        self._refuse(self._position(event), f"{problem}, which scenarios do not have", remedy)

    def _check_key(self, event: ScalarEvent, value: Plain, entries: dict[str, Node]) -> None:
        """Refuses a key that is there already, is not text, or would merge another mapping."""
        position = self._position(event)
        text = event.value
        if text in entries:
            self._refuse(
                position,
                f"the key {shown(text)} is there twice, first in line {entries[text].key_line}",
                "remove one of them",
            )
        elif value is not text:
            self._refuse(position, f"the key {shown(text)} is not text", "quote it if it is meant as a name")
        elif event.implicit[0]:
            self._refuse(position, "'<<' is a merge key", "write the keys out")

    def _check_directives(self, event: DocumentStartEvent, position: Position) -> None:
        if event.version not in (None, (1, 2)):
            self._refuse(position, "the file asks for YAML 1.1", "remove the directive: this is YAML 1.2")
        if event.tags:
            self._refuse(position, "the file declares tags", "remove the directive: scenarios have no tags")


def _check_brackets(text: str, path: str) -> None:
    """Stops at brackets that are absurdly deep, on which some parsers would work for hours.

    They look ahead for the end of a key and ask every open bracket at every token. Brackets inside quotes
    count too: nobody has a thousand of them that are not closed.
    """
    depth = 0
    for found in _BRACKET.finditer(text):
        depth += 1 if found.group() in "[{" else -1
        if depth > PARSER_NESTING:
            raise too_deep(at_index(text, found.start(), path))
