"""Comparing two things on a noisy machine: interleaved rounds, the median of the ratios within a round."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ratio:
    """``subject`` took ``ratio`` times as long as ``baseline``; times in seconds, medians."""

    name: str
    subject: float
    baseline: float
    ratio: float
    lowest: float
    highest: float
    goal: float

    def __str__(self) -> str:
        verdict = "within" if self.ratio <= self.goal else "OVER"
        return (
            f"{self.name:<52} {self.ratio:6.2f}x ({self.lowest:.2f} to {self.highest:.2f})  "
            f"{self.subject * 1e3:9.2f} ms against {self.baseline * 1e3:9.2f} ms   "
            f"goal {self.goal:g}x: {verdict}"
        )


def compare(
    name: str,
    subject: Callable[[], float],
    baseline: Callable[[], float],
    *,
    goal: float,
    rounds: int = 7,
) -> Ratio:
    """Each callable does its work once and gives the seconds it took, set-up left out."""
    pairs = []
    for number in range(rounds + 1):
        first, second = (subject, baseline) if number % 2 else (baseline, subject)
        a, b = first(), second()
        mine, base = (a, b) if number % 2 else (b, a)
        if number:  # the first round warms caches up
            pairs.append((mine, base))
    ratios = [mine / base for mine, base in pairs]
    return Ratio(
        name,
        statistics.median(mine for mine, _ in pairs),
        statistics.median(base for _, base in pairs),
        statistics.median(ratios),
        min(ratios),
        max(ratios),
        goal,
    )


def timed(work: Callable[[], object]) -> float:
    """Seconds that ``work`` takes, with the garbage collector out of the way."""
    gc.collect()
    gc.disable()
    try:
        began = time.perf_counter()
        work()
        return time.perf_counter() - began
    finally:
        gc.enable()
