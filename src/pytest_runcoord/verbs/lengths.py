"""How long a lease lasts, as a scenario says it; also lengths that must be refused."""

from __future__ import annotations

import math

from pytest_runcoord.vocabulary import Choice, Duration, Kind, Node, ScalarNode, Schema, Scope, Vocabulary

WORDS = {"infinite": math.inf, "not-a-number": math.nan}
"""What no duration can say, in seconds."""
MIN_LEASE_SECONDS = 0.1
MAX_LEASE_SECONDS = 3600.0
"""The documented limits of a lease."""
_CHOICE = Choice({"infinite": "a length without end", "not-a-number": "a length that is no number"})
_DURATION = Duration(may_be_negative=True)


class LeaseLength(Kind):
    """A duration, or one of :data:`WORDS`; the value is in seconds."""

    __slots__ = ()
    shapes = frozenset({"text"})

    def parse(self, node: Node, scope: Scope) -> float:
        word = node.value if isinstance(node, ScalarNode) else None
        if isinstance(word, str) and word in WORDS:
            return WORDS[word]
        seconds = _DURATION.parse(node, scope)
        if 0 < seconds < MIN_LEASE_SECONDS or seconds > MAX_LEASE_SECONDS:
            scope.need("bounds", node)  # sensible, and refused by the documented limits alone
        return seconds

    def schema(self, vocabulary: Vocabulary) -> Schema:
        return {"anyOf": [_CHOICE.schema(vocabulary), _DURATION.schema(vocabulary)]}

    def describe(self) -> str:
        return f"{_DURATION.describe()}, or {_CHOICE.describe()}"
