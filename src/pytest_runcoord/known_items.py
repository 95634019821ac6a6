"""A test that a known failure is about: what its result comes to in pytest's words."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import pytest

from pytest_runcoord.known_failures import Known, KnownFailure, KnownFailures, judged, key_of
from pytest_runcoord.rendering import NARROWEST, FailureText, ScenarioFailed
from pytest_runcoord.tally import KNOWN, KNOWN_IS
from pytest_runcoord.verdict import RunResult, Verdict


class KnownFailed(ScenarioFailed):
    """A scenario failed as the project's table says that it does."""


class Item(Protocol):
    """What is needed of the test."""

    user_properties: list[tuple[str, object]]

    def add_marker(self, marker: pytest.MarkDecorator) -> None: ...

    def text_of(self, result: RunResult) -> FailureText: ...

    def text_at_scenario(self, message: str, verdict: Sequence[str]) -> FailureText: ...


def judge_known(item: Any, entry: KnownFailure, known: KnownFailures, result: RunResult, width: int) -> None:
    """Say what the entry came to; raises if it makes any difference to how the test ends."""
    test: Item = item
    judgement = judged(entry, known.standing(entry), result)
    test.user_properties += [(KNOWN, key_of(entry)), (KNOWN_IS, judgement.known.value)]
    if judgement.known is Known.EXPECTED:
        test.add_marker(pytest.mark.xfail(raises=KnownFailed, strict=True, reason=judgement.note))
        raise KnownFailed(test.text_of(result))
    wrapped = textwrap.wrap(judgement.note, max(NARROWEST, width) - 4, break_on_hyphens=False)
    if judgement.fails:
        raise ScenarioFailed(test.text_at_scenario("passes, and is listed as a known failure", wrapped))
    if result.verdict in (Verdict.FAILED, Verdict.UNKNOWN):
        text = test.text_of(result)
        raise ScenarioFailed(replace(text, verdict=[*text.verdict, "", *wrapped]))
