"""A simulated crash is worth what a killed process is: the same durable state at every effect."""

from __future__ import annotations

import pytest

from engine.running import run_all
from pytest_runcoord.verdict import Verdict


def story(step: int, effect: int) -> str:
    """A run's life whose step number ``step`` crashes at its effect number ``effect``; then a restart."""
    steps = [
        "submit: {run: r1, destination: chat, by: gw1%s}",
        "claim: {run: r1, by: gw1%s}",
        "start: {run: r1, by: gw1%s}",
        "complete: {run: r1, by: gw1, result: done%s}",
        "deliver: {by: gw1%s}",
    ]
    lines = [line % "" for line in steps[:step]] + [steps[step] % f", crash_at: {{effect: {effect}}}"]
    body = "\n".join(f"  - {line}" for line in ["open: gw1", *lines])
    return (
        "given:\n  destinations: {chat: accepts}\nsteps:\n"
        + body
        + "\n  - restart: gw1\n  - submit: {run: r1, destination: chat}\n  - advance: 91s\n  - recover\n"
        + "expect:\n  - runs: 1\naxes: {tier: [sim, real]}\n"
    )


POINTS = [(step, effect) for step in range(4) for effect in range(1, 5)] + [
    (4, effect) for effect in (1, 2, 3, 4, 5, 6)
]
"""Each writing verb has four effects: before it, before its commit, after any commit, after it. A delivery
has the dispatch, the destination and the acknowledgement."""
QUICK = [(0, 3), (2, 2), (3, 4), (4, 3)]


def agree(step: int, effect: int) -> None:
    simulated, real = run_all(story(step, effect))
    assert simulated.verdict is Verdict.PASSED, simulated.failure
    assert real.verdict is Verdict.PASSED, real.failure
    assert simulated.moments == real.moments
    assert simulated.exercised == real.exercised


@pytest.mark.parametrize(("step", "effect"), QUICK)
def test_a_fenced_crash_leaves_what_a_killed_process_leaves(step: int, effect: int) -> None:
    agree(step, effect)


@pytest.mark.soak
@pytest.mark.parametrize(("step", "effect"), POINTS)
def test_a_fenced_crash_agrees_with_a_killed_process_at_every_effect(step: int, effect: int) -> None:
    agree(step, effect)
