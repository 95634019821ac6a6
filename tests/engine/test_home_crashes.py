"""Whatever effect of an import its owner dies at, the next owner brings everything to the same end."""

from __future__ import annotations

import pytest

from engine.running import run
from pytest_runcoord.verdict import FailureKind

STORY = """
given: {destinations: {chat: accepts}}
steps:
  - folder: {run: r1, result: one}
  - folder: r2
  - folder: {run: r3, is: torn}
  - folder: {run: r4, started: 11d, updated: 11d}
  - tombstone: {run: r4, died: 10d}
  - open: {owner: gw1, imports: {to: chat, prune_after: 7d}}
BEFORE  - STEP
  - open: {owner: gw2, imports: {to: chat, prune_after: 7d}}
  - startup: {by: gw2}
  - advance: 3m
expect:
  - delivered: {run: r1, to: chat, count: 1}
  - delivered: {run: r2, to: chat, count: 1}
  - folder: {run: r1, tombstone: true}
  - folder: {run: r2, tombstone: true}
  - folder: {run: r4, there: false}
  - refused_folders: [r3]
  - runs: 3
"""
KNOWN = "  - import: {by: gw1, to: chat}\n  - deliver: {by: gw1}\n"
DYING = {
    "the first import": ("", "import: {by: gw1, to: chat, crash_at: {effect: NUMBER}}"),
    "tombstones and pruning": (
        KNOWN,
        "import: {by: gw1, to: chat, prune_after: 7d, crash_at: {effect: NUMBER}}",
    ),
    "a sweep": ("", "recover: {by: gw1, crash_at: {effect: NUMBER}}"),
}
SOME = 5
"""Each time every fifth effect; all of them in the soak."""
MOST_EFFECTS = 500
"""Effects of one step; far more than there are."""


def _last_effect(before: str, step: str, every: int) -> int:
    """Die at effect after effect until there is none; gives the number of those that there were."""
    for number in range(1, MOST_EFFECTS, every):
        story = STORY.replace("BEFORE", before).replace("STEP", step).replace("NUMBER", str(number))
        failure = run(story).failure
        if failure is not None:
            assert failure.kind is FailureKind.MOMENT, (number, failure)
            return number - 1
    raise AssertionError(f"a step with more than {MOST_EFFECTS} effects")


@pytest.mark.parametrize("what", DYING)
def test_a_death_at_some_effects_of_an_import_changes_nothing_of_the_end(what: str) -> None:
    assert _last_effect(*DYING[what], SOME) > SOME


@pytest.mark.soak
@pytest.mark.parametrize("what", DYING)
def test_a_death_at_any_effect_of_an_import_changes_nothing_of_the_end(what: str) -> None:
    assert _last_effect(*DYING[what], 1) > 20
