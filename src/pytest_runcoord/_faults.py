"""What is wrong in one scenario: all of it that can be told at once, so that nobody mends one thing a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NoReturn, TypeVar, TypeVarTuple

from ._limits import MAX_FAULTS
from ._nodes import Node
from ._positions import ScenarioError, TooMuch, UnknownName
from ._scope import Scope

Given = TypeVarTuple("Given")
T = TypeVar("T")


class Faults:
    """The faults of one scenario in the order in which they were met. The first is raised, with the others.

    A name that is not known is told once, and not at all where something before it could not be read: that
    might have introduced it.
    """

    __slots__ = ("_found", "_scope")

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._found: list[ScenarioError] = []

    def tried(self, read: Callable[[*Given], T], *given: *Given) -> T:
        """What ``read`` gives; nothing useful where it raises a fault, which is noted."""
        try:
            return read(*given)
        except ScenarioError as fault:
            if self.any and fault is self._found[0]:  # the end of them all, in a list inside of this
                raise
            self.note(fault)
        return None  # type: ignore[return-value]  # nobody uses it: end() raises

    def each(self, read: Callable[[Node, *Given], T], nodes: Iterable[Node], *given: *Given) -> tuple[T, ...]:
        """The same for each of several, but for those that are wrong."""
        found = []
        for node in nodes:
            try:
                found.append(read(node, *given))
            except ScenarioError as fault:
                self.note(fault)
        return tuple(found)

    def note(self, fault: ScenarioError) -> None:
        """Go on after it, unless there are too many."""
        self._found.append(fault)
        if isinstance(fault, UnknownName):
            self._scope.introduce(fault.space, fault.name, fault.position.line)
        else:
            self._scope.certain = False
        if isinstance(fault, TooMuch) or len(self._found) >= MAX_FAULTS:
            self._fail()

    @property
    def any(self) -> bool:
        """Whether there is one so far."""
        return bool(self._found)

    def end(self) -> None:
        """Raises the first fault, if there is any."""
        if self._found:
            self._fail()

    def _fail(self) -> NoReturn:
        first, *others = self._found
        first.others = tuple(sorted(others, key=lambda each: (each.position.line, each.position.column)))
        for each in first.others:
            first.add_note(f"also {each}")
        raise first
