"""What a verb of a subject may give, made into an :class:`Answer`; anything else is named and refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from pytest_runcoord.subject import Answer

ACQUIRES = frozenset({"claim", "claim_next", "execute", "execute_next", "dispatch"})
"""Verbs that give a handle: a lease, an execution, a delivery."""
HOLDS = frozenset({"renew", "reacquire"})
"""Verbs that may give a new handle in place of the one that they were given."""
OR_NOTHING = {"claim_next": "run", "execute_next": "run", "dispatch": "event"}
"""Verbs that may find nothing to give, with the value that says so."""
MAX_NESTING = 20
"""Lists and tables inside of each other in a value."""
MOST_WHOLE = 2**63
"""Whole numbers are smaller, as every store, and every pipe between processes, wants them."""
MAX_SHOWN = 80
"""Characters of a value in a message."""


class Nonsense(Exception):
    """A subject gave what cannot be meant, or did what it must not; ``problem`` follows on what was asked."""

    def __init__(self, problem: str, expected: str, remedy: str = "") -> None:
        super().__init__(problem)
        self.problem, self.expected, self.remedy = problem, expected, remedy


def answer_of(verb: str, gave: Any, args: Mapping[str, Any], given: Any = None) -> Answer:
    """The answer that a verb gave; raises :class:`Nonsense`. ``given``: the handle that it was given."""
    if isinstance(gave, bool):
        raise Nonsense(
            f"gave {gave}",
            "a lease, a table of values, or nothing" if verb in ACQUIRES else "a table of values, or nothing",
            "Truth values are not looked at: a verb that refuses raises what 'refusals' has a name for.",
        )
    if inspect.isgenerator(gave) or inspect.isasyncgen(gave):
        raise Nonsense("gave a generator, of which nothing has run", "a method without 'yield'")
    if inspect.iscoroutine(gave):  # what it is made of was driven to its end
        gave.close()
        raise Nonsense("gave a coroutine, of which nothing has run", "an answer", "Await it in the verb.")
    if gave is None and verb in ACQUIRES:
        if verb in OR_NOTHING:
            return Answer({OR_NOTHING[verb]: None})
        raise Nonsense(
            "gave None",
            "the lease: any object, which later verbs are given",
            "Raise what refuses, if it does.",
        )
    answer = _unchecked(verb, gave, given)
    values = dict(answer.values)
    if verb in ACQUIRES or verb in HOLDS:
        _say_what_was_acquired(verb, values, answer.handle, args)
    elif isinstance(args.get("run"), str) and args["run"]:
        values.setdefault("run", args["run"])
    _check(values)
    return Answer(values, answer.handle)


def called(method: Callable[..., Any], given: tuple[Any, ...], args: Mapping[str, Any]) -> Any:
    """Call a verb; raises :class:`Nonsense` if it takes something else than it is given."""
    try:
        return method(*given, **args)
    except TypeError as error:
        try:
            inspect.signature(method).bind(*given, **args)
        except ValueError:
            raise error from None
        except TypeError as misfit:
            raise Nonsense(
                f"takes {inspect.signature(method)}, which does not fit: {misfit}",
                "a method that takes what scenarios state",
                "Give it parameters of these names, or **fields; or leave the capability out.",
            ) from None
        raise


def _unchecked(verb: str, gave: Any, given: Any) -> Answer:
    if isinstance(gave, Answer):
        if not isinstance(gave.values, dict):
            raise Nonsense(f"gave an Answer with {shown(gave.values)}", "a table of values by name")
        if gave.handle is None and verb in ACQUIRES and _says_something(gave.values):
            return Answer(gave.values, gave.values)
        return gave
    if gave is None:
        return Answer()
    if isinstance(gave, dict):
        if verb in ACQUIRES and not _says_something(gave) and verb in OR_NOTHING:
            return Answer(gave)
        return Answer(gave, gave if verb in ACQUIRES or isinstance(given, dict) else None)
    return Answer({}, gave if verb in ACQUIRES or verb in HOLDS else None)


def _says_something(values: Mapping[str, Any]) -> bool:
    return any(values.get(name) is not None for name in ("run", "run_id", "epoch", "event", "attempt"))


def _say_what_was_acquired(verb: str, values: dict[str, Any], handle: Any, args: Mapping[str, Any]) -> None:
    """Fill in the run and the epoch of a lease, the event and the attempt of a delivery."""
    for name in ("epoch", "event", "attempt"):
        if name not in values and (found := _attribute(handle, name)) is not None:
            values[name] = found
    asked = args.get("run")
    if isinstance(asked, str) and is_text(values.setdefault("run", asked)) and values["run"] != asked:
        raise Nonsense(
            f"gave {shown(values['run'])} when {asked!r} was asked for",
            "the run that was asked for",
            "Raise what refuses it; what is next anyway is claim_next.",
        )
    if "run" not in values:
        values["run"] = _attribute(handle, "run_id") or _attribute(handle, "run")
    if handle is not None and verb in OR_NOTHING and values.get(OR_NOTHING[verb]) is None:
        what = OR_NOTHING[verb]
        raise Nonsense(
            f"gave {shown(handle)}, which does not say which {what} it is",
            "nothing, or a handle that says what it is for",
            f"Give it an attribute {what!r}, or return Answer({{{what!r}: …}}, handle).",
        )


def _attribute(handle: Any, name: str) -> Any:
    return handle.get(name) if isinstance(handle, dict) else getattr(handle, name, None)


def _check(values: dict[str, Any]) -> None:
    for name, value in values.items():
        if not is_text(name):
            raise Nonsense(f"gave a value named {shown(name)}", "values whose names are texts")
        if not _plain(value):
            raise Nonsense(
                f"gave {name} = {shown(value)}",
                "texts that are Unicode, numbers of 64 bits, truth values, lists and tables of them",
            )
        kind, says = KNOWN.get(name, (_anything, ""))
        if value is not None and not kind(value):
            raise Nonsense(f"gave {name} = {shown(value)}", says)


def _plain(value: Any, nesting: int = 0) -> bool:
    if value is None or isinstance(value, float) or is_text(value):
        return True
    if isinstance(value, int):
        return abs(value) < MOST_WHOLE
    if nesting >= MAX_NESTING:
        return False
    if isinstance(value, dict):
        return all(is_text(name) and _plain(each, nesting + 1) for name, each in value.items())
    return isinstance(value, list | tuple) and all(_plain(each, nesting + 1) for each in value)


def _anything(value: Any) -> bool:
    return True


def is_text(value: Any) -> bool:
    """A text of whole characters: half of a surrogate pair, as of a name that is not UTF-8, is none."""
    return isinstance(value, str) and (value.isascii() or _encodable(value))


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_count(value: Any) -> bool:
    """A whole number, not negative; True and False are none."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_WHOLE


KNOWN: dict[str, tuple[Callable[[Any], bool], str]] = {
    "run": (is_text, "the id of a run, a text"),
    "event": (is_text, "the id of an event, a text"),
    "epoch": (is_count, "a whole number that rises with every acquisition"),
    "attempt": (is_count, "a whole number, the how many-th attempt it is"),
    "outcome": (is_text, "an outcome, a text"),
}
"""Values that the harness itself reads, and what they must be."""


def shown(value: Any) -> str:
    """A value in a message, whatever its ``repr`` does."""
    try:
        text = repr(value)
    except (Exception, SystemExit) as error:  # noqa: BLE001  its own, not ours
        text = f"<{type(value).__name__} whose repr raises {type(error).__name__}>"
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"
