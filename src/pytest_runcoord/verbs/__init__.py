"""The vocabulary of the scenario language: every word, registered once.

A module here registers the words of one group; a word's function is called with the world and the step.
"""

from __future__ import annotations

from functools import cache

from pytest_runcoord.homes.spellings import SPELLINGS
from pytest_runcoord.moments import MOMENTS
from pytest_runcoord.subject import CAPABILITIES
from pytest_runcoord.verbs import (
    expectations,
    expected_commands,
    expected_git,
    expected_homes,
    expected_processes,
    faults,
    git,
    given,
    homes,
    hostile_homes,
    importing,
    many,
    outbox,
    owners,
    process_faults,
    process_records,
    processes,
    runs,
    supervising,
    time,
    work,
    working,
)
from pytest_runcoord.verbs.asking import ANY_REFUSAL
from pytest_runcoord.vocabulary import Choice, Registry
from runcoord.errors import (
    ResultUnreachable,
    StoreError,
    process_error_codes,
    refusal_codes,
    store_error_codes,
)

AXES: dict[str, dict[str, str]] = {
    "home": SPELLINGS,
    "store": {
        "default": "the documented default: one SQLite file",
        "memory": "the memory store of runcoord.testing",
    },
    "tier": {"sim": "in this process, crashes by fencing", "real": "processes of their own, killed for real"},
    "tz": {
        "UTC": "Coordinated Universal Time",
        "Asia/Tokyo": "nine hours ahead, no daylight saving",
        "America/New_York": "behind, with daylight saving",
    },
}
EXCUSES = {"unknown-run": ("run",), "unknown-event": ("run",)}
_MEANINGS = {StoreError.code: "The store failed in a way that has no name of its own."}


def build_registry() -> Registry:
    """A registry with the whole shipped vocabulary, to which further words may be added."""
    registry = Registry()
    for name, says in CAPABILITIES.items():
        registry.capability(name, says=says)
    for name, says in MOMENTS.items():
        registry.moment(name, says=says)
    others = (StoreError.code, ResultUnreachable.code)
    for code in (*refusal_codes(), *others, *store_error_codes(), *process_error_codes()):
        registry.refusal(code, says=_meaning(code), excuses=EXCUSES.get(code, ()))
    registry.refusal(ANY_REFUSAL, says="Whatever refusal it is: which one is the coordinator's own choice.")
    for name, values in AXES.items():
        registry.axis(
            name, Choice(values), says=f"{name} of the scenario's world", default=next(iter(values))
        )
    words = (given, owners, runs, working, outbox, work, processes, process_faults, supervising, git)
    homely = (homes, hostile_homes, importing)
    expected = (expectations, expected_processes, expected_commands, expected_git, expected_homes)
    for module in (*words, *homely, many, time, faults, process_records, *expected):
        module.register(registry)
    return registry


@cache
def default_registry() -> Registry:
    """The shipped vocabulary, built once. Copy it before adding words."""
    return build_registry()


def _meaning(code: str) -> str:
    if code in _MEANINGS:
        return _MEANINGS[code]
    return error_class(code)


def error_class(code: str) -> str:
    """The first sentence of the documentation of the error with this code."""
    from runcoord import errors

    for kind in vars(errors).values():
        if isinstance(kind, type) and getattr(kind, "code", None) == code and kind.__doc__:
            return " ".join(kind.__doc__.split("\n\n")[0].split())
    return code
