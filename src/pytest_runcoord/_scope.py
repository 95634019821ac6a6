"""What is known at one point of a scenario while it is read: names introduced so far, and the vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Protocol

from ._limits import MAX_STEPS
from ._nodes import ListNode, MappingNode, Node, ScalarNode, shape
from ._positions import Position, ScenarioError, TooMuch, UnknownName, listed, nearest, shown

NOTHING: frozenset[str] = frozenset()


class Vocabulary(Protocol):
    """What kinds ask of a registry; it is one."""

    @property
    def moments(self) -> Mapping[str, str]:
        """The closed list of named effects, each with its meaning."""

    @property
    def capabilities(self) -> Mapping[str, str]:
        """What a subject may lack, each with its meaning."""

    @property
    def refusals(self) -> Mapping[str, str]:
        """The names of refusals, each with its meaning."""

    def introducers(self, space: str) -> Iterable[str]:
        """The words that introduce a name of this space, for a remedy."""


class Scope:
    """One scenario while it is read, from top to bottom.

    ``names`` holds, for each space, the names introduced so far and the line of each. ``excused`` are the
    spaces whose names need not be known in the step being read, because it expects to be refused for that.
    It is not ``certain`` which names are known where something above could not be read.
    """

    __slots__ = (
        "capabilities",
        "certain",
        "excused",
        "moments",
        "names",
        "path",
        "read_expectations",
        "read_step",
        "steps",
        "vocabulary",
    )

    def __init__(
        self,
        path: str,
        vocabulary: Vocabulary,
        read_step: Callable[[Node, Scope], Any],
        read_expectations: Callable[[Node], tuple[Any, ...]],
    ) -> None:
        self.path = path
        self.vocabulary = vocabulary
        self.read_step = read_step
        self.read_expectations = read_expectations
        self.names: dict[str, dict[str, int]] = {}
        self.excused: AbstractSet[str] = NOTHING
        self.certain = True
        self.capabilities: dict[str, Position] = {}
        self.moments: dict[str, Position] = {}
        self.steps = 0

    def need(self, capability: str, node: Node) -> None:
        """Note that the scenario needs a capability, if the vocabulary has it; the first place counts."""
        if capability in self.vocabulary.capabilities:
            self.capabilities.setdefault(capability, self.at(node))

    def need_stated(self, capability: str, node: Node) -> None:
        """Note that the scenario needs a capability because it states a key; empty: it needs none for it."""
        if capability and capability not in self.capabilities:
            self.capabilities[capability] = self.at_key(node)

    def at(self, node: Node) -> Position:
        """The position of a value."""
        return Position(self.path, node.line, node.column)

    def at_key(self, node: Node) -> Position:
        """The position of the key that a value stands under; of the value itself where it has none."""
        return Position(self.path, node.key_line, node.key_column)

    def wrong(self, node: Node, problem: str, remedy: str) -> ScenarioError:
        """An error at a value, to be raised."""
        return ScenarioError(self.at(node), problem, remedy)

    def wrong_key(self, node: Node, problem: str, remedy: str) -> ScenarioError:
        """An error at the key of a value, to be raised."""
        return ScenarioError(self.at_key(node), problem, remedy)

    def misfit(self, node: Node, wanted: str, remedy: str = "") -> ScenarioError:
        """An error for a value of the wrong type, to be raised: what it is, what is wanted, what to write."""
        problem = f"{what_it_is(node)} stands where {wanted} is wanted"
        return self.wrong(node, problem, remedy or f"write {wanted}")

    def not_text(self, node: Node, wanted: str) -> ScenarioError:
        """As :meth:`misfit`, where text is wanted: what looks like a number may have been meant as text."""
        if isinstance(node, ScalarNode) and node.value is not None:
            return self.misfit(node, wanted, f'quote it: "{node.written}"')
        return self.misfit(node, wanted)

    def introduce(self, space: str, name: str, line: int) -> None:
        """Makes a name known from here on; the first line stays when it was known already."""
        self.names.setdefault(space, {}).setdefault(name, line)

    def unknown_name(self, node: ScalarNode, space: str) -> ScenarioError:
        """An error for a name that nothing above introduces, to be raised."""
        name = str(node.value)
        known = self.names.get(space, {})
        near = nearest(name, known)
        if near is not None:
            remedy = f"did you mean '{near}' of line {known[near]}?"
        else:
            words = listed(self.vocabulary.introducers(space))
            remedy = f"introduce it above with {words}" if words else "introduce it above"
            if known:
                remedy += f"; known here: {listed(known)}"
        problem = f"{space} {shown(name)} is used before anything introduces it"
        return UnknownName(self.at(node), problem, remedy, space, name)

    def count_step(self, node: Node) -> None:
        """Counts a step, nested ones too; raises where there are too many."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            problem = f"the scenario has more than {MAX_STEPS} steps"
            raise TooMuch(self.at(node), problem, "split the scenario")


def what_it_is(node: Node) -> str:
    """A value as a message names it: its type, and the value itself where it is short."""
    kind = shape(node)
    if kind == "null":
        return "nothing" if isinstance(node, ScalarNode) and not node.written else "null"
    if isinstance(node, ScalarNode):
        return f"the {'truth value' if kind == 'flag' else kind} {shown(node.written)}"
    if isinstance(node, MappingNode):
        return "a mapping" if node.entries else "an empty mapping"
    assert isinstance(node, ListNode)
    return "a list" if node.items else "an empty list"
