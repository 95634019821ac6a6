"""Words that no shipped scenario says do what the page says of them."""

from __future__ import annotations

from engine.running import run
from pytest_runcoord.homes.probed import _REFUSALS
from pytest_runcoord.homes.system import _FUNCTIONS
from pytest_runcoord.homes.words import CALLS, HOME_FAULTS
from pytest_runcoord.verbs.expected_homes import KINDS, SOURCE_STATES
from pytest_runcoord.verdict import FailureKind, Verdict
from runcoord.ports import RefusalKind, SourceState

A_CHILD = """
given: {machines: shared}
steps:
  - open: gw1
  - submit: r1
  - claim: {run: r1, lease: 90s}
  - spawn: {run: r1, process: child}
"""


def passed(body: str) -> None:
    result = run(body)
    assert result.verdict is Verdict.PASSED, (result.skipped, result.failure)


def test_a_stopped_process_is_stopped_until_it_goes_on() -> None:
    passed(
        f"""{A_CHILD}
  - expect: [process: child]
  - stop_process: child
  - expect: [process: {{id: child, is: stopped}}]
  - continue_process: child
expect:
  - process: {{id: child, is: lives}}
"""
    )


def test_a_process_that_was_stopped_and_goes_on_is_not_stopped_any_more() -> None:
    result = run(
        f"""{A_CHILD}
  - stop_process: child
  - continue_process: child
expect:
  - process: {{id: child, is: stopped}}
"""
    )
    assert result.failure is not None
    assert result.failure.kind is FailureKind.EXPECTATION
    assert "stopped" in result.failure.expected


def test_a_file_that_is_written_has_only_the_new_text() -> None:
    passed(
        """
given: {machines: shared, git: {checkout: repository}}
steps:
  - open: gw1
  - write_file: {path: checkout/.git/HEAD, text: "nonsense"}
  - expect: [git_status: {in: checkout, works: false}]
  - write_file: {path: checkout/.git/HEAD, text: "ref: refs/heads/main"}
expect:
  - git_status: {in: checkout}
"""
    )


def test_the_language_has_a_word_for_every_kind_and_state_of_a_folder_and_no_other() -> None:
    assert set(KINDS.meanings) == {kind.value for kind in RefusalKind}
    assert set(SOURCE_STATES) == {state.value for state in SourceState} | {"none"}


def test_every_fault_of_homes_that_can_be_written_can_be_met() -> None:
    assert HOME_FAULTS.keys() == _REFUSALS.keys()
    assert {name for name, _ in _REFUSALS.values()} <= set(RefusalKind.__members__)
    assert CALLS.keys() == _FUNCTIONS.keys()
