"""What a scenario leaves to the garbage collector is collected with its end; nothing else changes for it."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from engine.running import compiled, run
from pytest_runcoord.garbage import YOUNG_OBJECTS
from pytest_runcoord.reference import Reference, ReferenceSession
from pytest_runcoord.runner import run_variant
from pytest_runcoord.scenario import variants
from pytest_runcoord.subject import SubjectWorld
from pytest_runcoord.verdict import RunResult, Verdict
from pytest_runcoord.world import World

SCENARIO = "steps:\n- open: gw1\n- submit: {run: r1}\naxes: {store: [memory]}"
LIVELY = (700, 10, 10)


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
    """Those of CPython 3.11, whatever others set; put back afterwards."""
    enabled, before = gc.isenabled(), gc.get_threshold()
    gc.enable()
    gc.set_threshold(*LIVELY)
    yield
    gc.set_threshold(*before)
    if not enabled:
        gc.disable()


class Watching(Reference):
    """Notes the thresholds with which it is opened, and sets ``own`` if there are any."""

    def __init__(self, own: tuple[int, int, int] | None = None) -> None:
        super().__init__("memory")
        self.seen: list[tuple[int, int, int]] = []
        self._own = own

    def open(self, owner: str, world: SubjectWorld) -> ReferenceSession:
        self.seen.append(gc.get_threshold())
        if self._own is not None:
            gc.set_threshold(*self._own)
        return super().open(owner, world)


def run_on(subject: Reference) -> RunResult:
    scenario = compiled(SCENARIO.partition("\naxes")[0])  # a subject keeps its own store
    return run_variant(scenario, variants(scenario)[0], subject=subject)


def worlds() -> int:
    return sum(type(each) is World for each in gc.get_objects())


def test_no_world_is_left_when_the_result_is_there() -> None:
    gc.collect()
    before = worlds()
    results = [run(SCENARIO) for _ in range(3)]
    assert [each.verdict for each in results] == [Verdict.PASSED] * 3
    assert worlds() == before


def test_the_collector_waits_while_a_scenario_runs_and_is_as_before_afterwards() -> None:
    subject = Watching()
    assert run_on(subject).verdict is Verdict.PASSED
    assert subject.seen[0] == (YOUNG_OBJECTS, *LIVELY[1:])
    assert gc.get_threshold() == LIVELY


def test_a_scenario_that_fails_leaves_the_collector_as_it_was() -> None:
    assert run("steps:\n- open: gw1\n- open: gw1").verdict is Verdict.FAILED
    assert gc.get_threshold() == LIVELY


def test_higher_thresholds_and_none_are_kept() -> None:
    for chosen in ((YOUNG_OBJECTS * 5, 3, 4), (0, 3, 4)):
        gc.set_threshold(*chosen)
        subject = Watching()
        run_on(subject)
        assert subject.seen[0] == chosen
        assert gc.get_threshold() == chosen


def test_thresholds_that_a_subject_sets_are_kept() -> None:
    run_on(Watching(own=(900, 8, 7)))
    assert gc.get_threshold() == (900, 8, 7)


def test_a_collector_that_is_switched_off_is_left_alone() -> None:
    gc.disable()
    collections = [each["collections"] for each in gc.get_stats()]
    subject = Watching()
    assert run_on(subject).verdict is Verdict.PASSED
    assert subject.seen[0] == LIVELY
    assert not gc.isenabled()
    assert [each["collections"] for each in gc.get_stats()] == collections
