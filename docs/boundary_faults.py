"""The reference page of boundary faults, from their registry."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pytest_runcoord.bite.faults import AREAS
from pytest_runcoord.bite.trying import JUDGED, MOST_SECONDS, Bitten
from pytest_runcoord.invariants import WATCHED

PageMaker = Callable[..., str]
TableMaker = Callable[[Iterable[str], Iterable[Iterable[str]]], str]

TITLES = {
    "runs": "Runs: accepting, ending, keeping",
    "answers": "Answers without anything behind them",
    "leases": "Leases and epochs",
    "recovery": "Sweeps",
    "outbox": "Events and destinations",
    "processes": "Processes",
    "commands": "Commands as runs",
    "folders": "Run folders",
}


def faults_page(page: PageMaker, table: TableMaker) -> str:
    """Every shipped fault: what it does, what it needs, what turns red on it."""
    assert TITLES.keys() == AREAS.keys()
    number = sum(map(len, AREAS.values()))
    how_to = "[prove that the gate bites](../how-to/prove-that-the-gate-bites.md)"
    opening = (
        f"`--runcoord-bite` puts each of these {number} faults in between the scenarios and the subject, and "
        f"says whether the gate turned red: {how_to}. A fault is skipped where the subject lacks a "
        "capability that it needs. Beside it stands what turns red on it: the id of an invariant, the word "
        "of an expectation or a step, or `refused`; on the shipped scenarios and the reference one of them "
        "does, which a test shows."
    )
    verdicts = (
        f"Verdicts: {_list(Bitten)}. A variant counts if it is green without the fault, and is red by "
        f"{_list(sorted(JUDGED))}; one fault is tried for at most {MOST_SECONDS:g} s."
    )
    parts = [opening, verdicts]
    for area, faults in AREAS.items():
        rows = [
            (
                f"`{each.name}`",
                each.says + (f" ({each.origin})" if each.origin else ""),
                _list(sorted(each.needs)),
                ", ".join(map(_caught, each.caught_by)),
            )
            for each in faults
        ]
        parts += [f"## {TITLES[area]}", table(("Fault", "The subject", "Needs", "Turns red"), rows)]
    return page("Boundary faults", *parts)


def _list(words: Iterable[str]) -> str:
    return ", ".join(f"`{each}`" for each in words)


def _caught(by: str) -> str:
    invariant = by in {each.id for each in WATCHED}
    return f"[{by}](invariants.md#{by})" if invariant else f"`{by}`"
