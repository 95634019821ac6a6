"""Methods and arguments of a session that are nearly those of a verb: they would never be called or given.

What is not there is a capability that is missing, so a slip of the pen would be hundreds of skips in silence.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator
from functools import lru_cache
from types import FunctionType
from typing import Any

from pytest_runcoord.subjects.answers import Nonsense
from pytest_runcoord.subjects.base import CAPABILITY_METHODS, SessionBase
from pytest_runcoord.subjects.program_verbs import VERBS

LEAST_LETTERS = 5
"""Letters of a word that another one can be nearly: of shorter ones too many are alike."""
LEAST_LETTERS_CHANGED = 6
"""The same where the slip is one letter in place of another: ``clone`` is not meant to be ``close``."""
ENDINGS = frozenset({"s", "d", "r", "n"})
"""What makes another word of one: ``claims``, ``released``, ``router``, ``taken``."""
MOST_SESSIONS = 64
"""Classes of sessions of which the answer is kept."""
OF_OURS = "pytest_runcoord."
OF_SESSIONS = ("close", "abandon", "timers", "counters", "start_up")
NAMED = frozenset(VERBS) - {"open", "snapshot", "tick"}
METHODS = frozenset({*OF_SESSIONS, *NAMED}) | frozenset(
    needed.partition("(")[0] for all_needed in CAPABILITY_METHODS.values() for needed in all_needed
)
"""Every method of a session that something calls."""


@lru_cache(maxsize=MOST_SESSIONS)
def slip_of(session: type) -> Nonsense | None:
    """What is misspelt in the class of a session, the first of it; ``None`` if nothing is."""
    return next(_slips(session), None)


def _slips(session: type) -> Iterator[Nonsense]:
    own = {name: method for name, method in _methods(session) if not name.startswith("_")}
    missing = {name for name in METHODS if not _is_there(session, name)}
    for name in own.keys() - METHODS:
        meant = _meant(name, missing)
        if meant:
            yield Nonsense(
                f"has the method {name!r}, which is no verb",
                "the methods of a session under their names",
                f"did you mean {meant!r}? A method that is nobody's to call begins with '_'",
            )
    for verb in sorted(own.keys() & NAMED):
        yield from _misspelt_arguments(verb, own[verb])


def _misspelt_arguments(verb: str, method: FunctionType) -> Iterator[Nonsense]:
    known = frozenset(VERBS[verb].arguments.fields)
    missing = {name for name in known if name not in inspect.signature(method).parameters}
    for each in inspect.signature(method).parameters.values():
        unused = each.name not in known and each.default is not each.empty
        meant = _meant(each.name, missing) if unused else ""
        if meant:
            yield Nonsense(
                f"has {verb} with the argument {each.name!r}, which is none of it",
                "arguments under the names that scenarios state them by",
                f"did you mean {meant!r}?",
            )


def _methods(session: type) -> Iterator[tuple[str, FunctionType]]:
    """What its author wrote, what overrides after what it overrides."""
    for kind in reversed(session.__mro__):
        if not f"{kind.__module__}.".startswith(OF_OURS):
            for name, value in vars(kind).items():
                if isinstance(value, FunctionType):
                    yield name, value


def _is_there(session: type, name: str) -> bool:
    method: Any = getattr(session, name, None)
    return method is not None and method is not getattr(SessionBase, name, None)


def _meant(word: str, missing: Collection[str]) -> str:
    """The one of the missing words that a word is nearly; empty if it is none."""
    return next((each for each in sorted(missing) if _nearly(word.lower(), each)), "")


def _nearly(word: str, meant: str) -> bool:
    """Whether it is the same but for underscores, a letter too many or too few, or two that are swapped."""
    if word.replace("_", "") == meant.replace("_", ""):
        return True
    short, long = sorted((word, meant), key=len)
    if len(short) < LEAST_LETTERS or len(long) - len(short) > 1:
        return False
    pairs = enumerate(zip(short, long, strict=False))
    at = next((place for place, (one, other) in pairs if one != other), len(short))
    if len(short) < len(long):
        another_word = at == len(short) and long[-1] in ENDINGS
        return short[at:] == long[at + 1 :] and not another_word
    swapped = short[at + 1 : at + 2] + short[at : at + 1] + short[at + 2 :]
    one_letter = len(short) >= LEAST_LETTERS_CHANGED and short[at + 1 :] == long[at + 1 :]
    return swapped == long[at:] or one_letter
