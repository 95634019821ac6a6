"""What is said of a fault: red, green, never met, not to be judged, or not to be put in."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import pytest

from bite.scenarios_tried import (
    BLIND,
    FOR_RENEWALS,
    TOOTHLESS,
    named,
    shipped,
    shipped_trials,
    trials_of,
)
from pytest_runcoord.bite import Asked, Boundary, BoundaryFault, fault, trying
from pytest_runcoord.bite.choosing import for_fault
from pytest_runcoord.bite.faults import FAULTS
from pytest_runcoord.bite.trying import Bitten
from pytest_runcoord.reference import Reference
from pytest_runcoord.subject import Answer, Subject

LATE, GUESSED = named("late-renewal-accepted"), named("destination-guessed")
DIED_AT_WORK = """\
    steps:
      - open: gw1
      - submit: {run: r1}
      - claim: {run: r1}
      - start: {run: r1}
      - crash: gw1
"""
RED_ANYWAY = FOR_RENEWALS.replace("lease-expired", "lease-held")


def test_a_scenario_that_turns_red_by_the_fault_is_named_with_what_and_where() -> None:
    bite = trials_of(TOOTHLESS, FOR_RENEWALS).bite(LATE)
    assert (bite.verdict, bite.by) == (Bitten.RED, "live-lease-kept")
    assert bite.variant == "tried2.runcoord.yaml::tried::default"
    assert bite.failure is not None
    assert (bite.failure.path, bite.failure.line) == ("tried2.runcoord.yaml", 9)


def test_trying_stops_at_the_first_red() -> None:
    bite = trials_of(FOR_RENEWALS, FOR_RENEWALS, FOR_RENEWALS).bite(LATE)
    assert (bite.verdict, bite.tried, bite.of) == (Bitten.RED, 1, 3)


def test_a_fault_that_is_met_and_seen_by_nobody_is_green_and_says_who_met_it() -> None:
    bite = trials_of(TOOTHLESS, BLIND).bite(GUESSED)
    assert bite.verdict is Bitten.GREEN
    assert bite.reason.startswith("the gate stays green: 1 variant met the fault")
    assert bite.met == ["tried2.runcoord.yaml::nothing-much::default"]
    assert bite.tried == bite.of == 1, "the other one has no destinations"


def test_a_fault_that_no_scenario_meets_is_not_called_green() -> None:
    bite = trials_of(TOOTHLESS).bite(LATE)
    assert bite.verdict is Bitten.NEVER_MET
    assert bite.reason.startswith("no scenario gave it occasion")
    assert not bite.met


def test_a_variant_that_is_red_without_the_fault_does_not_count() -> None:
    bite = trials_of(RED_ANYWAY).bite(LATE)
    assert (bite.verdict, bite.red_before) == (Bitten.NO_GREEN_VARIANT, 1)
    assert "red without the fault" in bite.reason
    assert trials_of(RED_ANYWAY, FOR_RENEWALS).bite(LATE).verdict is Bitten.RED


def test_a_fault_for_what_the_subject_lacks_is_skipped_by_name() -> None:
    needy = BoundaryFault(
        "needy", "It needs much.", frozenset({"runs", "teleport", "levitation"}), _unwrapped
    )
    bite = trials_of(TOOTHLESS).bite(needy)
    assert (bite.verdict, bite.tried) == (Bitten.SKIPPED, 0)
    assert bite.reason == "runcoord lacks levitation, teleport"


def test_a_sweep_that_does_nothing_is_seen_where_nothing_is_expected() -> None:
    bite = trials_of(DIED_AT_WORK).bite(named("recovery-does-nothing"))
    assert (bite.verdict, bite.by) == (Bitten.RED, "converges")


class _Raises(Boundary):
    def call(self, asked: Asked) -> Answer:
        self.meet()
        raise ZeroDivisionError(asked.verb)


def test_a_fault_on_which_the_subject_only_fails_is_no_bite() -> None:
    raises = fault("raises", "It raises.", _Raises, caught_by="run")
    bite = trials_of(FOR_RENEWALS).bite(raises)
    assert bite.verdict is not Bitten.RED
    assert list(bite.broke) == ["tried1.runcoord.yaml::tried::default"]
    assert "in 1 the subject failed on it" in bite.reason
    assert "raised ZeroDivisionError" in bite.broke["tried1.runcoord.yaml::tried::default"]


class _Unmet(Boundary):
    """Changes an answer, and does not say so."""

    def call(self, asked: Asked) -> Answer:
        return Answer({"run": "r1"}) if asked.verb == "renew" else asked.go()


def test_a_variant_that_turns_red_though_the_fault_was_not_met_is_no_bite() -> None:
    unmet = fault("unmet", "It does not count.", _Unmet, caught_by="refused")
    bite = trials_of(FOR_RENEWALS).bite(unmet)
    assert bite.verdict is Bitten.NEVER_MET
    assert list(bite.broke) == ["tried1.runcoord.yaml::tried::default"]


class _ByHand:
    """A subject around another one that counts nothing."""

    accepted: ClassVar[Answer] = Answer({"run": "r1", "epoch": 1})

    def __init__(self, inner: Subject) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def open(self, owner: str, world: object) -> object:
        session = self._inner.open(owner, world)  # type: ignore[arg-type]
        session.renew = lambda lease: self.accepted  # type: ignore[attr-defined]
        return session


def test_a_fault_that_does_not_count_what_it_meets_can_be_red() -> None:
    by_hand = BoundaryFault("by-hand", "Renews all.", frozenset({"runs"}), _ByHand)  # type: ignore[arg-type]
    assert trials_of(FOR_RENEWALS).bite(by_hand).verdict is Bitten.RED
    assert trials_of(TOOTHLESS).bite(by_hand).verdict is Bitten.NEVER_MET


def test_progress_is_told_after_each_variant_that_stays_green() -> None:
    told: list[int] = []
    three = trials_of(*[BLIND] * 3)
    three.bite(GUESSED, lambda bite: told.append(bite.tried))
    assert told == [1, 2, 3]


def test_variants_with_the_words_of_a_fault_come_first_and_only_those_that_can_run() -> None:
    able = frozenset(Reference.capabilities) - {"epochs"}
    chosen = for_fault(LATE, able, shipped())
    assert "renew" in chosen[0].words
    assert all("epochs" not in each.scenario.needs for each in chosen)
    assert len(chosen) < len(shipped())
    firsts = [each.another for each in chosen]
    assert firsts == sorted(firsts), "other variants of a scenario come after the first ones of all"


def test_a_scenario_without_any_word_in_which_a_fault_shows_is_not_tried() -> None:
    asks = fault("asks", "It asks.", Boundary, shows_in="renew reacquire", caught_by="run")
    bite = trials_of(TOOTHLESS, FOR_RENEWALS).bite(asks)
    assert (bite.verdict, bite.tried, bite.of) == (Bitten.NEVER_MET, 1, 1)
    none = trials_of(TOOTHLESS).bite(asks)
    assert (none.verdict, none.tried) == (Bitten.NEVER_MET, 0)
    assert none.reason.endswith("none that runs on this subject uses any of: reacquire, renew")


def test_a_scenario_with_words_of_somebody_else_is_tried_whatever_they_are() -> None:
    [shipped_one] = trials_of(TOOTHLESS).candidates
    own = replace(shipped_one, own=True)
    asks = fault("asks", "It asks.", Boundary, shows_in="renew", caught_by="run")
    assert for_fault(asks, Reference.capabilities, [shipped_one, own]) == [own]


def test_no_shipped_scenario_that_meets_a_fault_lacks_the_words_that_it_shows_in() -> None:
    """A sample: those that the fault would be tried on first, were any scenario possible."""
    for each in FAULTS[::6]:
        anywhere = replace(each, shows_in=frozenset())
        for candidate in for_fault(anywhere, Reference.capabilities, shipped())[:12]:
            _, met = shipped_trials().with_fault(candidate, each)
            assert not (met and each.shows_in and not each.shows_in & candidate.words), candidate.name


def test_only_the_tier_in_this_process_is_tried() -> None:
    assert {each.variant.choices.get("tier", "sim") for each in shipped()} == {"sim"}


def _unwrapped(subject: Subject) -> Subject:
    return subject


def test_what_there_was_no_time_for_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trying, "MOST_SECONDS", -1.0)
    bite = trials_of(FOR_RENEWALS, FOR_RENEWALS).bite(LATE)
    assert (bite.verdict, bite.tried, bite.of) == (Bitten.NEVER_MET, 0, 2)
    assert "2 were not tried" in bite.reason


def test_a_fault_that_gives_no_subject_cannot_be_put_in() -> None:
    gives_none = BoundaryFault("none", "It.", frozenset(), lambda subject: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(trying.CannotBePutIn, match="gave None, which is no subject: it has no name"):
        trials_of(TOOTHLESS).bite(gives_none)
