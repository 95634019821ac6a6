"""How a program is named as a subject, and that all of the protocol carries what the reference needs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_runcoord.runner import run_variant
from pytest_runcoord.scenario import Scenario, load_text, variants
from pytest_runcoord.subjects.program import ProgramSubject, program_subject
from pytest_runcoord.verbs import default_registry
from pytest_runcoord.verdict import RunResult, Verdict
from source_tree import ROOT
from subjects.programs import passes, program

pytestmark = pytest.mark.real

COORDINATOR = ROOT / "tests" / "subjects" / "coordinator_program.py"


# --- how it is named -------------------------------------------------------------------------------


def test_it_is_named_as_words_that_no_shell_reads(tmp_path: Path) -> None:
    subject = program_subject("program: my-worker --name 'a b' $HOME", tmp_path)
    assert subject.command.words == ("my-worker", "--name", "a b", "$HOME")


@pytest.mark.parametrize(
    ("name", "problem"), [("program:  ", "is empty"), ("program: a 'b", "No closing quotation")]
)
def test_a_name_without_a_command_line_stops_the_run(tmp_path: Path, name: str, problem: str) -> None:
    with pytest.raises(pytest.UsageError, match=problem):
        program_subject(name, tmp_path)


def test_what_it_says_of_itself_is_asked_once(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    subject = program(tmp_path, f"open({str(starts)!r}, 'a').write('x')")
    assert not starts.exists()
    assert (subject.name, subject.version) == ("small", "small 2")
    assert subject.capabilities == {"runs", "outbox", "moments"}
    assert set(subject.moments or ()) == {"after-commit", "before-send", "after-send"}
    assert starts.read_text() == "x"


# --- all of the protocol ---------------------------------------------------------------------------

CARRIED = {
    "leases/recovery-reads-then-writes": "recovery-reads-then-writes",
    "leases/renewal-stalls-past-lease": "renewal-stalls-past-lease",
    "commands/reply-lost-on-submit": "reply-lost-on-retry",
    "outbox/crash-after-send": "crash-after-send",
}
"""Shipped scenarios that need most of what a program can ask and say; the others are for ``soak``."""


def on_the_coordinator(file: Path, only: str = "") -> list[RunResult]:
    """The first variant of each scenario of a file, on the reference behind lines."""
    subject = ProgramSubject([sys.executable, str(COORDINATOR)], ROOT)
    found = load_text(file.read_text("utf-8"), default_registry(), file.name).scenarios
    scenarios = [each for each in found if isinstance(each, Scenario) and only in ("", each.name)]
    return [run_variant(each, next(iter(variants(each))), subject=subject) for each in scenarios]


@pytest.mark.parametrize(("file", "scenario"), CARRIED.items())
def test_the_reference_behind_lines_does_as_the_reference(file: str, scenario: str) -> None:
    [result] = on_the_coordinator(ROOT / "scenarios" / f"{file}.runcoord.yaml", scenario)
    assert passes(result)


@pytest.mark.soak
@pytest.mark.parametrize("folder", ["leases", "commands", "outbox"])
def test_all_that_the_reference_behind_lines_can_do_passes(folder: str) -> None:
    results = [
        result
        for file in sorted((ROOT / "scenarios" / folder).glob("*.runcoord.yaml"))
        for result in on_the_coordinator(file)
    ]
    failed = {result.scenario: result.failure for result in results if result.verdict is Verdict.FAILED}
    assert failed == {}
    assert sum(result.verdict is Verdict.PASSED for result in results) > 10
