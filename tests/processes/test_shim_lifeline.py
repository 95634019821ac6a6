"""The coordinator dies: its shim ends the run and writes its last words, whatever the moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from processes.trees import LIFE_SECONDS, PATIENCE_SECONDS, Ears, linux_only
from runcoord import tear_down
from runcoord._core.last_words import LastWords
from runcoord._launching import read_last_words
from runcoord._processes import open_processes
from runcoord.ports import Fate, Membership, PinnedProcess

pytestmark = [linux_only, pytest.mark.real]

SLEEP = f"exec sleep {LIFE_SECONDS}"
ESCAPEE = f"(setsid sh -c 'echo escapee $$ > $EARS; {SLEEP}' &); true"
CLEARED = f"(env -i EARS=$EARS setsid sh -c 'echo cleared $$ > $EARS; {SLEEP}' &); true"


@dataclass
class Doomed:
    """A coordinator that can be killed, and its shim, held."""

    process: subprocess.Popen[bytes]
    ears: Ears
    shim: PinnedProcess
    cookie: str
    last_words: Path

    def kill(self) -> None:
        """Nothing of it gets a chance to do anything; waits for the shim to be gone too."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE_SECONDS)
        open_processes().wait([self.shim], PATIENCE_SECONDS)
        assert self.shim.ended()

    def words(self) -> LastWords:
        said = read_last_words(self.last_words, self.cookie)
        assert said is not None
        return said


@pytest.fixture
def doomed(tmp_path: Path) -> Iterator[object]:
    """Starts a coordinator: how far it is to come, the script of its command, words to wait for."""
    made: list[Doomed] = []

    def start(until: str, script: str, *words: str, grace: float = 5.0) -> Doomed:
        ears, cookie = Ears(tmp_path), os.urandom(16).hex()
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("coordinator_program.py")), until, script],
            env={
                **os.environ,
                "PYTHONPATH": str(Path(__file__).parent.parent),
                "EARS": str(ears.path),
                "COOKIE": cookie,
                "GRACE": str(grace),
                "LAST_WORDS": str(tmp_path / "last-words"),
            },
        )
        try:
            *_, shim = ears.hear("coordinator", *words, "shim")
        except BaseException:
            process.kill()
            process.wait(PATIENCE_SECONDS)
            ears.close()
            raise
        table = open_processes()
        made.append(Doomed(process, ears, table.open(table.identify(shim)), cookie, tmp_path / "last-words"))
        return made[-1]

    yield start
    for each in made:
        each.process.kill()
        each.process.wait(PATIENCE_SECONDS)
        open_processes().wait([each.shim], PATIENCE_SECONDS)
        each.shim.close()
        tear_down(open_processes(), Membership(cookie=each.cookie), grace=0, clock=time, sleeper=time)
        each.ears.close()


def start(doomed: object, until: str, script: str, *words: str, grace: float = 5.0) -> Doomed:
    assert callable(doomed)
    made = doomed(until, script, *words, grace=grace)
    assert isinstance(made, Doomed)
    return made


def test_a_killed_coordinator_leaves_nothing_running_and_its_shim_says_how_it_went(doomed: object) -> None:
    run = start(
        doomed, "open", f"{ESCAPEE}; {CLEARED}; echo leader $$ > $EARS; {SLEEP}", "escapee", "cleared"
    )
    run.ears.hear("leader")
    run.kill()
    assert run.ears.living() == []
    words = run.words()
    assert (words.executed, words.status, words.by_itself) == (True, -signal.SIGTERM, False)
    assert words.teardown is not None
    assert words.teardown.emptied
    assert {each.fate for each in words.teardown.processes} == {Fate.ASKED}
    assert {pid for word, pid in run.ears.lines if word in ("leader", "escapee", "cleared")} <= {
        each.pid for each in words.teardown.processes
    }


def test_the_grace_of_the_order_holds_when_the_coordinator_is_gone(doomed: object) -> None:
    run = start(doomed, "open", f"trap '' TERM; echo leader $$ > $EARS; {SLEEP}", "leader", grace=0.5)
    began = time.monotonic()
    run.kill()
    assert 0.5 <= time.monotonic() - began < 10
    words = run.words()
    assert words.status == -signal.SIGKILL
    assert words.teardown is not None
    assert [each.fate for each in words.teardown.processes] == [Fate.KILLED]


def test_a_coordinator_killed_after_the_command_ended_leaves_the_status_in_the_last_words(
    doomed: object,
) -> None:
    escapee = f"(setsid sh -c 'echo escapee $$ > $EARS; touch $EARS.said; {SLEEP}' &)"
    wait = "until test -e $EARS.said; do sleep 0.02; done"
    run = start(doomed, "torn", f"{escapee}; {wait}; exit 3", "escapee")
    assert not run.last_words.exists(), (run.process.poll(), run.last_words.read_text())
    run.kill()
    words = run.words()
    assert (words.executed, words.status, words.by_itself) == (True, 3, True)
    assert words.teardown is not None
    assert {each.fate for each in words.teardown.processes} == {Fate.KILLED}


def test_a_coordinator_killed_before_the_gate_opened_leaves_nothing_and_no_words(
    doomed: object, tmp_path: Path
) -> None:
    run = start(doomed, "gate", f"echo > {tmp_path}/executed")
    run.kill()
    assert not (tmp_path / "executed").exists()
    assert not run.last_words.exists()
    assert open_processes().scan(Membership(cookie=run.cookie), 5.0).members == ()


def test_a_process_that_the_coordinator_forked_does_not_keep_the_run_alive(doomed: object) -> None:
    run = start(doomed, "forked", f"echo leader $$ > $EARS; {SLEEP}", "leader")
    [copy] = run.ears.hear("copy")
    run.kill()
    assert run.ears.living() == [("copy", copy)], "it has a copy of the lifeline, and lives"
    assert run.words().status == -signal.SIGTERM


def test_last_words_of_another_run_or_of_no_run_say_nothing(tmp_path: Path) -> None:
    path = tmp_path / "words"
    assert read_last_words(path, "c" * 32) is None
    for content in (b"", b"[]", b"{", b"{}", b'{"format": 1}', b"\xff", b"[" * 100_000, b"x" * 2_000_000):
        path.write_bytes(content)
        assert read_last_words(path, "c" * 32) is None
