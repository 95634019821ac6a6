"""What a YAML parser says about broken syntax, in words that help and at the place to be mended."""

from __future__ import annotations

from collections.abc import Sequence

import yaml

from ._limits import MAX_NESTING
from ._nodes import ListNode, MappingNode
from ._positions import Position, ScenarioFileError

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


def syntax_error(
    error: yaml.MarkedYAMLError, text: str, path: str, opened: Sequence[ListNode | MappingNode]
) -> ScenarioFileError:
    """The error for what the parser found; ``opened`` are the lists and mappings that were not closed yet."""
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return ScenarioFileError(Position(path, 1, 1), f"the file is not YAML: {error}", "correct it")
    said = error.problem or "it cannot be read"
    position = Position(path, mark.line + 1, mark.column + 1)
    lines = text.splitlines()
    if "nesting depth" in said:
        return too_deep(position)
    at = lines[mark.line][mark.column : mark.column + 1] if mark.line < len(lines) else ""
    if at == "\t":
        return ScenarioFileError(position, "a tab is used for indentation", "use spaces")
    if "quoted scalar" in (error.context or "") and "end of stream" in said and error.context_mark:
        begin = Position(path, error.context_mark.line + 1, error.context_mark.column + 1)
        return ScenarioFileError(begin, "the quoted text that begins here does not end", "close the quote")
    if at in ("@", "`", "%"):
        return ScenarioFileError(position, f"a value cannot begin with '{at}'", "quote it")
    flow = [node for node in opened if text[node.mark.index : node.mark.index + 1] in ("[", "{")]
    if flow:
        kind, closing = ("list", "]") if isinstance(flow[-1], ListNode) else ("mapping", "}")
        begin = Position(path, flow[-1].line, flow[-1].column)
        return ScenarioFileError(
            position,
            f"the {kind} that begins in line {begin.line}, column {begin.column} breaks off",
            f"close it with '{closing}', and put a ',' between entries",
        )
    for part, problem, remedy in _SYNTAX:
        if part in said:
            return ScenarioFileError(position, problem, remedy)
    context = f" {error.context}" if error.context else ""
    return ScenarioFileError(position, f"this is not YAML: {said}{context}", "correct the syntax here")


def too_deep(position: Position) -> ScenarioFileError:
    """The error for lists and mappings that are nested too deep."""
    return ScenarioFileError(
        position,
        f"lists and mappings are nested deeper than {MAX_NESTING}",
        "flatten it; if no nesting is meant, look for a bracket that is not closed",
    )
