"""``runcoord show RUN --as-scenario``: what a store knows of a run, as the beginning of a reproduction."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cli.planting import Garden
from cli.shell import Shell, unchanged
from pytest_runcoord.runner import run_variant
from pytest_runcoord.scenario import Scenario, load_text, variants
from pytest_runcoord.verbs import default_registry
from pytest_runcoord.verdict import RunResult, Verdict
from runcoord import Outcome, Ports, open_coordinator
from runcoord.ports import Habitat, NewProcess, ProcessIdentity, Role
from runcoord.testing import CountingIds, ManualClock, ManualSleeper

SECRET = "hunter2-and-more"


def the_scenario(text: str) -> Scenario:
    [scenario] = load_text(text, default_registry(), "<written>").scenarios
    assert isinstance(scenario, Scenario), scenario.error
    return scenario


def run(text: str) -> RunResult:
    scenario = the_scenario(text)
    [variant] = variants(scenario)
    return run_variant(scenario, variant)


def written(garden: Garden, shell: Shell, run_id: str) -> str:
    with unchanged(garden.path):
        answer = shell("show", run_id, "--as-scenario")
    assert (answer.code, answer.err) == (0, "")
    return answer.out


def released(garden: Garden) -> None:
    garden.coordinator.release(garden.claimed("r"))


def taken_over_twice(garden: Garden) -> None:
    lease = garden.claimed("r")
    for _ in range(2):
        garden.clock.advance(100)
        lease = garden.coordinator.claim("r")
    garden.coordinator.start(lease)
    garden.coordinator.complete(lease, "failed", error="no route")
    garden.coordinator.deliver()


def acquired_thirty_times(garden: Garden) -> None:
    garden.accepted("r")
    for _ in range(30):
        garden.coordinator.release(garden.coordinator.claim("r"))


def found_interrupted(garden: Garden) -> None:
    garden.running("r")
    garden.clock.advance(100)
    garden.coordinator.recover()


def stopped_under_way(garden: Garden) -> None:
    lease = garden.running("r")
    garden.coordinator.stop("r", "too expensive")
    garden.coordinator.complete(lease, "completed", result="nearly")
    garden.coordinator.deliver()


def stopped_while_its_owner_was_gone(garden: Garden) -> None:
    garden.running("r")
    garden.coordinator.stop("r", "too expensive")
    garden.clock.advance(100)
    garden.coordinator.recover()


def with_notes_and_progress(garden: Garden) -> None:
    lease = garden.running("r")
    garden.coordinator.progress(lease, "half of it")
    for body in ("one", "two"):
        garden.coordinator.publish(lease, body)
    garden.clock.advance(40)
    garden.coordinator.complete(lease, Outcome.COMPLETED)
    garden.coordinator.deliver()


def late(garden: Garden) -> None:
    lease = garden.running("r")
    garden.clock.advance(100)
    garden.coordinator.complete(lease, "completed")


STORIES: dict[str, Callable[[Garden], object]] = {
    "accepted": lambda garden: garden.accepted("r"),
    "claimed": lambda garden: garden.claimed("r"),
    "running": lambda garden: garden.running("r"),
    "completed": lambda garden: garden.finished("r", result="all is well"),
    "failed": lambda garden: garden.finished("r", "failed", error="boom"),
    "to nowhere": lambda garden: garden.finished("r", destination=""),
    "refused by its destination": lambda garden: garden.finished("r", destination="archived"),
    "of which its destination does not hear": lambda garden: garden.finished("r", destination="sms"),
    "withdrawn": lambda garden: (garden.accepted("r"), garden.coordinator.stop("r")),
    "released": released,
    "taken over twice": taken_over_twice,
    "acquired thirty times": acquired_thirty_times,
    "interrupted": found_interrupted,
    "stopped under way": stopped_under_way,
    "stopped while its owner was gone": stopped_while_its_owner_was_gone,
    "with notes and progress": with_notes_and_progress,
    "late": late,
}


@pytest.mark.parametrize("story", STORIES)
def test_a_run_written_as_a_scenario_ends_there_as_the_store_says(
    garden: Garden, shell: Shell, story: str
) -> None:
    STORIES[story](garden)
    text = written(garden, shell, "r")
    result = run(text)
    assert result.verdict is Verdict.PASSED, f"{text}\n{result.failure}"
    stored = garden.coordinator.run("r")
    said = f"state: {stored.state.value}"
    assert said in text.partition("expect:")[2]


def test_a_scenario_that_was_written_can_be_turned_red(garden: Garden, shell: Shell) -> None:
    garden.finished("r")
    text = written(garden, shell, "r").replace("outcome: completed, epoch", "outcome: failed, epoch")
    result = run(text)
    assert result.verdict is Verdict.FAILED
    assert result.failure is not None
    assert result.failure.seen == 'outcome "completed"'


def test_inputs_and_texts_are_left_out_and_named(garden: Garden, shell: Shell) -> None:
    private = {"task": SECRET, "agent": SECRET, "conversation_key": SECRET}
    lease = garden.running("r", payload={"password": SECRET}, **private)
    garden.coordinator.progress(lease, SECRET)
    garden.coordinator.stop("r", SECRET)
    garden.coordinator.complete(lease, "failed", result=SECRET, error=SECRET)
    garden.sql("update events set reason = ?", SECRET)
    text = written(garden, shell, "r")
    assert SECRET not in text
    assert "worker-1" not in text
    [line] = [each for each in text.splitlines() if each.startswith("# Left out")]
    assert line.partition(": ")[2].split(", ") == [
        *("payload", "task", "agent", "conversation_key"),
        *("result", "error", "progress", "stop_reason", "reason of its event"),
    ]


def test_an_event_that_nobody_served_waits_in_the_scenario_too(
    path: Path, clock: ManualClock, shell: Shell
) -> None:
    ports = Ports(clock=clock, ids=CountingIds(), sleeper=ManualSleeper(clock))
    with open_coordinator(path, owner="worker-1", ports=ports) as coordinator:
        coordinator.submit(run_id="r", destination="chat")
        coordinator.start(coordinator.claim("r"))
        clock.advance(100)
        coordinator.recover()
    answer = shell("show", "r", "--as-scenario")
    assert "event: {run: r1, state: pending}" in answer.out
    assert run(answer.out).verdict is Verdict.PASSED


@pytest.mark.parametrize(
    "text", ["a\nsteps: []", "\x1b[31mred", "'; - crash: gw1", "x" * 400, "läuft 🦔", "\u2028- crash: gw1"]
)
def test_hostile_names_and_texts_stay_inside_of_a_comment(garden: Garden, shell: Shell, text: str) -> None:
    garden.finished("r", "failed", error=text)
    garden.sql("update runs set destination = ?", text)
    shown = written(garden, shell, "r")
    assert "# The destination: " in shown
    assert run(shown).verdict is Verdict.PASSED
    assert all(each.isprintable() or each == "\n" for each in shown)
    assert all(len(line) <= 110 for line in shown.splitlines())


def test_as_json_the_scenario_is_one_text(garden: Garden, shell: Shell) -> None:
    garden.finished("r")
    document = shell("--json", "show", "r", "--as-scenario").document
    assert document == {"run": "r", "scenario": written(garden, shell, "r")}


def test_a_run_that_is_not_there_is_no_scenario(garden: Garden, shell: Shell) -> None:
    answer = shell("show", "nobody", "--as-scenario")
    assert answer.out == ""
    assert answer.code != 0
    assert "nobody" in answer.err


def test_a_result_and_a_scenario_cannot_both_be_asked_for(garden: Garden, shell: Shell) -> None:
    garden.finished("r", result="all is well")
    answer = shell("show", "r", "--result", "--as-scenario")
    assert (answer.code, answer.out) == (2, "")
    assert "ask for one of them" in answer.err


def test_what_processes_a_run_had_is_written_with_what_became_of_them(garden: Garden, shell: Shell) -> None:
    lease = garden.running("r")
    identity = ProcessIdentity(4_000_123, 5, Habitat("host", "boot", "pids", "times", "linux"))
    garden.coordinator.record_processes(lease, [NewProcess(identity, Role.SHIM), NewProcess(identity)])
    text = written(garden, shell, "r")
    assert text.count("- spawn:") == 1
    assert "- spawn: {run: r1, by: gw1, process: p1}  # pid 4000123" in text
    assert run(text).verdict is Verdict.PASSED
