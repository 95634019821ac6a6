"""Which variants are likeliest to show a fault: those come first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_runcoord.bite.fault import BoundaryFault
from pytest_runcoord.scenario import Clause, Scenario, Step, Variant
from pytest_runcoord.verbs import default_registry

LONGEST_WORD = 40
"""Characters of a text that may be a word of the language: a refusal, a moment, a choice."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One collected variant, and what its scenario is made of."""

    scenario: Scenario
    variant: Variant
    shown_as: str
    """Its file, as in node ids."""
    words: frozenset[str]
    """Words of the scenario: steps, expectations, ``given``, refusals that are expected, moments."""
    steps: int
    """How many, with those inside of others."""
    own: bool
    """Whether it uses words that do not come with runcoord."""
    another: int
    """How many variants of the same scenario came before."""

    @property
    def name(self) -> str:
        """As in its node id."""
        return f"{self.shown_as}::{self.scenario.name}::{self.variant.name}"


def candidates(collected: Iterable[tuple[Scenario, Variant, str]]) -> list[Candidate]:
    """What faults are tried on, in the order in which it was collected. What is no variant of the tier
    ``sim`` is left out."""
    found: list[Candidate] = []
    before: dict[tuple[str, str], int] = {}
    shipped = default_registry().steps
    words_of: dict[tuple[str, str], frozenset[str]] = {}
    for scenario, variant, shown_as in collected:
        if variant.choices.get("tier", "sim") != "sim":
            continue
        key = shown_as, scenario.name
        if key not in words_of:
            words_of[key] = words_in(scenario)
        another = before[key] = before.get(key, -1) + 1
        steps = [each for each in _clauses(scenario.steps) if isinstance(each, Step)]
        own = any(each.name not in shipped for each in steps)
        found.append(Candidate(scenario, variant, shown_as, words_of[key], len(steps), own, another))
    return found


def for_fault(fault: BoundaryFault, able: frozenset[str], found: Iterable[Candidate]) -> list[Candidate]:
    """The variants that can be run on a subject with these capabilities and may meet the fault, likeliest
    first: those with most of its words, the first variants of scenarios before others, short ones before
    long ones. What a project's own words do is not known, so where they are used anything may be met."""
    possible = [each for each in found if frozenset(each.scenario.needs) <= able]
    if fault.shows_in:
        possible = [each for each in possible if each.own or fault.shows_in & each.words]

    def unlikely(each: Candidate) -> tuple[int, int, int]:
        met = len(fault.words & each.words) + len(fault.needs & frozenset(each.scenario.needs))
        return each.another, -met, each.steps

    return sorted(possible, key=unlikely)


def words_in(scenario: Scenario) -> frozenset[str]:
    """Every word that a scenario uses, also inside of others."""
    found: set[str] = set()
    for clause in _clauses((*scenario.given, *scenario.steps, *scenario.expect)):
        found.add(clause.name)
        found.update(clause.stated)
        for value in (*clause.args.values(), *clause.options.values()):
            text = getattr(value, "moment", value)
            if isinstance(text, str) and len(text) <= LONGEST_WORD:
                found.add(text)
            elif isinstance(value, Mapping):
                found.update(name for name in value if isinstance(name, str))
    return frozenset(found)


def _clauses(values: Iterable[Any]) -> Iterator[Clause]:
    """The clauses among some values, and those inside of them."""
    for value in values:
        if isinstance(value, Clause):
            yield value
            yield from _clauses(value.args.values())
        elif isinstance(value, list | tuple):
            yield from _clauses(value)
