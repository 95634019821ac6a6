"""Breaking one rule of the core, for a seeded defect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from runcoord._core import decide
from runcoord._core.decide import Decision
from runcoord._core.model import Instant, Run

Rule = Callable[[Run, Any, Instant], Decision]
Broken = Callable[[Rule, Run, Any, Instant], Decision]


def broken_rule(request: type, broken: Broken) -> Callable[[pytest.MonkeyPatch], None]:
    """Replaces the rule for one request; the broken one is given the right one first."""

    def apply(patch: pytest.MonkeyPatch) -> None:
        right: Rule = decide._RULES[request]
        patch.setitem(decide._RULES, request, lambda run, asked, now: broken(right, run, asked, now))

    return apply
