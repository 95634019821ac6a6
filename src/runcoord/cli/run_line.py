"""A plain command line of ``runcoord run``, read without click.

Loading click takes a quarter of the time that starting a small command may. A line that is plain is read here
by the same table of options; every other one (help, abbreviations, values that are wrong or look like
options, completion) is left to click, which then also says what is wrong with it. So this must never take
what click would take differently; a property test compares the two.
"""

from __future__ import annotations

from runcoord._core.values import value
from runcoord.cli.default_store import STORE_VARIABLE
from runcoord.cli.length_texts import seconds_of
from runcoord.cli.run_options import OPTIONS, Kind, Option

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

COMPLETION_VARIABLE = "_RUNCOORD_COMPLETE"
"""With this set a shell asks click for completions."""
COUNT_DIGITS = 9
"""More are left to click."""

_BY_NAME = {name: option for option in OPTIONS for name in option.names}


class NotPlain(Exception):
    """This line is for click."""


@value
class RunLine:
    """What a line says."""

    options: Mapping[str, Any]
    """By the fields of the options; all of them."""
    command: tuple[str, ...]
    store: str
    """Empty: the default."""
    store_from: str
    json: bool


def read(arguments: Sequence[str], environ: Mapping[str, str]) -> RunLine | None:
    """What a plain line says, without the program's name. ``None`` when it is for click."""
    if environ.get(COMPLETION_VARIABLE):
        return None
    reader = _Reader(list(arguments), environ.get(STORE_VARIABLE, ""))
    try:
        return reader.read()
    except NotPlain:
        return None


class _Reader:
    def __init__(self, arguments: list[str], store: str) -> None:
        self._left = arguments[::-1]
        self._json = False
        self._store, self._store_from = store, STORE_VARIABLE if store else "the default"
        self._options = {option.field: option.begins_with() for option in OPTIONS}

    def read(self) -> RunLine:
        while (word := self._next()) != "run":
            self._take_global(word)
        while self._left and self._left[-1].startswith("-") and self._left[-1] != "-":
            word = self._next()
            if word == "--":
                break
            self._take(word)
        if not self._left:
            raise NotPlain  # there is no command
        command = tuple(self._left[::-1])
        return RunLine(self._options, command, self._store, self._store_from, self._json)

    def _next(self) -> str:
        if not self._left:
            raise NotPlain
        return self._left.pop()

    def _take_global(self, word: str) -> None:
        name, equals, text = word.partition("=")
        if word == "--json":
            self._json = True
        elif name == "--store":
            self._store, self._store_from = self._text(equals, text), "--store"
            if not self._store:
                raise NotPlain
        else:
            raise NotPlain

    def _take(self, word: str) -> None:
        name, equals, text = word.partition("=")
        option = _BY_NAME.get(name)
        if option is None:
            self._take_global(word)
        elif option.kind in (Kind.FLAG, Kind.SWITCH):
            if equals:
                raise NotPlain
            self._options[option.field] = name == option.names[0] or option.kind is Kind.FLAG
        elif equals and not name.startswith("--"):
            raise NotPlain
        else:
            self._options[option.field] = _meant(option, self._text(equals, text))

    def _text(self, equals: str, text: str) -> str:
        """What an option is given: after its name, or the next word."""
        if equals:
            return text
        word = self._next()
        if word.startswith("-"):
            raise NotPlain
        return word


def _meant(option: Option, text: str) -> Any:
    """The value of a text."""
    if option.kind is Kind.LENGTH:
        found = seconds_of(text)
        if found is None:
            raise NotPlain
        return found
    if option.kind is Kind.COUNT:
        if not (
            text.isascii() and text.isdecimal() and len(text) <= COUNT_DIGITS and int(text) >= option.least
        ):
            raise NotPlain
        return int(text)
    if option.kind is Kind.CHOICE and text not in option.choices:
        raise NotPlain
    if option.kind is Kind.NAMED and not text:
        raise NotPlain
    if option.kind in (Kind.STORED, Kind.NAMED):
        try:
            text.encode()
        except UnicodeEncodeError:
            raise NotPlain from None
    return text
