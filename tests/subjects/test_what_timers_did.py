"""What a timer of a subject changed is in the history, although nothing announces it."""

from __future__ import annotations

import sqlite3
from typing import Any

from engine.running import run
from pytest_runcoord.picture import Picture
from pytest_runcoord.picture.text import LEGEND_OF_RENEWALS, timeline
from pytest_runcoord.verdict import Line, RunResult, Verdict
from subjects.async_toy import AsyncToySubject
from subjects.toy import ToySession, ToySubject
from subjects.trying import tried

BEATING = """
    steps:
      - open: w1
      - submit: {run: r1}
      - claim: {run: r1, as: job}
      - advance: 50s
      - crash: w1
      - advance: 40s
      - open: w2
      - claim: {run: r1, by: w2, as: again}
    heal: none
"""
"""Fails in its last step: the lease that was renewed at 30 s holds until 120 s."""


def ticks(result: RunResult) -> list[Line]:
    return [line for line in result.history if line.what.endswith(" ticks")]


def failed(body: str, subject: Any) -> RunResult:
    result = tried(body, subject)
    assert result.verdict is Verdict.FAILED
    return result


def test_a_renewal_of_a_task_in_the_background_is_told_with_the_time_until_which_it_holds() -> None:
    [line] = ticks(failed(BEATING, AsyncToySubject()))
    assert (line.actor, line.what, line.step) == ("w1", "loop ticks", 8)
    assert line.detail == "changed=lease of r1 until 120"
    assert 30.0 <= line.at.monotonic < 31.0


def test_a_renewal_is_a_row_and_a_notch_in_the_lease() -> None:
    picture = failed(BEATING, AsyncToySubject()).picture
    assert isinstance(picture, Picture)
    [row] = [place for place, row in enumerate(picture.rows) if row.text == "loop: lease of r1 until 120"]
    [lease] = picture.leases
    assert lease.renewals == (row,)
    assert picture.lanes[picture.rows[row].lane].name == "w1"


def test_the_timeline_in_the_terminal_shows_the_notch_and_says_what_it_is() -> None:
    picture = failed(BEATING, AsyncToySubject()).picture
    assert isinstance(picture, Picture)
    lines = timeline(picture, 100)
    [renewed] = [line for line in lines if "lease of r1 until 120" in line]
    assert "○┣" in renewed
    assert lines[-1] == LEGEND_OF_RENEWALS


class Sweeping(ToySession):
    """A timer of its own, every ten seconds: what ran out is put back, and then nothing is left to do."""

    due = 10.0

    def timers(self) -> list[tuple[str, Any]]:
        return [("sweep", self)]

    def next_due(self) -> float:
        self.began = getattr(self, "began", self.world.clock.boottime())
        return self.began + self.due

    def tick(self) -> None:
        self.due += 10.0
        db = sqlite3.connect(self.world.directory / "toy.db", isolation_level=None)
        db.execute(
            "UPDATE jobs SET state = 'waiting', owner = '' WHERE state = 'taken' AND until <= ?",
            (self.world.clock.wall(),),
        )
        db.close()


class SweepingSubject(ToySubject):
    session = Sweeping


SWEPT = """
    steps:
      - open: w1
      - submit: {run: r1}
      - claim: {run: r1, lease: 15s, as: job}
      - advance: 1m
      - complete: {with: job}
    heal: none
"""


def test_a_tick_that_changed_nothing_is_not_told() -> None:
    [line] = ticks(failed(SWEPT, SweepingSubject()))
    assert (line.what, line.detail) == ("sweep ticks", "changed=r1 held by nobody (epoch 1)")
    assert round(line.at.monotonic) == 20


def test_what_the_verb_under_way_wrote_is_not_told_as_the_doing_of_a_timer_meanwhile() -> None:
    class Slow(Sweeping):
        def submit(self, run: str) -> None:
            super().submit(run)
            self.world.sleeper.sleep(30.0)

    body = """
    steps:
      - open: w1
      - submit: {run: r1}
      - claim: {run: r1, refused: lease-held}
    heal: none
    """
    result = failed(body, type("Subject", (ToySubject,), {"session": Slow})())
    assert ticks(result) == []


def test_of_a_subject_that_announces_its_writes_nothing_is_told_beside() -> None:
    result = run(BEATING.replace("claim: {run: r1, as: job}", "execute: {run: r1, as: job}"))
    assert result.verdict is Verdict.FAILED
    assert "after-renew" in result.moments
    assert ticks(result) == []
