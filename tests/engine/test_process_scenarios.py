"""Processes in scenarios: spawning, shims, teardown, and what is expected of them."""

from __future__ import annotations

import pytest

from engine.running import run
from pytest_runcoord.verdict import Verdict

CLAIMED = """
given: {machines: shared}
steps:
  - open: gw1
  - submit: r1
  - claim: {run: r1, lease: 90s}
"""


def passes(steps: str, expect: str, given: str = CLAIMED) -> None:
    result = run(f"{given}{steps}\nexpect:\n{expect}")
    assert result.verdict is Verdict.PASSED, result.failure


def test_a_spawned_process_is_recorded_and_starts_its_run() -> None:
    passes(
        """
  - spawn: {run: r1, process: child, children: [helper, {process: daemon, double_fork: true}]}
""",
        """
  - run: {id: r1, state: running}
  - process: {id: daemon}
  - cleanup: {run: r1, is: pending, reports: 0}
""",
    )


def test_a_tree_under_a_shim_is_torn_down_by_its_owner() -> None:
    passes(
        """
  - spawn:
      run: r1
      process: child
      shim: true
      ignores: [TERM]
      children: [helper, {process: away, setsid: true, clears_environment: true}]
  - tear_down: {run: r1, grace: 2s, outcome: failed}
  - expect: [took: {least: 2s, most: 2200ms}]
""",
        """
  - run: {id: r1, outcome: failed}
  - process: {id: child, is: gone, status: -9}
  - process: {id: away, is: gone, status: -15}
  - signals: {to: helper, signal: TERM, count: 1, by: child-shim}
  - cleanup: {run: r1, is: done, reports: 1}
  - report: {run: r1, emptied: true, fates: {child: killed, helper: asked, away: asked}}
""",
    )


def test_a_shim_tears_its_tree_down_when_the_owner_crashes_while_the_scenario_goes_on() -> None:
    passes(
        """
  - spawn: {run: r1, process: child, shim: keeper, grace: 5s, handles: {TERM: 3s}, children: [helper]}
  - crash: gw1
  - expect: [process: {id: child}, process: {id: helper, is: gone}]
  - advance: 2s
  - expect: [process: {id: child}]
  - advance: 1s
  - expect: [process: {id: child, is: gone, status: 0}, process: {id: keeper, is: gone}]
""",
        "  - signals: {to: child, count: 2, by: keeper}",  # TERM, and CONT for stopped ones
    )


def test_a_shim_that_was_killed_in_the_grace_ends_nobody_any_more() -> None:
    passes(
        """
  - spawn: {run: r1, process: child, shim: true, grace: 5s, ignores: [TERM]}
  - crash: gw1
  - advance: 1s
  - kill_shim: r1
  - advance: 60s
""",
        """
  - process: {id: child}
  - signals: {to: child, signal: KILL, count: 0}
""",
    )


def test_an_owner_whose_shim_was_killed_ends_what_it_finds() -> None:
    passes(
        """
  - spawn: {run: r1, process: child, shim: true, children: [{process: away, setsid: true}]}
  - kill_shim: r1
  - tear_down: {run: r1, outcome: failed}
""",
        """
  - process: {id: child, is: gone}
  - process: {id: away, is: gone}
  - report: {run: r1, emptied: true, problem: the process that the run hung on was gone}
""",
    )


def test_a_command_that_ended_is_kept_as_a_zombie_until_its_tree_is_torn_down() -> None:
    passes(
        """
  - spawn: {run: r1, process: child, shim: true, children: [helper]}
  - exit: {process: child, status: 3}
  - expect: [process: {id: child, is: zombie}]
  - tear_down: {run: r1, outcome: failed}
""",
        """
  - cleanup: {run: r1, is: done, exit_status: 3}
  - process: {id: helper, is: gone}
""",
    )


def test_an_owner_that_crashes_before_the_gate_leaves_nothing_running() -> None:
    passes(
        """
  - spawn: {run: r1, by: gw1, process: child, shim: true, crash_at: before-gate}
  - expect: [process: {id: child, is: gone}]
""",
        "  - run: {id: r1, state: running}",
    )


def test_a_reboot_ends_every_process_without_a_signal() -> None:
    passes(
        """
  - spawn: {run: r1, process: child, shim: true}
  - stranger: {process: other}
  - reboot
""",
        """
  - process: {id: child, is: gone}
  - process: {id: other, is: gone}
  - signals: {to: child, count: 0}
""",
    )


@pytest.mark.parametrize("pid", [0, 1, -1, 2147483648, 9223372036854775807])
def test_a_number_that_is_no_pid_is_refused_and_nothing_is_recorded(pid: int) -> None:
    passes(
        f"  - record_process: {{run: r1, pid: {pid}, refused: invalid-request}}",
        "  - cleanup: {run: r1, is: none}",
    )


def test_a_process_whose_identity_cannot_be_read_is_recorded_and_the_run_goes_on() -> None:
    passes(
        "  - spawn: {run: r1, process: child, hidden: true}",
        """
  - run: {id: r1, state: running}
  - cleanup: {run: r1, is: pending}
""",
    )


def test_a_pid_whose_number_a_group_still_has_is_not_recycled() -> None:
    result = run(
        CLAIMED
        + """
  - spawn: {run: r1, process: child, own_group: true, children: [helper]}
  - recycle_pid: {of: child, to: stranger}
"""
    )
    assert result.failure is not None
    assert "is the number of a process, a group or a session" in result.failure.problem


def test_what_is_not_so_of_a_process_fails_with_what_was_seen() -> None:
    for expectation, problem, seen in (
        ("process: {id: child, is: gone}", "child is not as expected", "lives"),
        ("signals: {to: child, count: 1}", "child was not sent as many signals as expected", "none"),
        ("cleanup: {run: r1, is: done}", "the clean-up of r1: 'is' is not as expected", 'is "pending"'),
        ("report: {run: r1, emptied: true}", "no teardown of r1 was recorded", "none"),
        ("took: {most: 9s, least: 2s}", "the step before took less time than expected", "0 s"),
    ):
        result = run(f"{CLAIMED}  - spawn: {{run: r1, process: child}}\nexpect: [{expectation}]")
        assert result.failure is not None, expectation
        assert problem in result.failure.problem
        assert result.failure.seen == seen


def test_how_a_process_ended_is_seen_in_the_words_of_the_language() -> None:
    ended = f"{CLAIMED}  - spawn: {{run: r1, process: child}}\n  - exit: {{process: child, status: 3}}\n"
    result = run(ended + "  - no_reap: child\nexpect: [process: {id: child, is: lives}]")
    assert result.failure is not None
    assert (result.failure.expected, result.failure.seen) == ("lives", "gone, status 3")
    assert any(each.what == "exit" and "exit_status=3" in each.detail for each in result.history)


def test_a_variable_is_shown_as_a_scenario_writes_it() -> None:
    result = run(
        """
steps:
  - open: gw1
  - supervise: {run: r1, process: child}
expect: [exports: {to: child, has: {RUNCOORD_DEPTH: '7'}}]
"""
    )
    assert result.failure is not None
    assert result.failure.problem == "RUNCOORD_DEPTH of child is not as expected"
    assert (result.failure.expected, result.failure.seen) == ('"7"', '"1"')
