"""Every way in which an invocation can fail: its code, what it says, and that it changed nothing."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from cli.planting import Garden
from cli.shell import PROCESS_SECONDS, Shell, command, environment, files, in_a_process, unchanged
from runcoord import Happened, State
from runcoord.errors import StoreTimeout
from runcoord.ports import Counters, Store, Transaction, View
from runcoord.testing import ManualSleeper

READING = [["runs"], ["show", "r"], ["show", "r", "--result"], ["events"], ["events", "--held"]]
CHANGING = [["stop", "r"], ["recover"], ["events", "--replay", "r/finished"]]
EVERY = [*READING, *CHANGING]
IDS = ["-".join(args) for args in EVERY]


def assert_no_trace(text: str) -> None:
    assert "Traceback" not in text
    assert 'File "' not in text


# --- stores that cannot be opened ---


@pytest.mark.parametrize("args", EVERY, ids=IDS)
def test_a_missing_store_is_said_and_never_made(tmp_path: Path, args: list[str]) -> None:
    shell = Shell(tmp_path / "nowhere" / "runs.db")
    answer = shell(*args)
    assert (answer.code, answer.out) == (3, "")
    assert answer.err.startswith(f"Error: there is no store at {shell.store}.\n")
    assert answer.err.endswith("(store-unavailable; nothing was changed)\n")
    assert files(tmp_path) == []


def test_a_missing_default_store_says_how_to_name_another(tmp_path: Path) -> None:
    shell = Shell(Path())
    answer = shell("--json", "runs", env={"RUNCOORD_STORE": None, "XDG_DATA_HOME": str(tmp_path)})
    assert answer.code == 3
    assert answer.error["details"]["store"] == str(tmp_path / "runcoord" / "runs.db")
    assert "--store, RUNCOORD_STORE" in answer.error["remedy"]
    assert files(tmp_path) == []


def directory(path: Path) -> None:
    path.mkdir()


def text_file(path: Path) -> None:
    path.write_text("not a database\n" * 100, "utf-8")


def empty_file(path: Path) -> None:
    path.touch()


def newer_store(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE runs (something)")
        connection.execute("PRAGMA application_id = 1920298595")
        connection.execute("PRAGMA user_version = 99")


def pipe(path: Path) -> None:
    os.mkfifo(path)


UNUSABLE: dict[str, tuple[Callable[[Path], None], str]] = {
    "a-directory": (directory, "store-unavailable"),
    "a-text-file": (text_file, "store-damaged"),
    "an-empty-file": (empty_file, "store-unavailable"),
    "a-newer-store": (newer_store, "store-too-new"),
    "a-named-pipe": (pipe, "store-unavailable"),
}


@pytest.mark.parametrize("args", [["runs"], ["recover"]], ids=["runs", "recover"])
@pytest.mark.parametrize(("make", "code"), UNUSABLE.values(), ids=list(UNUSABLE))
def test_what_is_no_usable_store_is_refused_and_left_as_it_is(
    tmp_path: Path, make: Callable[[Path], None], code: str, args: list[str]
) -> None:
    path = tmp_path / "runs.db"
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    answer = Shell(path)("--json", *args)
    assert (answer.code, answer.out) == (3, "")
    assert (answer.error["code"], answer.error["happened"]) == (code, "no")
    assert str(path) in answer.error["problem"]
    assert (path.read_bytes() if path.is_file() else b"") == before
    assert files(tmp_path) == [str(path)]


@pytest.mark.parametrize("url", ["postgres://host/db", ":memory:", "sqlite:///"])
def test_a_store_of_another_kind_is_refused(tmp_path: Path, url: str) -> None:
    answer = Shell(tmp_path / "unused")("--store", url, "runs")
    assert (answer.code, answer.out) == (1, "")
    assert "(invalid-configuration; nothing was changed)" in answer.err
    assert files(tmp_path) == []


# --- a store that fails ---


def test_a_store_that_stays_locked_is_an_error_that_did_not_happen(garden: Garden, shell: Shell) -> None:
    garden.accepted("r")
    with unchanged(garden.path), contextlib.closing(sqlite3.connect(garden.path)) as other:
        other.execute("BEGIN IMMEDIATE")
        answer = shell("stop", "r", "--json")
        other.execute("ROLLBACK")
    assert (answer.code, answer.out) == (3, "")
    assert (answer.error["code"], answer.error["happened"]) == ("store-locked", "no")


@dataclass
class Faulty:
    """A store that carries a transaction out, and then does what ``after`` does."""

    store: Store
    after: Callable[[], None]

    @contextmanager
    def transaction(self, verb: str) -> Iterator[Transaction]:
        with self.store.transaction(verb) as tx:
            yield tx
        self.after()

    def view(self, verb: str) -> contextlib.AbstractContextManager[View]:
        return self.store.view(verb)

    @property
    def counters(self) -> Counters:
        return self.store.counters

    def close(self) -> None:
        self.store.close()


def faulty(shell: Shell, after: Callable[[], None]) -> Shell:
    assert shell.ports is not None
    return Shell(shell.store, replace(shell.ports, wrap_store=lambda store: Faulty(store, after)))


def lose_the_answer() -> None:
    raise StoreTimeout("no answer", happened=Happened.MAYBE)


def test_a_change_whose_answer_is_lost_may_have_happened_and_has_its_own_code(
    garden: Garden, shell: Shell
) -> None:
    garden.accepted("r")
    answer = faulty(shell, lose_the_answer)("stop", "r")
    assert (answer.code, answer.out) == (4, "")
    assert "(store-timeout; it may have happened)" in answer.err
    assert garden.coordinator.run("r").state is State.FINISHED


def break_down() -> None:
    raise ZeroDivisionError("a fault")


def test_a_fault_of_the_program_has_a_code_of_its_own_and_shows_its_trace(
    garden: Garden, shell: Shell
) -> None:
    garden.accepted("r")
    answer = faulty(shell, break_down)("stop", "r")
    assert (answer.code, answer.out) == (70, "")
    assert "Traceback (most recent call last)" in answer.err
    assert "runcoord failed unexpectedly: ZeroDivisionError: a fault" in answer.err
    assert "it may have happened" in answer.err
    error = faulty(shell, break_down)("stop", "r", "--json").error
    assert (error["code"], error["happened"]) == ("internal-error", "maybe")
    assert "ZeroDivisionError: a fault" in error["details"]["trace"]


# --- command lines that are not understood ---

MISUSED = {
    "no command": [],
    "an unknown command": ["rusn"],
    "an unknown option": ["runs", "--bogus"],
    "a missing argument": ["show"],
    "an argument too many": ["show", "r", "s"],
    "an unknown state": ["runs", "--state", "asleep"],
    "a limit of nothing": ["runs", "--limit", "0"],
    "a limit beyond the bound": ["events", "--limit", "1001"],
    "a limit that is no number": ["runs", "--limit", "many"],
    "a number beyond any": ["events", "--after", "9" * 30],
    "a number below any": ["events", "--after", "-1"],
    "text that is no UTF-8": ["show", os.fsdecode(b"\xff")],
    "a reason that is no UTF-8": ["stop", "r", "--reason", os.fsdecode(b"\xff")],
}


@pytest.mark.parametrize("args", MISUSED.values(), ids=[name.replace(" ", "-") for name in MISUSED])
def test_a_command_line_that_is_not_understood_changes_nothing_and_says_where_help_is(
    garden: Garden, shell: Shell, args: list[str]
) -> None:
    garden.accepted("r")
    with unchanged(garden.path):
        answer = shell(*args)
        document = shell(*args, "--json")
    assert (answer.code, answer.out) == (2, "")
    assert re.search(r"^  See: runcoord( \w+)? --help$", answer.err, re.MULTILINE)
    assert_no_trace(answer.err)
    assert (document.code, document.out) == (2, "")
    assert (document.error["code"], document.error["happened"]) == ("usage-error", "no")


def test_a_mistyped_command_is_answered_with_the_nearest(shell: Shell) -> None:
    assert "Did you mean 'events'?" in shell("evnets").err


# --- streams ---


def test_a_reader_that_goes_away_ends_the_command_quietly(garden: Garden) -> None:
    garden.everything()
    for args in (["runs"], ["runs", "--json"], ["show", "late"], ["--help"], ["runs", "--help"]):
        process = subprocess.Popen(
            command(*args),
            env=environment(garden.path),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        process.stdout.close()
        _, said = process.communicate(timeout=PROCESS_SECONDS)
        assert (process.returncode, said) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a device of Linux")
def test_an_answer_that_cannot_be_written_is_not_taken_for_given(garden: Garden) -> None:
    garden.accepted("r")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command("runs", "--json"),
            env=environment(garden.path),
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=PROCESS_SECONDS,
            check=False,
        )
    assert done.returncode == 5
    assert json.loads(done.stderr)["code"] == "output-failed"


def test_a_terminal_encoding_without_a_character_gets_it_escaped(garden: Garden) -> None:
    garden.accepted("r", task="übersetzen 翻訳")
    answer = in_a_process(garden.path, "runs", PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert answer.code == 0
    assert "\\xfcbersetzen \\u7ffb\\u8a33" in answer.out


# --- Ctrl-C ---


def interrupt() -> None:
    raise KeyboardInterrupt


class Interrupting(ManualSleeper):
    """Ctrl-C is pressed while it waits."""

    def sleep(self, seconds: float) -> None:
        interrupt()


def test_an_interrupted_wait_says_that_the_work_has_yet_to_notice(garden: Garden, shell: Shell) -> None:
    garden.running("r")
    assert shell.ports is not None
    shell.ports = replace(shell.ports, sleeper=Interrupting(garden.clock))
    answer = shell("stop", "r", "--wait", "60", "--json")
    assert (answer.code, answer.document["noticed"], answer.err) == (130, False, "")
    assert garden.coordinator.run("r").stop_requested_at is not None


def test_an_interrupted_change_may_have_happened(garden: Garden, shell: Shell) -> None:
    garden.accepted("r")
    answer = faulty(shell, interrupt)("stop", "r", "--json")
    assert (answer.code, answer.out) == (130, "")
    assert (answer.error["code"], answer.error["happened"]) == ("interrupted", "maybe")


def test_ctrl_c_ends_a_waiting_process_without_a_trace(garden: Garden) -> None:
    garden.running("r")
    process = subprocess.Popen(
        command("stop", "r", "--wait", "600", "--json"),
        env=environment(garden.path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        deadline = time.monotonic() + PROCESS_SECONDS
        while garden.coordinator.run("r").stop_requested_at is None:
            assert time.monotonic() < deadline
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        answered, said = process.communicate(timeout=PROCESS_SECONDS)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    assert process.returncode == 130
    assert b"Traceback" not in said
    # The stop is stored by then: before the wait the signal ends the command, in it the answer is known.
    if said:
        assert json.loads(said)["code"] == "interrupted"
        assert json.loads(said)["happened"] == "maybe"
    else:
        assert json.loads(answered)["noticed"] is False
