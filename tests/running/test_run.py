"""``runcoord run`` as a user calls it: real processes, real signals, the documented default store."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runcoord import Outcome, State
from running.real_runs import LIFE, Place, finished, report_of, until

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="runs commands on Linux"),
]

SLEEP = ("sleep", str(LIFE))
READY = "touch ready"


def shell(script: str) -> tuple[str, ...]:
    return ("sh", "-c", script)


# --- how it ends by itself -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "code", "outcome", "error"),
    [
        ("exit 0", 0, Outcome.COMPLETED, ""),
        ("exit 3", 3, Outcome.FAILED, "exit status 3"),
        ("exit 120", 120, Outcome.FAILED, "exit status 120"),
        ("kill -9 $$", 137, Outcome.FAILED, "ended by SIGKILL (9)"),
        ("kill -INT $$", 130, Outcome.FAILED, "ended by SIGINT (2)"),
    ],
)
def test_the_exit_status_is_the_command_s_and_the_outcome_says_how_it_ended(
    place: Place, script: str, code: int, outcome: Outcome, error: str
) -> None:
    done = place.run(*shell(script))
    run = place.only_run()
    assert (done.code, done.out, done.err) == (code, "", "")
    assert (run.state, run.outcome, run.error) == (State.FINISHED, outcome, error)
    assert place.folders == []


def test_the_standard_streams_are_the_command_s(place: Place) -> None:
    process = place.begin("run", "--", *shell("cat; echo beside >&2"), stdin=subprocess.PIPE)
    out, err = process.communicate("a line\n" * 10_000, timeout=60)
    assert (process.returncode, out, err) == (0, "a line\n" * 10_000, "beside\n")


def test_output_is_passed_on_as_it_comes(place: Place) -> None:
    process = place.begin("run", "--", *shell("echo one; read answer; echo $answer"), stdin=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == "one\n"
    out, _ = process.communicate("two\n", timeout=60)
    assert (process.returncode, out) == (0, "two\n")


def test_helpers_that_a_success_leaves_are_ended_and_cost_it_nothing(place: Place) -> None:
    script = f"sleep {LIFE} & setsid sleep {LIFE} & (setsid sh -c 'exec sleep {LIFE}' &); sleep 0.3"
    done = place.run(*shell(script), options=["--report", "r.json"])
    report = report_of(place.work / "r.json")
    assert (done.code, done.err) == (0, "")
    assert (report["clean"], report["teardown"]["emptied"]) == (True, True)
    assert {each["fate"] for each in report["teardown"]["processes"]} == {"asked"}
    assert place.alive() == {}
    cleanup = place.only_run().cleanup
    assert cleanup is not None
    assert cleanup.state == "done"


def test_a_helper_that_holds_standard_output_open_makes_no_success_fail(place: Place) -> None:
    done = place.run(*shell(f"setsid sleep {LIFE} & echo done"))
    assert (done.code, done.out) == (0, "done\n")


# --- how it is ended -----------------------------------------------------------------------------

NASTY = f"""
(trap '' TERM; sleep {LIFE}) &
setsid sh -c 'trap "" TERM; sleep {LIFE}' &
(setsid env -i sleep {LIFE} &)
timeout {LIFE} sleep {LIFE} &
sleep {LIFE} & kill -STOP $!
touch ready
"""


@pytest.mark.parametrize("end", ["sleep 0.3; exit 7", f"sleep {LIFE}"], ids=["fails", "times-out"])
def test_a_nasty_tree_is_gone_when_the_run_has_ended(place: Place, end: str) -> None:
    done = place.run(*shell(NASTY + end), options=["--timeout", "1.5", "--grace", "1", "--report", "r.json"])
    report = report_of(place.work / "r.json")
    assert done.code == (7 if "exit" in end else 124)
    assert report["teardown"]["emptied"]
    assert report["teardown"]["counted"] >= 6
    assert place.alive() == {}


def test_a_timeout_is_said_and_the_run_has_failed(place: Place) -> None:
    done = place.run(*SLEEP, options=["--timeout", "0.3"])
    run = place.only_run()
    assert (done.code, done.said) == (124, ["runcoord: timed out after 0.3 s"])
    assert (run.outcome, run.error, run.exit_status) == (Outcome.FAILED, "timed out after 0.3 s", None)


def test_it_can_be_stopped_from_another_terminal(place: Place) -> None:
    process = place.begin("run", "--run-id", "r1", "--", *shell(f"{READY}; sleep {LIFE}"))
    until((place.work / "ready").exists)
    stopped = place("stop", "r1", "--reason", "changed my mind", "--wait", "30")
    done = finished(process)
    run = place.only_run()
    assert (stopped.code, done.code) == (0, 121)
    assert (run.outcome, run.error) == (Outcome.STOPPED, "changed my mind")
    assert done.said == ["runcoord: stopped: changed my mind"]


@pytest.mark.parametrize(
    ("number", "outcome"),
    [
        (signal.SIGINT, Outcome.STOPPED),
        (signal.SIGTERM, Outcome.INTERRUPTED),
        (signal.SIGHUP, Outcome.INTERRUPTED),
    ],
)
def test_a_signal_to_runcoord_ends_the_tree(place: Place, number: signal.Signals, outcome: Outcome) -> None:
    process = place.begin("run", "--", *shell(f"setsid sleep {LIFE} & {READY}; sleep {LIFE}"))
    until((place.work / "ready").exists)
    process.send_signal(number)
    done = finished(process)
    run = place.only_run()
    why = f"told to end by {number.name} ({int(number)})"
    assert (done.code, done.said) == (128 + number, [f"runcoord: {why}"])
    assert (run.outcome, run.error) == (outcome, why)
    assert place.alive() == {}


def test_a_second_signal_ends_the_grace(place: Place) -> None:
    script = f"trap 'touch asked' TERM; {READY}; for _ in $(seq 1000); do sleep 0.05; done"
    process = place.begin("run", "--grace", "40", "--", *shell(script))
    until((place.work / "ready").exists)
    process.send_signal(signal.SIGINT)
    until((place.work / "asked").exists)
    process.send_signal(signal.SIGINT)
    done = finished(process)
    assert done.code == 130
    assert place.only_run().outcome is Outcome.STOPPED


def test_a_grace_of_zero_kills_at_once(place: Place) -> None:
    script = f"trap 'touch asked' TERM; {READY}; for _ in $(seq 1000); do sleep 0.05; done"
    process = place.begin("run", "--grace", "0", "--", *shell(script))
    until((place.work / "ready").exists)
    process.send_signal(signal.SIGTERM)
    assert finished(process).code == 143
    assert not (place.work / "asked").exists()


def test_a_signal_that_was_ignored_from_the_beginning_stays_ignored(place: Place) -> None:
    script = f"{READY}; until test -e go; do sleep 0.02; done; exit 4"
    process = place.begin(
        "run", "--", *shell(script), preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    )
    until((place.work / "ready").exists)
    process.send_signal(signal.SIGHUP)
    (place.work / "go").touch()
    assert finished(process).code == 4


@pytest.mark.parametrize(
    ("words", "last"), [(("runs",), "app"), (("run", "--no-git", "--", "true"), "run_invocation")]
)
def test_ctrl_c_while_the_program_is_still_being_loaded_shows_no_stack_trace(
    place: Place, words: tuple[str, ...], last: str
) -> None:
    class_that_interrupts = "type('I', (), {'find_spec': find})"
    code = (
        "import sys; from runcoord.cli import main\n"
        "def find(name, path=None, target=None):\n"
        f"    if name == 'runcoord.cli.{last}': raise KeyboardInterrupt\n"
        f"sys.meta_path.insert(0, {class_that_interrupts}); sys.argv[1:] = {words!r}; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=place.environment(),
        cwd=place.work,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_a_signal_while_the_store_is_locked_ends_it_before_anything_begins(place: Place) -> None:
    place.run("true")
    with contextlib.closing(sqlite3.connect(place.store)) as other:
        other.execute("BEGIN IMMEDIATE")
        process = place.begin("run", "--report", "r.json", "--", "touch", "executed")
        until(lambda: len(place.alive()) >= 3, "runcoord, its shim, the command behind its gate")
        process.send_signal(signal.SIGTERM)
        done = finished(process)
        other.rollback()
    assert (done.code, done.said) == (143, ["runcoord: told to end by SIGTERM (15) before the command began"])
    assert report_of(place.work / "r.json")["exit_status"] == 143
    assert not (place.work / "executed").exists()
    assert (len(place.runs()), place.folders) == (1, [])


def test_a_malformed_grace_is_said_without_its_value_and_is_the_default(place: Place) -> None:
    done = place.run("true", more={"RUNCOORD_TEARDOWN_GRACE": "1.5"})
    assert done.code == 0
    [said] = done.said
    assert said.startswith("runcoord: RUNCOORD_TEARDOWN_GRACE is not a plain number of whole seconds")
    assert "1.5" not in said


def test_what_is_handed_over_outlives_its_run_and_is_listed(place: Place) -> None:
    marker = "RUNCOORD_HANDED_OVER=${RUNCOORD_COOKIE##*:}"
    script = f"{marker} setsid sleep 6.25 & sleep {LIFE} & sleep 0.3; exit 0"
    nowhere: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    done = place.run(*shell(script), options=["--report", "r.json"], **nowhere)
    fates = {each["fate"] for each in report_of(place.work / "r.json")["teardown"]["processes"]}
    assert (done.code, fates) == (0, {"spared", "asked"})
    assert list(place.alive().values()) == ["sleep"]


def test_with_the_scope_of_a_group_what_left_it_is_left_alone(place: Place) -> None:
    script = f"setsid sleep 6.25 & sleep {LIFE} & sleep 0.3; exit 3"
    nowhere: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    done = place.run(*shell(script), options=["--scope", "group"], **nowhere)
    assert done.code == 3
    assert list(place.alive().values()) == ["sleep"]


# --- runs in runs --------------------------------------------------------------------------------


def test_a_run_in_a_run_is_of_its_lineage_and_one_deeper(place: Place) -> None:
    inner = f"{sys.executable} -m runcoord run --run-id inner -- sh -c 'echo $RUNCOORD_DEPTH'"
    done = place.run(*shell(inner), options=["--run-id", "outer"])
    outer, nested = sorted(place.runs(), key=lambda run: run.depth)
    assert (done.code, done.out) == (0, "2\n")
    assert (outer.run_id, outer.depth, nested.run_id, nested.depth) == ("outer", 0, "inner", 1)
    assert outer.lineage == nested.lineage != ""


def test_ending_the_outer_run_ends_the_inner_one(place: Place) -> None:
    inner = f"{sys.executable} -m runcoord run --run-id inner -- sh -c '{READY}; sleep {LIFE}'"
    process = place.begin("run", "--run-id", "outer", "--grace", "10", "--", *shell(inner))
    until((place.work / "ready").exists)
    process.send_signal(signal.SIGTERM)
    assert finished(process).code == 143
    assert place.alive() == {}
    place("recover")
    assert {run.run_id: run.outcome for run in place.runs()} == {
        "outer": Outcome.INTERRUPTED,
        "inner": Outcome.INTERRUPTED,
    }


def test_too_deep_a_run_is_refused_before_anything_exists(place: Place) -> None:
    done = place.run("touch", "executed", more={"RUNCOORD_DEPTH": "3"})
    assert (done.code, done.out) == (122, "")
    assert "depth 3 has reached the maximum of 3" in done.err
    assert not (place.work / "executed").exists()
    assert not place.store.parent.exists()


def test_too_many_live_runs_of_a_lineage_are_refused(place: Place) -> None:
    inner = f"{sys.executable} -m runcoord run --max-live-runs 1 -- touch executed"
    done = place.run(*shell(f"{inner}; echo $?"))
    assert (done.code, done.out) == (0, "122\n")
    assert "this lineage has 1 unfinished run already, and may have 1 at the most" in done.err
    assert not (place.work / "executed").exists()
    assert len(place.runs()) == 1


# --- the same again ------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [["--key", ""], ["--key="], ["--run-id", ""]])
def test_an_empty_key_or_run_id_is_refused_and_nothing_is_executed(place: Place, options: list[str]) -> None:
    done = place.run(*shell("touch executed"), options=options)
    assert done.code == 125
    assert "it is empty. Give it a value, or leave the option out." in done.err
    assert not (place.work / "executed").exists()
    assert not place.store.exists()


def test_a_key_that_was_used_is_not_run_again(place: Place) -> None:
    first = place.run(*shell("echo once >> out"), options=["--key", "k"])
    again = place.run(*shell("echo once >> out"), options=["--key", "k"])
    other = place.run(*shell("echo other >> out"), options=["--key", "k"])
    assert (first.code, again.code, other.code) == (0, 122, 122)
    assert "already ended as 'completed'" in again.err
    assert "was used for run" in other.err
    assert (place.work / "out").read_text() == "once\n"
    assert (len(place.runs()), len(place.events()), place.folders) == (1, 1, [])


# --- what is said --------------------------------------------------------------------------------


def test_quiet_says_nothing_and_json_ends_with_the_report(place: Place) -> None:
    quiet = place.run(*SLEEP, options=["--timeout", "0.2", "--quiet"])
    as_json = place.run(*shell("echo --json; exit 3"), options=["--json"])
    assert (quiet.code, quiet.err) == (124, "")
    assert (as_json.code, as_json.out) == (3, "--json\n")
    (place.work / "shown.json").write_text(as_json.err)
    report = report_of(place.work / "shown.json")
    assert (report["outcome"], report["status"], report["exit_status"]) == ("failed", 3, 3)


def test_an_option_after_the_command_is_the_command_s(place: Place) -> None:
    done = self_said = place.run("echo", "--json", "--timeout", "1", options=[])
    assert (done.code, self_said.out, done.err) == (0, "--json --timeout 1\n", "")
    without_dashes = place("run", "echo", "--quiet", "--help")
    assert (without_dashes.code, without_dashes.out) == (0, "--quiet --help\n")


def test_what_runs_is_what_a_list_of_runs_shows(place: Place) -> None:
    place.run("echo", "some words")
    assert "echo 'some words'" in place("runs").out


def test_how_its_processes_ended_is_shown_with_the_run(place: Place) -> None:
    place.run(*shell(f"setsid sleep {LIFE} & sleep 0.3; exit 7"), options=["--run-id", "r1"])
    shown, document = place("show", "r1"), place("--json", "show", "r1")
    assert re.search(r"^Exit status +7$", shown.out, re.MULTILINE)
    assert re.search(
        r"^Processes +1 process ended with it: 1 asked to end; none is left$", shown.out, re.MULTILINE
    )
    run = json.loads(document.out)
    [teardown] = run["teardowns"]
    [ended] = teardown["processes"]
    assert (run["exit_status"], run["depth"], run["cleanup"]["state"]) == (7, 0, "done")
    assert [each["role"] for each in run["processes"]] == ["shim", "leader"]
    assert (ended["name"], ended["fate"], ended["signals"]) == ("sleep", "asked", ["SIGTERM", "SIGCONT"])


# --- the directory -------------------------------------------------------------------------------


def test_it_runs_in_the_directory_that_is_named(place: Place) -> None:
    (place.work / "below").mkdir()
    done = place.run("pwd", options=["-C", "below"])
    assert Path(done.out.strip()) == Path(os.path.realpath(place.work / "below"))
