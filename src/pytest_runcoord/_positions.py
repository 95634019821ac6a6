"""Where in a scenario file something stands, and the errors that point there.

Lines and columns count from 1, columns in characters, as editors show them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from runcoord.values import value

from ._limits import MAX_KNOWN_SHOWN, MAX_SHOWN_CHARACTERS


@value
class Position:
    """A place in a file: its path as the user gave it, line and column counted from 1."""

    path: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"


class ScenarioError(Exception):
    """One scenario is wrong; nothing of it was run. Says where, what, and what to do about it.

    As text: ``path:line:column: problem (remedy)``.
    """

    others: tuple[ScenarioError, ...] = ()
    """What else is wrong in the scenario, by place."""

    def __init__(self, position: Position, problem: str, remedy: str) -> None:
        super().__init__(position, problem, remedy)
        self.position = position
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.position}: {self.problem} ({self.remedy})"


class UnknownName(ScenarioError):
    """A name that nothing above introduces."""

    def __init__(self, position: Position, problem: str, remedy: str, space: str, name: str) -> None:
        super().__init__(position, problem, remedy)
        self.args = (position, problem, remedy, space, name)  # from which a pickle is made again
        self.space, self.name = space, name


class TooMuch(ScenarioError):
    """A limit of a scenario is reached: nothing behind it is read."""


class ScenarioFileError(ScenarioError):
    """A file cannot be read at all, so none of its scenarios is known."""


def shown(value: Any) -> str:
    """An offending value as a message repeats it: quoted, on one line, cut to a bounded length."""
    text = value if isinstance(value, str) else repr(value)
    text = text.encode("unicode_escape").decode("ascii") if not text.isprintable() else text
    if len(text) > MAX_SHOWN_CHARACTERS:
        text = f"{text[:MAX_SHOWN_CHARACTERS]}…"
    return f"'{text}'"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that a wrong one was probably meant to be; None if none is close."""
    # Imported here because only a mistake needs it.
    from difflib import get_close_matches

    by_lower = {each.lower().replace("-", "_"): each for each in known}
    found = get_close_matches(
        word[: 2 * MAX_SHOWN_CHARACTERS].lower().replace("-", "_"), list(by_lower), n=1, cutoff=0.6
    )
    return by_lower[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """A remedy for a word that is not known: the nearest known one, else all of them."""
    known = list(known)
    near = nearest(word, known)
    if near is not None:
        return f"did you mean '{near}'?"
    if otherwise:
        return otherwise
    return f"known: {listed(known)}" if known else "there are none"


def listed(words: Iterable[str]) -> str:
    """Words as a message lists them: the first few, the rest counted."""
    words = list(words)
    text = ", ".join(words[:MAX_KNOWN_SHOWN])
    more = len(words) - MAX_KNOWN_SHOWN
    return f"{text} and {more} more" if more > 0 else text
