"""What the page says of the gate: its verdict with reasons, what is required, which failures are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_runcoord.judging import Judgement, Problem
from pytest_runcoord.known_failures import KnownFailures, described, key_of
from pytest_runcoord.options import Options
from pytest_runcoord.tally import RAN, Tally, Variant

STATES = {
    "expected": "fails as it says",
    "passes": "passes: remove the entry",
    "expired": "fails, and its time is over",
    "endless": "fails, and would never end: the subject says no version",
    "other-revision": "not for this revision",
    "fails-otherwise": "fails by something else",
    "skipped": "skipped: nothing is known",
}
"""What an entry came to in one variant, in the words of the page."""


def gate_told(options: Options, judgement: Judgement | None, tally: Tally) -> dict[str, Any] | None:
    """Plain JSON types; nothing where the project asks for nothing of a whole run."""
    judgement = judgement or Judgement(not_judged="nothing ran")
    asks = list(_asks(options, tally))
    known = options.known
    required = options.table.required_invariants
    if not (asks or known or required or judgement.problems or options.table.place):
        return None
    return {
        "notJudged": judgement.not_judged,
        "reasons": [_reason(each) for each in judgement.problems],
        "asks": asks,
        "required": list(required),
        "known": [] if known is None else _known(known, tally.variants),
    }


def _asks(options: Options, tally: Tally) -> list[str]:
    asks = []
    if options.required:
        asks.append(f"at least {options.required} scenarios ({tally.scenarios_run()} ran)")
    asks += [f"the tier {tier} ({tally.ran_in(tier)} variants ran)" for tier in options.required_tiers]
    return asks


def _reason(problem: Problem) -> dict[str, str]:
    return {
        "message": problem.message,
        "remedy": problem.remedy,
        "at": "" if problem.place is None else str(problem.place),
    }


def _known(known: KnownFailures, variants: Mapping[str, Variant]) -> list[dict[str, Any]]:
    came_to: dict[str, dict[str, str]] = {}
    for node, each in variants.items():
        if each.known:
            came_to.setdefault(each.known, {})[node] = each.known_is
    found = []
    for entry, values in zip(known.entries, described(known.entries), strict=True):
        nodes = came_to.get(key_of(entry), {})
        states = sorted({STATES.get(each, each) for each in nodes.values()})
        if not states:
            states = ["about a boundary fault" if entry.fault else "not in this run"]
        ran = [node for node in nodes if variants[node].verdict in RAN]
        found.append({**values, "state": ", ".join(states), "node": next(iter(ran or nodes), None)})
    return found
