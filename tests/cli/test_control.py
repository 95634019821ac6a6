"""``runcoord stop`` and ``runcoord recover``."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cli.planting import Garden
from cli.shell import Shell, unchanged
from runcoord import Lease, SweepReport
from runcoord.cli.control import sweep_lines
from runcoord.testing import ManualClock, ManualSleeper

# --- stopping ---


@pytest.mark.parametrize("begun", ["accepted", "claimed"])
def test_work_that_has_not_begun_is_stopped_at_once(garden: Garden, shell: Shell, begun: str) -> None:
    getattr(garden, begun)("r")
    answer = shell("stop", "r", "--reason", "not needed")
    assert (answer.code, answer.out, answer.err) == (0, "r ended: stopped.\n", "")
    run = garden.coordinator.run("r")
    assert (run.outcome, run.stop_reason) == ("stopped", "not needed")


def test_work_under_way_has_yet_to_notice_and_the_code_says_so(garden: Garden, shell: Shell) -> None:
    garden.running("r")
    answer = shell("stop", "r")
    assert answer.code == 5
    assert answer.out.splitlines() == [
        "r is asked to stop; its work has yet to notice.",
        "If its owner is gone, recovery ends it: at once if that can be proved, or in 1m30s.",
    ]
    assert shell("stop", "r", "--json").document == {
        "run": "r",
        "state": "running",
        "outcome": None,
        "noticed": False,
    }


def test_a_stop_of_work_whose_lease_ran_out_says_what_to_do(garden: Garden, shell: Shell) -> None:
    garden.running("r")
    garden.clock.advance(180)
    answer = shell("stop", "r")
    assert answer.code == 5
    assert "Its lease ran out 1m ago; if its owner is gone: runcoord recover." in answer.out


def test_the_outcome_of_a_finished_run_stands_and_is_the_answer(garden: Garden, shell: Shell) -> None:
    garden.finished("r")
    with unchanged(garden.path):
        answer = shell("stop", "r")
        document = shell("stop", "r", "--json").document
    assert (answer.code, answer.out) == (0, "r had ended before: completed. That stands.\n")
    assert document == {"run": "r", "state": "finished", "outcome": "completed", "noticed": True}


def test_a_stop_of_an_unknown_run_is_refused_and_changes_nothing(garden: Garden, shell: Shell) -> None:
    garden.everything()
    with unchanged(garden.path):
        answer = shell("stop", "nobody", "--json")
    assert (answer.code, answer.out, answer.error["code"]) == (1, "", "unknown-run")
    assert answer.error["happened"] == "no"


class Noticing(ManualSleeper):
    """Waits on the test's clock; in the third wait the work notices the stop and ends."""

    def __init__(self, garden: Garden, lease: Lease) -> None:
        super().__init__(garden.clock)
        self._garden, self._lease, self.waits = garden, lease, 0

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.waits += 1
        if self.waits == 3:
            self._garden.coordinator.complete(self._lease, "completed")


def test_a_waiting_stop_ends_as_soon_as_the_work_has_noticed(garden: Garden, shell: Shell) -> None:
    sleeper = Noticing(garden, garden.running("r"))
    assert shell.ports is not None
    shell.ports = replace(shell.ports, sleeper=sleeper)
    answer = shell("stop", "r", "--wait", "60")
    assert (answer.code, answer.out) == (0, "r ended: stopped.\n")
    assert sleeper.waits == 3
    assert sleeper.slept < 2


def test_a_waiting_stop_ends_when_the_time_is_up(garden: Garden, shell: Shell, clock: ManualClock) -> None:
    garden.running("r")
    began = clock.boottime()
    answer = shell("stop", "r", "--wait", "60", "--json")
    assert (answer.code, answer.document["noticed"]) == (5, False)
    assert clock.boottime() == began + 60


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1", "86401", "soon", ""])
def test_a_wait_that_is_no_bounded_time_is_refused_and_changes_nothing(
    garden: Garden, shell: Shell, seconds: str
) -> None:
    garden.everything()
    with unchanged(garden.path):
        answer = shell("stop", "stopping", "--wait", seconds)
    assert (answer.code, answer.out) == (2, "")
    assert "--wait" in answer.err


# --- recovering ---


def test_a_sweep_with_nothing_to_do_says_that_it_looked_and_changes_nothing(
    garden: Garden, shell: Shell
) -> None:
    garden.running("r")
    with unchanged(garden.path):
        answer = shell("recover")
    assert answer.code == 0
    assert answer.out.splitlines() == [
        "Looked at every run whose owner is gone or whose lease ran out: nothing to recover.",
        "No event waits to be delivered.",
    ]


def test_what_a_sweep_did_about_dead_owners_and_their_processes_is_told() -> None:
    report = SweepReport(
        recovered=1,
        given_back=2,
        redelivered=1,
        killed=3,
        survived=1,
        cleanup_deferred=2,
        unaudited=1,
    )
    assert sweep_lines(report, 0, False) == [
        "1 run ended as its command had ended by itself",
        "2 runs given back by an owner that is gone, to be claimed again",
        "1 delivery under way begun anew",
        "3 processes left running ended",
        "1 run with processes that may be alive: see runcoord show RUN",
        "2 runs with processes that cannot be dealt with now: tried again later",
        "1 run of which nobody was signalled: what was intended could not be written down",
        "No event waits to be delivered.",
    ]


def test_a_sweep_ends_what_nobody_owns_and_leaves_its_events_to_others(garden: Garden, shell: Shell) -> None:
    for name in ("a", "b"):
        garden.running(name, interruption_budget=1)
    garden.coordinator.stop(garden.running("c").run_id)
    garden.clock.advance(100)
    answer = shell("recover")
    assert answer.code == 0
    assert answer.out.splitlines() == [
        "2 runs ended as interrupted",
        "1 run ended as stopped",
        "2 runs retried automatically, as a new run",
        "3 events stay pending: this process serves no destinations; one that does will send.",
    ]
    assert [event.state for event in garden.coordinator.events().events] == ["pending"] * 3


def test_the_report_is_a_document_with_every_count(garden: Garden, shell: Shell) -> None:
    garden.running("r")
    garden.clock.advance(100)
    assert shell("recover", "--json").document == {
        "interrupted": 1,
        "stopped": 0,
        "retried": 0,
        "recovered": 0,
        "capped": 0,
        "proved_dead": 0,
        "given_back": 0,
        "redelivered": 0,
        "cleaned": 0,
        "killed": 0,
        "cleanup_deferred": 0,
        "survived": 0,
        "unaudited": 0,
        "pruned": 0,
        "pruned_summaries": 0,
        "digest": False,
        "imports": [],
        "unfinished": False,
        "bad": [],
        "bad_count": 0,
        "serves_destinations": False,
        "events_waiting": 1,
        "events_waiting_more": False,
    }


def test_a_sweep_recovers_the_others_and_names_the_rows_that_it_left(garden: Garden, shell: Shell) -> None:
    for name in ("a", "b", "c"):
        garden.running(name)
    garden.sql("UPDATE runs SET owner = '' WHERE run_id = 'b'")
    garden.clock.advance(100)
    answer = shell("recover", "--json")
    assert answer.code == 5
    assert (answer.document["interrupted"], answer.document["bad_count"]) == (2, 1)
    assert [row["key"] for row in answer.document["bad"]] == ["b"]
    assert answer.error["details"]["rows"] == answer.document["bad"]
