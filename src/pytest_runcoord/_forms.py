"""What a scenario file is compiled to: plain frozen values that know where they stand in the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from runcoord.values import value

from ._positions import Position, ScenarioError
from .vocabulary import Word


@value
class Clause:
    """One use of a word: the word, its arguments with defaults filled in, and where it stands.

    ``options`` holds the options that the file states, such as ``by``, ``as``, ``with``, ``refused``;
    ``stated`` names the arguments and options that it states itself, in its order.

    Numbers and names, and nothing of the tree that was read: a session holds the clauses of all its
    scenarios, and every object among them is looked at in each collection of garbage.
    """

    word: Word
    args: Mapping[str, Any]
    options: Mapping[str, Any]
    path: str
    line: int
    column: int
    stated: tuple[str, ...]
    places: tuple[int, ...]
    """Line and column of each of ``stated``, one after the other."""

    @property
    def name(self) -> str:
        """The word, as written."""
        return self.word.name

    @property
    def position(self) -> Position:
        """Where the word stands."""
        return Position(self.path, self.line, self.column)

    def where(self, name: str) -> Position:
        """Where an argument or option stands; the word itself where the file does not state it."""
        if name not in self.stated:
            return self.position
        at = 2 * self.stated.index(name)
        return Position(self.path, self.places[at], self.places[at + 1])


class Step(Clause):
    """Something that is done, or that happens, at its turn."""

    __slots__ = ()


class Given(Clause):
    """Something that holds before the first step."""

    __slots__ = ()


class Expectation(Clause):
    """Something that must be so when all steps are done."""

    __slots__ = ()


@value
class AxisChoice:
    """One value of one axis, and the part of the variant's name that stands for it."""

    value: str | int | float | bool
    label: str


@value
class Scenario:
    """One valid scenario.

    ``needs`` holds every capability that is asked for, by ``needs``, a word, or an argument or value that it
    states, and where it is first; ``moments`` every moment that it names, likewise.
    ``heal_sweeps`` is the number of sweeps in which all must have converged; 0 where healing is switched
    off. ``defaults`` are the values of the axes that the scenario does not name.
    """

    name: str
    position: Position
    says: str
    origin: tuple[str, ...]
    tags: tuple[str, ...]
    needs: Mapping[str, Position]
    moments: Mapping[str, Position]
    given: tuple[Given, ...]
    steps: tuple[Step, ...]
    expect: tuple[Expectation, ...]
    axes: Mapping[str, tuple[AxisChoice, ...]]
    defaults: Mapping[str, Any]
    heal_sweeps: int


@value
class InvalidScenario:
    """A scenario that is wrong. It has a name, so that it can be a failing test beside the others.

    The name is its own where it can be read and is not taken, else ``document-N``, counted from 1.
    """

    name: str
    position: Position
    error: ScenarioError


@value
class Variant:
    """One way to run a scenario: a value for every axis, also those that the scenario does not name."""

    name: str
    choices: Mapping[str, Any]


AnyScenario: TypeAlias = Scenario | InvalidScenario


@value
class ScenarioFile:
    """A file that could be read, its text for later quoting, and its scenarios in order."""

    path: str
    text: str
    scenarios: tuple[AnyScenario, ...]
