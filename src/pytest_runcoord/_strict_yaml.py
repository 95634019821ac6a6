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

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

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

from ._core_schema import MAY_BE_MORE, NumberTooLong, resolve
from ._limits import MAX_DOCUMENTS, MAX_NESTING, MAX_NODES, MAX_NUMBER_CHARACTERS
from ._nodes import ListNode, MappingNode, Node, Plain, ScalarNode
from ._positions import Position, ScenarioError, ScenarioFileError, shown

PARSER: Callable[[str], Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Gives events. The pure one is about eight times slower and words its errors differently."""


@dataclass(frozen=True, slots=True)
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
    reader = _Reader(text, path)
    try:
        documents = reader.read_all()
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, text, path, reader) from error
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


class _Frame:
    """A list or mapping that is still open. A mapping has ``entries``, a list has ``items``."""

    __slots__ = ("entries", "flow", "is_key", "items", "node")

    def __init__(self, node: ListNode | MappingNode, flow: bool, is_key: bool) -> None:
        self.node = node
        self.flow = flow
        self.is_key = is_key
        self.items = node.items if isinstance(node, ListNode) else None
        self.entries = node.entries if isinstance(node, MappingNode) else None


class _Reader:
    """Builds the tree from the parser's events. One object reads one file."""

    __slots__ = ("_left", "_next", "_path", "fault", "frames")

    def __init__(self, text: str, path: str) -> None:
        self._next: Callable[[], Any] = PARSER(text).get_event
        self._path = path
        self._left = MAX_NODES
        self.frames: list[_Frame] = []
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
        next_event, frames, left = self._next, self.frames, self._left
        items: list[Node] | None = None
        entries: dict[str, Node] | None = None
        key: str | None = None  # of the value that comes next; None where a key comes next
        key_line = key_column = 0
        root: Node | None = None
        while True:
            event = next_event()
            kind = type(event)
            if kind is MappingEndEvent or kind is SequenceEndEvent:
                closed = frames.pop()
                items, entries = (frames[-1].items, frames[-1].entries) if frames else (None, None)
                key = "" if closed.is_key else None
                key_line = key_column = 0
                continue
            if kind is DocumentEndEvent:
                break
            mark = event.start_mark
            line = mark.line + 1
            column = mark.column + 1
            left -= 1
            if left < 0:
                self._too_many_nodes(event)
            is_key = entries is not None and key is None
            frame: _Frame | None = None
            if kind is ScalarEvent:
                text = event.value
                plain = event.implicit[0]
                value = text
                if event.anchor is not None or event.tag is not None:
                    self._refuse_marks(event)
                elif plain and (not text or text[0] in MAY_BE_MORE):
                    value = self._resolved(event)
                if is_key:
                    assert entries is not None
                    if value is not text or text in entries or (plain and text == "<<"):
                        self._refuse_key(event, text, entries)
                    key, key_line, key_column = text, line, column
                    continue
                node: Node = ScalarNode(value, text, line, column, key_line, key_column)
            elif kind is AliasEvent:
                self._refuse_marks(event)
                if is_key:
                    key = ""
                    continue
                node = ScalarNode(None, f"*{event.anchor}", line, column, key_line, key_column)
            else:
                node = (MappingNode if kind is MappingStartEvent else ListNode)(
                    line, column, key_line, key_column
                )
                frame = self._opened(event, node, is_key)
                key_line = key_column = 0
            if items is not None:
                items.append(node)
            elif entries is None:
                root = node
            elif not is_key:
                assert key is not None
                entries[key] = node
            if frame is not None:
                items, entries = frame.items, frame.entries
            key = None
        self._left = left
        assert root is not None
        return root

    def _opened(self, event: Any, node: ListNode | MappingNode, is_key: bool) -> _Frame:
        if event.anchor is not None or event.tag is not None:
            self._refuse_marks(event)
        if is_key:
            self._refuse(self._position(event), "a key is a list or a mapping", "write the key as plain text")
        if len(self.frames) == MAX_NESTING:
            raise ScenarioFileError(
                self._position(event),
                f"lists and mappings are nested deeper than {MAX_NESTING}",
                "flatten it; if no nesting is meant, look for a bracket that is not closed",
            )
        frame = _Frame(node, event.flow_style is True, is_key)
        self.frames.append(frame)
        return frame

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

    def _refuse_marks(self, event: Any) -> None:
        position = self._position(event)
        if isinstance(event, AliasEvent):
            problem, remedy = f"'*{event.anchor}' is an alias", "write the value out"
        elif event.anchor is not None:
            problem, remedy = f"'&{event.anchor}' is an anchor", "remove it and write each value out"
        else:
            problem, remedy = f"{shown(event.tag)} is a tag", "remove it; quote the value if it is text"
        self._refuse(position, f"{problem}, which scenarios do not have", remedy)

    def _refuse_key(self, event: ScalarEvent, text: str, entries: dict[str, Node]) -> None:
        position = self._position(event)
        if text in entries:
            first = entries[text]
            self._refuse(
                position,
                f"the key {shown(text)} is there twice, first in line {first.key_line}",
                "remove one of them",
            )
        elif text == "<<":
            self._refuse(position, "'<<' is a merge key", "write the keys out")
        else:
            self._refuse(position, f"the key {shown(text)} is not text", "quote it if it is meant as a name")

    def _check_directives(self, event: DocumentStartEvent, position: Position) -> None:
        if event.version not in (None, (1, 2)):
            self._refuse(position, "the file asks for YAML 1.1", "remove the directive: this is YAML 1.2")
        if event.tags:
            self._refuse(position, "the file declares tags", "remove the directive: scenarios have no tags")

    def _too_many_nodes(self, event: Any) -> NoReturn:
        raise ScenarioFileError(
            self._position(event), f"the file holds more than {MAX_NODES} keys and values", "split the file"
        )


# --- what the parser says, in words that help -----------------------------------------------------

_SYNTAX = (
    (
        "mapping values are not allowed",
        "a ':' stands where no key can be",
        "quote the value if ': ' belongs to it; else correct the indentation",
    ),
    ("undefined alias", "an alias is used", "write the value out: scenarios have no anchors and aliases"),
    (
        "did not find expected <document start>",
        "the text goes on where the scenario ended",
        "indent it like the keys above it, or begin a new scenario with '---'",
    ),
    ("did not find expected key", "a key is expected here", "indent it like the keys above it"),
    ("did not find expected '-' indicator", "a list goes on without '-'", "begin each entry with '- '"),
    ("could not find expected ':'", "a key has no ':'", "write 'key: value'"),
)


def _syntax_error(error: yaml.MarkedYAMLError, text: str, path: str, reader: _Reader) -> ScenarioFileError:
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return ScenarioFileError(Position(path, 1, 1), f"the file is not YAML: {error}", "correct it")
    said = error.problem or "it cannot be read"
    position = Position(path, mark.line + 1, mark.column + 1)
    lines = text.splitlines()
    at = lines[mark.line][mark.column : mark.column + 1] if mark.line < len(lines) else ""
    if at == "\t":
        return ScenarioFileError(position, "a tab is used for indentation", "use spaces")
    if "quoted scalar" in (error.context or "") and "end of stream" in said and error.context_mark:
        opened = Position(path, error.context_mark.line + 1, error.context_mark.column + 1)
        return ScenarioFileError(opened, "the quoted text that begins here does not end", "close the quote")
    if at in ("@", "`", "%"):
        return ScenarioFileError(position, f"a value cannot begin with '{at}'", "quote it")
    flow = [frame.node for frame in reader.frames if frame.flow]
    if flow:
        kind = "list" if isinstance(flow[-1], ListNode) else "mapping"
        opened = Position(path, flow[-1].line, flow[-1].column)
        return ScenarioFileError(
            position,
            f"the {kind} in brackets that begins in line {opened.line}, column {opened.column} breaks off",
            "close the bracket, and put a ',' between entries",
        )
    for part, problem, remedy in _SYNTAX:
        if part in said:
            return ScenarioFileError(position, problem, remedy)
    context = f" {error.context}" if error.context else ""
    return ScenarioFileError(position, f"this is not YAML: {said}{context}", "correct the syntax here")
