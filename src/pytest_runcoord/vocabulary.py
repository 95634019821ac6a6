"""The words of the scenario language, in one registry: verbs of steps, ``given`` entries, expectations, axes.

The loader, the JSON schema for editors and the reference page are all made from it, so a word exists
everywhere as soon as it is registered. To add a verb::

    from pytest_runcoord.vocabulary import Argument, Duration, Name, Registry

    registry = Registry()
    registry.capability("leases", says="runs are held by leases that expire")

    @registry.step(
        "claim",
        group="runs",
        says="An owner takes a run and holds it by a lease.",
        capability="leases",
        arguments=(
            Argument("run", Name("run"), "the run to take", required=True, shorthand=True),
            Argument("lease", Duration(), "how long the lease lasts", default=90.0),
        ),
        options=("by", "as", "refused", "crash_at"),
        example="claim: {run: r1, by: gw1, lease: 90s}",
    )
    def claim(world, step):
        world.session(step.options["by"]).claim(step.args["run"], lease=step.args["lease"])

The registry only keeps the function with the word; what it is called with is agreed between the functions
and whoever runs the scenario. ``step.args`` has every declared argument, defaults filled in;
``step.stated`` names those that the file states; ``step.options`` has the options that the file states;
``step.where("lease")`` is the position of one of them.

A value may be written directly after the word for the one ``shorthand`` argument: ``- claim: r1``. A verb
that needs no argument may stand alone: ``- reboot``. Declared with ``value=kind`` instead of ``arguments``,
the whole value belongs to that kind and is ``step.args["value"]``, as in
``given: {destinations: {chat: accepts}}``.

Names are checked while the file is read: ``Name("run", defines=True)`` introduces one, ``Name("run")`` asks
that something above introduced it. Arguments are read in the order of their declaration.

Kinds: :class:`Text`, :class:`Name`, :class:`Duration`, :class:`Count`, :class:`Flag`, :class:`Choice`,
:class:`Json`, :class:`Moment`, :class:`Refusal`, :class:`CrashAt`, :class:`Mapping`, :class:`Record`,
:class:`ListOf`, :class:`Steps`, :class:`OneStep`, :class:`Either`; :mod:`pytest_runcoord._kinds` says how to
write another. Registering what is there already, or a word or an argument that does not say what it means,
raises :class:`VocabularyError`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar

from ._compound_kinds import (
    Argument,
    CrashAt,
    CrashPoint,
    Either,
    Expectations,
    ListOf,
    Mapping,
    OneStep,
    Record,
    Steps,
)
from ._kinds import Choice, Count, Duration, Flag, Json, Kind, Moment, Name, Refusal, Schema, Text
from ._nodes import ListNode, MappingNode, Node, ScalarNode
from ._positions import Position, ScenarioError, did_you_mean
from ._scope import Scope, Vocabulary
from ._words import (
    STANDARD_OPTIONS,
    Axis,
    Section,
    VocabularyError,
    Word,
    check_arguments,
    check_name,
    from_where,
    introduces,
    needed_within,
)

__all__ = [
    "STANDARD_OPTIONS",
    "Argument",
    "Axis",
    "Choice",
    "Count",
    "CrashAt",
    "CrashPoint",
    "Duration",
    "Either",
    "Expectations",
    "Flag",
    "Json",
    "Kind",
    "ListNode",
    "ListOf",
    "Mapping",
    "MappingNode",
    "Moment",
    "Name",
    "Node",
    "OneStep",
    "Position",
    "Record",
    "Refusal",
    "Registry",
    "ScalarNode",
    "ScenarioError",
    "Schema",
    "Scope",
    "Steps",
    "Text",
    "Vocabulary",
    "VocabularyError",
    "Word",
]

FAULT_STEP = "fault"
"""The step that lets calls to a port fail."""
Attached = TypeVar("Attached", bound=Callable[..., Any])


class Registry:
    """All words of the language. Not safe for registering from several threads at once."""

    def __init__(self) -> None:
        self._words: dict[Section, dict[str, Word]] = {"step": {}, "given": {}, "expectation": {}}
        self._axes: dict[str, Axis] = {}
        self._capabilities: dict[str, str] = {}
        self._moments: dict[str, str] = {}
        self._refusals: dict[str, str] = {}
        self._excuses: dict[str, frozenset[str]] = {}
        self._options: dict[str, Argument] = {each.name: each for each in STANDARD_OPTIONS}
        # Views, made once: they are asked for with every value that is read.
        self.steps = MappingProxyType(self._words["step"])
        self.givens = MappingProxyType(self._words["given"])
        self.expectations = MappingProxyType(self._words["expectation"])
        self.axes = MappingProxyType(self._axes)
        self.capabilities = MappingProxyType(self._capabilities)
        self.moments = MappingProxyType(self._moments)
        self.refusals = MappingProxyType(self._refusals)
        self.options = MappingProxyType(self._options)

    def copy(self) -> Registry:
        """A registry with the same words, for one session's additions."""
        other = Registry()
        for section, words in self._words.items():
            other._words[section].update(words)
        other._axes.update(self._axes)
        other._capabilities.update(self._capabilities)
        other._moments.update(self._moments)
        other._refusals.update(self._refusals)
        other._excuses.update(self._excuses)
        other._options.update(self._options)
        return other

    # --- closed lists -----------------------------------------------------------------------------

    def capability(self, name: str, *, says: str) -> None:
        """Something that a subject may lack; scenarios that need it are then skipped by this name."""
        self._add("capability", self._capabilities, name, says, says)

    def moment(self, name: str, *, says: str) -> None:
        """A named effect."""
        self._add("moment", self._moments, name, says, says)

    def refusal(self, name: str, *, says: str, excuses: Iterable[str] = ()) -> None:
        """A refusal that a step may expect. ``excuses`` are the spaces whose names such a step may use
        without their being introduced: ``run`` for ``unknown-run``."""
        self._add("refusal", self._refusals, name, says, says)
        self._excuses[name] = frozenset(excuses)

    def axis(self, name: str, kind: Kind, *, says: str, default: Any = None) -> None:
        """An axis; the values of ``kind`` must be text, numbers or truth values."""
        self._add("axis", self._axes, name, says, Axis(name, kind, says, default))

    def option(self, argument: Argument) -> None:
        """A further option that steps may take, beside :data:`STANDARD_OPTIONS`."""
        if argument.required or argument.shorthand:
            raise VocabularyError(
                f"option '{argument.name}': an option is neither required nor shorthand; declare it as an "
                "argument"
            )
        self._add("option", self._options, argument.name, argument.says, argument)

    # --- words ------------------------------------------------------------------------------------

    def step(
        self,
        name: str,
        *,
        group: str,
        says: str,
        arguments: Iterable[Argument] = (),
        capability: str | None = None,
        options: Collection[str] = (),
        value: Kind | None = None,
        example: str = "",
        refusal_needs: str = "",
    ) -> Callable[[Attached], Attached]:
        """Declares a verb of steps and attaches the decorated function; see the module for an example.

        ``refusal_needs`` is the capability that a subject needs in order to refuse it.
        """
        options = tuple(options)
        return self._declare(
            "step",
            name,
            group,
            says,
            capability,
            tuple(arguments),
            options,
            value,
            (),
            example,
            refusal_needs,
        )

    def given(
        self,
        name: str,
        *,
        group: str,
        says: str,
        arguments: Iterable[Argument] = (),
        capability: str | None = None,
        value: Kind | None = None,
        example: str = "",
    ) -> Callable[[Attached], Attached]:
        """Declares an entry of ``given`` and attaches the decorated function."""
        return self._declare("given", name, group, says, capability, tuple(arguments), (), value, (), example)

    def expectation(
        self,
        name: str,
        *,
        group: str,
        says: str,
        arguments: Iterable[Argument] = (),
        key: Iterable[str] = (),
        capability: str | None = None,
        value: Kind | None = None,
        example: str = "",
    ) -> Callable[[Attached], Attached]:
        """Declares an expectation and attaches the decorated function.

        ``key`` names the arguments that say what it is about. Where they are equal, every other argument
        that two expectations of one scenario state must be equal too; with no key nothing is compared.
        """
        return self._declare(
            "expectation", name, group, says, capability, tuple(arguments), (), value, tuple(key), example
        )

    def fault(self, name: str, *, says: str) -> None:
        """A fault at a port: one more word for ``is`` of the step ``fault``. A subject is told its name where
        it asks ``world.probe.fault(verb)``; the reference knows only those that come with runcoord."""
        word = self._words["step"].get(FAULT_STEP)
        kinds = {} if word is None else {each.name: each.kind for each in word.arguments}
        known = kinds.get("is")
        if word is None or not isinstance(known, Choice):
            raise VocabularyError(f"fault '{name}': there is no step '{FAULT_STEP}' with a choice of faults")
        meanings = dict(known.meanings)
        self._add("fault", meanings, name, says, says)
        arguments = [
            replace(each, kind=Choice(meanings)) if each.name == "is" else each for each in word.arguments
        ]
        self._words["step"][FAULT_STEP] = replace(word, arguments=tuple(arguments))

    def words(self) -> list[Word]:
        """All words of steps, ``given`` entries and expectations."""
        return [word for words in self._words.values() for word in words.values()]

    def attach(self, word: Word, function: Callable[..., Any]) -> None:
        """Have a word that is registered do something else."""
        self._words[word.section][word.name] = replace(word, function=function)

    def introducers(self, space: str) -> list[str]:
        """The words that introduce a name of a space, given entries as ``given.name``; for a remedy."""
        found = []
        for section, words in self._words.items():
            for word in words.values():
                kinds = [each.kind for each in (*word.arguments, *word.options)]
                if any(introduces(kind, space) for kind in (*kinds, *([word.value] if word.value else []))):
                    found.append(f"given.{word.name}" if section == "given" else word.name)
        return found

    def excused_by(self, refusal: str) -> frozenset[str]:
        """The spaces whose names need not be known in a step that expects this refusal."""
        return self._excuses.get(refusal, frozenset())

    # --- checks at registration -------------------------------------------------------------------

    @staticmethod
    def _needed(capability: str | None, arguments: tuple[Argument, ...], value: Kind | None) -> Iterator[str]:
        """Every capability that a word or something in it needs."""
        if capability is not None:
            yield capability
        for argument in arguments:
            yield from argument.all_needs()
            yield from needed_within(argument.kind)
        if value is not None:
            yield from needed_within(value)

    def _add(self, what: str, table: dict[str, Any], name: str, says: str, entry: Any) -> None:
        check_name(what, name)
        if not says.strip():
            raise VocabularyError(f"{what} '{name}': 'says' is empty; say in a few words what it means")
        if name in table:
            raise VocabularyError(f"{what} '{name}' is registered already; choose another name")
        table[name] = entry

    def _declare(
        self,
        section: Section,
        name: str,
        group: str,
        says: str,
        capability: str | None,
        arguments: tuple[Argument, ...],
        options: tuple[str, ...],
        value: Kind | None,
        key: tuple[str, ...],
        example: str,
        refusal_needs: str = "",
    ) -> Callable[[Attached], Attached]:
        what = f"{section} '{name}'"
        check_name(section, name)
        for given, text in (("says", says), ("group", group)):
            if not text.strip():
                raise VocabularyError(f"{what}: '{given}' is empty")
        for each in (*self._needed(capability, arguments, value), refusal_needs):
            if each and each not in self._capabilities:
                raise VocabularyError(
                    f"{what}: capability '{each}' is not registered; "
                    f"{did_you_mean(each, self._capabilities, 'register it first')}"
                )
        unknown = [each for each in options if each not in self._options]
        if unknown:
            raise VocabularyError(
                f"{what}: there is no option '{unknown[0]}'; {did_you_mean(unknown[0], self._options)}"
            )
        check_arguments(what, arguments, value, options)
        missing = [each for each in key if each not in {argument.name for argument in arguments}]
        if missing:
            raise VocabularyError(f"{what}: key '{missing[0]}' is none of its arguments")
        chosen = tuple(
            replace(each, needs=refusal_needs) if refusal_needs and each.name == "refused" else each
            for each in self._options.values()
            if each.name in options
        )

        def attach(function: Attached) -> Attached:
            if name in self._words[section]:
                first = self._words[section][name]
                raise VocabularyError(f"{what} is registered already{from_where(first)}")
            self._words[section][name] = Word(
                section, name, group, says, capability, arguments, chosen, value, key, example, function
            )
            return function

        return attach
