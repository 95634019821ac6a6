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

_KEY_MAY_BE_MORE = MAY_BE_MORE | {"<"}
"""As a key is, which may also be a merge."""

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

    __slots__ = ("_left", "_marks", "_next", "_path", "_text", "fault", "open")

    def __init__(self, text: str, path: str) -> None:
        self._next: Callable[[], Any] = PARSER(text).get_event
        self._text = text
        self._path = path
        self._left = MAX_NODES
        #: Anchors and tags need one of these characters; without them no value has to be asked.
        self._marks = "&" in text or "!" in text
        #: The lists and mappings that are open, outermost first.
        self.open: list[ListNode | MappingNode] = []
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
            if len(documents) == MAX_DOCUMENTS:
                raise ScenarioFileError(
                    self._position(event),
                    f"the file holds more than {MAX_DOCUMENTS} scenarios",
                    "split the file",
                )
            self.fault = None
            self._check_directives(event)
            root = self._read_document()
            position = Position(self._path, root.line, root.column)
            documents.append(Document(len(documents) + 1, position, root, self.fault))

    def _read_document(self) -> Node:
        root = self._value(self._next(), None)
        end = self._next()
        if self._left <= 0:
            raise self._too_many(end)
        return root

    def _value(self, event: Any, key_mark: Mark | None) -> Node:
        """The value that begins with an event, read up to its end."""
        kind = type(event)
        self._left -= 1
        if self._left <= 0:
            raise self._too_many(event)
        if self._marks or kind is AliasEvent:
            self._check_marks(event)
        if kind is ScalarEvent or kind is AliasEvent:
            node = ScalarNode()
            if kind is AliasEvent:
                node.value, node.written = None, f"*{event.anchor}"
            else:
                node.value = node.written = text = event.value
                if event.implicit[0] and (not text or text[0] in MAY_BE_MORE):
                    node.value = self._resolved(event)
            node.mark, node.key_mark = event.start_mark, key_mark
            return node
        if len(self.open) == MAX_NESTING:
            raise too_deep(self._position(event))
        found = MappingNode() if kind is MappingStartEvent else ListNode()
        found.mark, found.key_mark = event.start_mark, key_mark
        self.open.append(found)
        if isinstance(found, MappingNode):
            self._read_entries(found)
        else:
            self._read_items(found)
        self.open.pop()
        return found

    def _read_items(self, found: ListNode) -> None:
        next_event = self._next
        items = found.items = []
        event = next_event()
        while type(event) is not SequenceEndEvent:
            items.append(self._value(event, None))
            event = next_event()
        self._left -= 1

    def _read_entries(self, found: MappingNode) -> None:
        # With what _value does for a scalar written out: most keys have one, and this runs for every key of
        # every file at each collection.
        next_event, marks = self._next, self._marks
        entries = found.entries = {}
        while True:
            event = next_event()
            kind = type(event)
            if kind is ScalarEvent:
                key = event.value
                if marks:
                    self._check_marks(event)
                if not key or key[0] in _KEY_MAY_BE_MORE or key in entries:
                    self._check_key(event, entries)
            elif kind is MappingEndEvent:
                self._left -= 1
                return
            else:
                key = self._odd_key(event)
            mark = event.start_mark
            event = next_event()
            kind = type(event)
            if kind is not ScalarEvent or marks:
                self._left -= 1
                entries[key] = self._value(event, mark)
                continue
            left = self._left = self._left - 2
            if left <= 0:
                raise self._too_many(event)
            node = entries[key] = ScalarNode()
            node.value = node.written = text = event.value
            if event.implicit[0] and (not text or text[0] in MAY_BE_MORE):
                node.value = self._resolved(event)
            node.mark = event.start_mark
            node.key_mark = mark

    def _odd_key(self, event: Any) -> str:
        """Refuses a key that is no scalar, and reads over it."""
        self._check_marks(event)
        if type(event) is not AliasEvent:
            self._refuse(self._position(event), "a key is a list or a mapping", "write the key as plain text")
        self._value(event, None)
        return ""

    def _too_many(self, event: Any) -> ScenarioFileError:
        return ScenarioFileError(
            self._position(event),
            f"the file holds more than {MAX_NODES} keys, values and ends of lists and mappings",
            "split the file",
        )

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

    def _check_key(self, event: ScalarEvent, entries: dict[str, Node]) -> None:
        """Refuses a key that is there already, is not text, or would merge another mapping."""
        text = event.value
        if text in entries:
            problem = f"the key {shown(text)} is there twice, first in line {entries[text].key_line}"
            self._refuse(self._position(event), problem, "remove one of them")
        elif not event.implicit[0]:
            return
        elif text == "<<":
            self._refuse(self._position(event), "'<<' is a merge key", "write the keys out")
        elif self._resolved(event) is not text:
            problem = f"the key {shown(text)} is not text"
            self._refuse(self._position(event), problem, "quote it if it is meant as a name")

    def _check_directives(self, event: DocumentStartEvent) -> None:
        if event.version not in (None, (1, 2)):
            remedy = "remove the directive: this is YAML 1.2"
            self._refuse(self._position(event), "the file asks for YAML 1.1", remedy)
        if event.tags:
            remedy = "remove the directive: scenarios have no tags"
            self._refuse(self._position(event), "the file declares tags", remedy)


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
