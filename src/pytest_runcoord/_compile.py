"""From nodes to clauses: one word, its arguments and its options, with every check that needs no run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from ._faults import Faults
from ._forms import Clause, Expectation, Step
from ._limits import MAX_EXPECTATIONS
from ._nodes import ListNode, MappingNode, Mark, Node, ScalarNode, key_places
from ._positions import Position, ScenarioError, did_you_mean, listed, shown
from ._scope import NOTHING, Scope, what_it_is
from .vocabulary import Registry, Word

NO_OPTIONS: Mapping[str, Any] = {}

AnyClause = TypeVar("AnyClause", bound=Clause)


class Compiler:
    """Reads the clauses of one scenario against one registry."""

    __slots__ = ("registry", "scope")

    def __init__(self, registry: Registry, path: str) -> None:
        self.registry = registry
        self.scope = Scope(path, registry, self.step, self.expectations)

    def step(self, node: Node, scope: Scope) -> Step:
        """One entry of a list of steps."""
        scope.count_step(node)
        return self._entry(Step, node, self.registry.steps, "step")

    def expectation(self, node: Node) -> Expectation:
        """One entry of ``expect``."""
        return self._entry(Expectation, node, self.registry.expectations, "expectation")

    def expectations(self, node: Node, faults: Faults | None = None) -> tuple[Expectation, ...]:
        """A list of expectations that are to hold at one moment, and so must not contradict each other. With
        ``faults`` each that is wrong is noted there."""
        scope = self.scope
        if type(node) is not ListNode:
            raise scope.misfit(
                node, "a list of expectations", "write one entry in each line, beginning with '- '"
            )
        if not node.items:
            raise scope.wrong(node, "the list of expectations is empty", "add an entry, or remove the key")
        if len(node.items) > MAX_EXPECTATIONS:
            raise scope.wrong(
                node, f"the scenario has more than {MAX_EXPECTATIONS} expectations", "split the scenario"
            )
        if faults is None:
            expectations = tuple([self.expectation(each) for each in node.items])
        else:
            expectations = faults.each(self.expectation, node.items)
            if faults.any:
                return ()
        check_agreement(expectations, scope)
        return expectations

    def _entry(self, form: type[AnyClause], node: Node, words: Mapping[str, Word], what: str) -> AnyClause:
        """A mapping with one key, or the word alone."""
        scope = self.scope
        if type(node) is MappingNode:
            entries = node.entries
            if len(entries) == 1:
                for key, body in entries.items():
                    word = words.get(key)
                    if word is None:
                        raise scope.wrong_key(body, f"unknown {what} {shown(key)}", did_you_mean(key, words))
                    return self.clause(form, word, body, body.key_mark or body.mark)
            raise self._not_one_word(node, words, what)
        name = node.value if isinstance(node, ScalarNode) else None
        if not isinstance(name, str):
            raise scope.misfit(node, f"a {what}", f"write '- word' or '- word: ...'; words: {listed(words)}")
        word = words.get(name)
        if word is None:
            before, colon, _ = name.partition(":")
            remedy = f"write a space after '{before}:'" if colon and before in words else ""
            raise scope.wrong(node, f"unknown {what} {shown(name)}", remedy or did_you_mean(name, words))
        return self.clause(form, word, None, node.mark)

    def _not_one_word(self, node: MappingNode, words: Mapping[str, Word], what: str) -> ScenarioError:
        names = list(node.entries)
        if not names:
            return self.scope.wrong(node, f"the {what} is empty", f"write one of: {listed(words)}")
        first = names[0]
        for other in names[1:]:
            if first in words and other in words[first].keys:
                return self.scope.wrong_key(
                    node.entries[other],
                    f"'{other}' stands beside '{first}', not below it",
                    f"indent it, or write - {first}: {{{other}: ...}}",
                )
        return self.scope.wrong_key(
            node.entries[names[1]],
            f"one {what} has several words: {listed(names)}",
            "begin each of them with '- '",
        )

    def clause(self, form: type[AnyClause], word: Word, body: Node | None, mark: Mark) -> AnyClause:
        """A word, at its mark, and what stands after it; None where nothing does."""
        scope = self.scope
        path, line, column = scope.path, mark.line + 1, mark.column + 1
        if word.capability is not None and word.capability not in scope.capabilities:
            scope.capabilities[word.capability] = Position(path, line, column)
        if word.value is not None:
            if body is None:
                position = Position(path, line, column)
                raise self._missing(word, position, "a value", word.value.describe())
            value, place = {"value": word.value.parse(body, scope)}, (body.line, body.column)
            return form(word, value, NO_OPTIONS, path, line, column, ("value",), place)
        args = word.defaults.copy()
        if body is None:
            if word.required:
                first = word.required[0]
                position = Position(path, line, column)
                raise self._missing(word, position, f"'{first.name}'", first.kind.describe())
            return form(word, args, NO_OPTIONS, path, line, column, (), ())
        if type(body) is not MappingNode:
            name = self._shorthand(word, body, line, column, args)
            return form(word, args, NO_OPTIONS, path, line, column, (name,), (body.line, body.column))
        entries = body.entries
        excused = self._excused(word, entries) if word.options and "refused" in entries else NOTHING
        scope.excused, outer = excused, scope.excused
        try:
            seen = 0
            for argument in word.arguments:  # most of them are not stated
                name = argument.name
                if name in entries:
                    entry = entries[name]
                    args[name] = argument.kind.parse(entry, scope)
                    if argument.needs:
                        scope.need_stated(argument.needed(args[name]), entry)
                    seen += 1
                elif argument.required:
                    self._check_keys(word, entries)
                    position = Position(path, line, column)
                    raise self._missing(word, position, f"'{name}'", argument.kind.describe())
            options = NO_OPTIONS
            if seen != len(entries):
                options = self._options(word, entries, seen)
        finally:
            scope.excused = outer
        return form(word, args, options, path, line, column, tuple(entries), key_places(entries))

    def _options(self, word: Word, entries: Mapping[str, Node], seen: int) -> Mapping[str, Any]:
        options: dict[str, Any] = {}
        for argument in word.options:
            name = argument.name
            if name in entries:
                options[name] = argument.kind.parse(entries[name], self.scope)
                if argument.needs:
                    self.scope.need_stated(argument.needed(options[name]), entries[name])
        if seen + len(options) != len(entries):
            self._check_keys(word, entries)
        return options

    def _shorthand(self, word: Word, body: Node, line: int, column: int, args: dict[str, Any]) -> str:
        """Reads a value that stands directly after a word; gives the name of the argument that it is for."""
        argument = word.shorthand
        scope = self.scope
        if isinstance(body, ScalarNode) and body.value is None:
            alone = word.section != "given" and not word.required
            remedy = f"write '{word.name}' without the ':'" if alone else f"write {_forms_of(word)}"
            raise scope.wrong_key(body, f"nothing stands after '{word.name}:'", remedy)
        if argument is None:
            raise scope.wrong(
                body,
                f"{what_it_is(body)} cannot stand directly after '{word.name}'",
                f"write {_forms_of(word)}",
            )
        args[argument.name] = argument.kind.parse(body, scope)
        if argument.needs:
            scope.need_stated(argument.needed(args[argument.name]), body)
        for other in word.required:
            if other is not argument:
                position = Position(scope.path, line, column)
                raise self._missing(word, position, f"'{other.name}'", other.kind.describe())
        return argument.name

    def _missing(self, word: Word, position: Position, what: str, kind: str) -> ScenarioError:
        return ScenarioError(position, f"'{word.name}' lacks {what}, {kind}", f"write {_forms_of(word)}")

    def _check_keys(self, word: Word, entries: Mapping[str, Node]) -> None:
        """Raises for the first key that the word does not have."""
        for name, entry in entries.items():
            if name in word.keys:
                continue
            if name in self.registry.options:
                remedy = f"remove it; '{word.name}' takes {listed(word.keys)}"
            else:
                remedy = did_you_mean(
                    name, word.keys, f"'{word.name}' takes {listed(word.keys) or 'nothing'}"
                )
            raise self.scope.wrong_key(entry, f"'{word.name}' has no '{name}'", remedy)

    def _excused(self, word: Word, entries: Mapping[str, Node]) -> frozenset[str]:
        """The spaces whose names need not be known in a step that says which refusal it expects."""
        if "as" in entries and "as" in word.keys:
            raise self.scope.wrong_key(
                entries["as"],
                "a step that must be refused gives nothing that 'as' could name",
                "remove 'as' or 'refused'",
            )
        if "may_refuse" in entries:
            raise self.scope.wrong_key(
                entries["may_refuse"],
                "a step that must be refused has no choice",
                "remove 'may_refuse' or 'refused'",
            )
        refused = entries["refused"]
        if isinstance(refused, ScalarNode) and isinstance(refused.value, str):
            return self.registry.excused_by(refused.value)
        return NOTHING


def _forms_of(word: Word) -> str:
    """How a word is written, as a remedy shows it."""
    if word.example:
        return word.example
    if word.value is not None:
        return f"{word.name}: {word.value.describe()}"
    needed = [each for each in word.required if each is not word.shorthand]
    if word.shorthand is not None and not needed:
        return f"{word.name}: <{word.shorthand.name}>"
    if not word.arguments:
        return word.name
    return f"{word.name}: {{{', '.join(f'{each.name}: ...' for each in word.required or word.arguments)}}}"


def check_agreement(expectations: tuple[Expectation, ...], scope: Scope) -> None:
    """Raises where two expectations about the same thing state different values for one field."""
    stated: dict[tuple[str, str, str], Expectation] = {}
    for each in expectations:
        key = each.word.key
        if not key:
            continue
        about = str(each.args[key[0]]) if len(key) == 1 else repr([each.args[name] for name in key])
        for name in each.stated:
            if name in key:
                continue
            first = stated.setdefault((each.name, about, name), each)
            if first is not each and first.args[name] != each.args[name]:
                raise ScenarioError(
                    each.where(name),
                    f"'{each.name}' says {name} {shown(each.args[name])} here and "
                    f"{shown(first.args[name])} in line {first.where(name).line}",
                    "both cannot be: remove one of them",
                )
