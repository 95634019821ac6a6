"""Defects in what may be done with a run before its work has begun, and not after."""

from __future__ import annotations

from dataclasses import replace

from defects.catalogue import Defect
from defects.rules import Broken, Rule, broken_rule
from runcoord._core import requests as ask
from runcoord._core.decide import Decision
from runcoord._core.model import Instant, Run, State


def _begun_work_is_given_back(right: Rule, run: Run, asked: ask.Release, now: Instant) -> Decision:
    return right(replace(run, state=State.CLAIMED), asked, now)


def _its_owner_is_given_it_again(right: Rule, run: Run, asked: ask.Claim, now: Instant) -> Decision:
    mine = run.state is State.RUNNING and run.owner == asked.owner
    return right(replace(run, state=State.CLAIMED) if mine else run, asked, now)


def _ends_well_without_beginning(right: Rule, run: Run, asked: ask.Complete, now: Instant) -> Decision:
    return right(replace(run, state=State.RUNNING) if run.state is State.CLAIMED else run, asked, now)


def _tells_of_work_that_has_not_begun(right: Rule, run: Run, asked: ask.Progress, now: Instant) -> Decision:
    decision = right(replace(run, state=State.RUNNING), asked, now)
    return replace(decision, run=replace(decision.run, state=run.state))


def _every_note_is_the_first(right: Rule, run: Run, asked: ask.Publish, now: Instant) -> Decision:
    return right(replace(run, notes=0), asked, now)


def _defect(name: str, caught_by: str, request: type, broken: Broken, says: str) -> Defect:
    return Defect(
        "recovery-never-re-executes",
        says,
        caught_by,
        broken_rule(request, broken),
        name=name,
        scenario="begun-work-is-not-handed-back",
    )


DEFECTS = [
    _defect(
        "given-back",
        "starts-once",
        ask.Release,
        _begun_work_is_given_back,
        "Work that has begun is given back, and the next one does it again.",
    ),
    _defect(
        "given-again",
        "starts-once",
        ask.Claim,
        _its_owner_is_given_it_again,
        "Whoever has begun a run may claim it again, and begins it a second time.",
    ),
    _defect(
        "never-begun",
        "refused",
        ask.Complete,
        _ends_well_without_beginning,
        "A run whose work never began is completed.",
    ),
    _defect(
        "told-early",
        "refused",
        ask.Progress,
        _tells_of_work_that_has_not_begun,
        "There is progress of work that has not begun.",
    ),
    _defect(
        "same-number",
        "publish",
        ask.Publish,
        _every_note_is_the_first,
        "Every event of a run gets the same id, so only the first is kept.",
    ),
]
