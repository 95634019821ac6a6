"""Every boundary fault that is shipped turns the shipped scenarios red, by what one would name."""

from __future__ import annotations

import pytest

from bite.scenarios_tried import shipped_trials
from pytest_runcoord.bite.fault import BoundaryFault
from pytest_runcoord.bite.faults import AREAS, FAULTS
from pytest_runcoord.bite.registry import FIT
from pytest_runcoord.bite.trying import Bitten
from pytest_runcoord.invariants import WATCHED
from pytest_runcoord.subject import CAPABILITIES
from pytest_runcoord.verbs import default_registry

#: Fault: what turns red on it. With several, which one depends on the scenario that is tried first.
TURNS_RED = {
    "accepted-run-lost": {"nothing-lost"},
    "submission-accepted-twice": {"answer", "runs"},
    "outcome-changed": {"one-outcome"},
    "two-outcomes": {"one-outcome"},
    "ended-without-event": {"one-outcome", "result-kept"},
    "result-dropped": {"result-kept"},
    "error-text-dropped": {"result-kept"},
    "retry-loses-inputs": {"nothing-lost"},
    "late-completion-unmarked": {"run", "answer"},
    "field-over-its-limit": {"bounded-and-clean"},
    "stop-ignored": {"stop-wins"},
    "stop-reported-as-interruption": {"stop-wins"},
    "submission-not-stored": {"nothing-lost"},
    "completion-not-stored": {"nothing-lost"},
    "renewal-not-stored": {"live-lease-kept"},
    "release-not-stored": {"stale-owner-refused", "run", "claim", "refused"},
    "progress-not-stored": {"run", "stale-owner-refused"},
    "stale-completion-accepted": {"stale-owner-refused"},
    "stale-renewal-accepted": {"stale-owner-refused"},
    "stale-progress-accepted": {"stale-owner-refused"},
    "stale-start-accepted": {"stale-owner-refused"},
    "live-lease-stolen": {"live-lease-kept"},
    "finished-run-claimed-again": {"one-outcome"},
    "epoch-does-not-rise": {"epoch-rises"},
    "epoch-falls": {"epoch-rises"},
    "waiting-run-passed-over": {"answer", "run", "converges"},
    "late-renewal-accepted": {"live-lease-kept"},
    "owner-not-told": {"owner-told"},
    "opening-takes-work": {"nothing-unasked"},
    "opening-writes": {"nothing-unasked"},
    "recovery-does-nothing": {"answer", "run", "delivered", "converges"},
    "recovery-claims-to-have-worked": {"answer", "run", "delivered", "converges"},
    "started-run-handed-out-again": {"starts-once"},
    "bad-row-stops-the-sweep": {"one-bad-apple"},
    "sweep-in-silence": {"no-silent-zero"},
    "idle-sweep-writes": {"idle-is-free"},
    "work-grows-with-what-exists": {"work-in-proportion"},
    "reading-writes": {"nothing-unasked"},
    "delivered-twice": {"acknowledged-stays"},
    "acknowledged-without-acceptance": {"delivered-to-someone"},
    "event-lost": {"delivered-to-someone"},
    "copies-differ": {"same-event-same-bytes"},
    "refusal-tried-again": {"replay", "event", "delivered"},
    "one-destination-blocks-all": {"answer", "event", "delivered"},
    "destination-guessed": {"event", "delivered"},
    "stale-acknowledgement-accepted": {"refused"},
    "group-miscounted": {"group-adds-up"},
    "operator-not-told": {"held-is-told"},
    "stranger-signalled": {"no-stranger-signalled"},
    "other-run-signalled": {"nothing-of-others"},
    "signal-without-audit": {"audit-before-signal"},
    "audit-left-open": {"audit-before-signal"},
    "orphan-left": {"outcome-after-quiescence", "no-orphan-left"},
    "survivor-unnamed": {"outcome-after-quiescence", "no-orphan-left"},
    "survivor-forgotten": {"no-orphan-left"},
    "outcome-before-quiescence": {"outcome-after-quiescence"},
    "depth-gate-open": {"depth-closed"},
    "git-left-bare": {"caller-git-usable"},
    "source-folder-touched": {"source-untouched"},
    "written-through-a-link": {"inside-the-root"},
    "secret-not-redacted": {"bounded-and-clean"},
    "bad-folder-in-silence": {"no-silent-zero"},
    "import-changes-others": {"import-only-adds"},
    "folder-left-open": {"descriptors-closed-once"},
}


@pytest.mark.parametrize("fault", FAULTS, ids=[each.name for each in FAULTS])
def test_a_fault_turns_a_shipped_scenario_red_by_what_one_would_name(fault: BoundaryFault) -> None:
    bite = shipped_trials().bite(fault)
    assert bite.verdict is Bitten.RED, bite.reason
    assert bite.by in TURNS_RED[fault.name], f"{bite.failure}"


def test_every_fault_is_in_the_table_and_says_the_same_itself() -> None:
    assert TURNS_RED.keys() == {each.name for each in FAULTS}
    for fault in FAULTS:
        assert TURNS_RED[fault.name] <= set(fault.caught_by), fault.name


def test_every_invariant_is_what_some_fault_is_to_turn_red() -> None:
    assert {each.id for each in WATCHED} <= {by for fault in FAULTS for by in fault.caught_by}


def test_what_a_fault_names_is_there() -> None:
    registry = default_registry()
    known = {each.id for each in WATCHED} | set(registry.expectations) | set(registry.steps) | {"refused"}
    for fault in FAULTS:
        assert fault.needs <= CAPABILITIES.keys(), fault.name
        assert set(fault.caught_by) <= known, fault.name
        assert FIT.match(fault.name), fault.name
        assert fault.says.endswith("."), fault.name
    assert len({each.name for each in FAULTS}) == len(FAULTS) == sum(map(len, AREAS.values()))
