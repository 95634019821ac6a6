"""What a run with faults says at its end, for those who decide about a gate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_runcoord.bite.trying import Bitten

ORDER = [each.value for each in Bitten]
BITES = Bitten.RED.value
NOT_TRIED = Bitten.SKIPPED.value
ACCEPTED = "accepted"
"""Of a fault that turned nothing red, which the project's table says somebody accepted."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table; ``bad`` for a fault that turned nothing red."""

    text: str
    bad: bool = False


def counts(told: Sequence[Mapping[str, Any]]) -> str:
    """How many faults came to what."""
    verdicts = Counter(map(_verdict, told))
    said = ", ".join(f"{verdicts[name]} {name}" for name in (*ORDER, ACCEPTED) if verdicts[name])
    return f"{len(told)} boundary fault{'' if len(told) == 1 else 's'}: {said}"


def table(told: Sequence[Mapping[str, Any]], subject: str) -> Iterable[Line]:
    """Every fault with what turned red on it, or why nothing did."""
    yield Line(f"boundary faults on {subject}, tier sim; red is what a gate must become")
    first = max(len(_verdict(each)) for each in told)
    width = max(len(str(each["fault"])) for each in told)
    by = max(len(each["by"] or "") for each in told)
    for each in told:
        verdict, name = _verdict(each), str(each["fault"])
        if verdict == BITES:
            where = f"{str(each['variant']).partition('::')[0]}:{each['line']}"
            yield Line(f"{verdict:{first}}  {name:{width}}  {each['by']:{by}}  {where}")
        elif verdict == ACCEPTED:
            yield Line(f"{verdict:{first}}  {name:{width}}  {each['verdict']}, {each['accepted']}")
        else:
            bad = verdict != NOT_TRIED
            shown = verdict.upper() if bad else verdict
            yield Line(f"{shown:{first}}  {name:{width}}  {each['reason']}", bad)
    yield Line(f"{counts(told)} in {sum(float(each['seconds']) for each in told):.1f}s")


def _verdict(told: Mapping[str, Any]) -> str:
    return ACCEPTED if told["accepted"] else str(told["verdict"])
