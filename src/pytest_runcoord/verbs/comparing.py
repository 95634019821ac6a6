"""Comparing what a scenario expects with what is seen."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_runcoord.scenario import Expectation


class Unmet(Exception):
    """An expectation does not hold."""

    def __init__(self, problem: str, *, expected: str, seen: str) -> None:
        super().__init__(problem)
        self.problem, self.expected, self.seen = problem, expected, seen


def stated(expectation: Expectation, *without: str) -> dict[str, Any]:
    """The arguments that the file states, without those that only say what it is about."""
    return {name: expectation.args[name] for name in expectation.stated if name not in without}


def compare(what: str, wanted: Mapping[str, Any], seen: Mapping[str, Any]) -> None:
    """Raise :class:`Unmet` with every difference at once."""
    wrong = {
        name: value
        for name, value in wanted.items()
        if name not in seen or not _matches(name, value, seen[name])
    }
    if wrong:
        names = ", ".join(_named(name) for name in wrong)
        raise Unmet(
            f"{what}: {names} {'is' if len(wrong) == 1 else 'are'} not as expected",
            expected=", ".join(f"{name} {shown(value)}" for name, value in wrong.items()),
            seen=", ".join(
                f"{name} {shown(seen[name])}" if name in seen else f"no {name}, only {', '.join(seen)}"
                for name in wrong
            ),
        )


def _named(argument: str) -> str:
    """Beside the verb of the sentence, an argument of this name needs marks."""
    return "'is'" if argument == "is" else argument


CONTAINED = frozenset({"error", "reason"})
"""Texts of which an expectation names a part; the empty text is no part, but says that there is none."""


def _matches(name: str, wanted: Any, seen: Any) -> bool:
    if name in CONTAINED and isinstance(wanted, str) and wanted:
        return isinstance(seen, str) and wanted in seen
    if isinstance(wanted, tuple) and isinstance(seen, list):
        return list(wanted) == seen
    # In JSON a truth value is no number, though to Python true is 1.
    return bool(wanted == seen) and isinstance(wanted, bool) is isinstance(seen, bool)


def shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 200 else text[:199] + "…"
