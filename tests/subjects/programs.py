"""Small programs that speak to runcoord, or do something else instead; each is written when a test asks."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import psutil

from pytest_runcoord.runner import run_variant
from pytest_runcoord.scenario import Scenario, load_text, variants
from pytest_runcoord.subjects.program import ProgramSubject
from pytest_runcoord.verbs import default_registry
from pytest_runcoord.verdict import Failure, FailureKind, RunResult, Verdict

GOOD = """
import json, os, signal, subprocess, sys

HELLO = {"runcoord": 1, "name": "small", "version": "2", "capabilities": ["runs", "outbox"]}
HELLO["moments"] = ["after-commit"]

def say(line):
    print(json.dumps(line), flush=True)

def raw(data):
    sys.stdout.buffer.write(data)
    sys.stdout.flush()

def ask(line):
    say(line)
    return json.loads(sys.stdin.readline())

def hello():
    say(HELLO)

def answer(request, **ok):
    say({"id": request["id"], "ok": ok})

def on_open(request):
    global store
    store = request["args"]["directory"] + "/states"
    answer(request)

def write(run, state):
    with open(store, "a") as file:
        file.write(f"{run} {state}\\n")

def on_submit(request):
    write(request["args"]["run"], "accepted")
    answer(request, run=request["args"]["run"])

def on_claim(request):
    answer(request, epoch=1, handle={"mine": request["args"]["run"]})

def on_complete(request):
    write(request["with"]["mine"], "finished")
    answer(request)

def on_snapshot(request):
    states = dict(line.split() for line in open(store)) if os.path.exists(store) else {}
    ends = {"finished": "completed"}
    runs = [{"run_id": run, "state": state, "outcome": ends.get(state)} for run, state in states.items()]
    answer(request, runs=runs, events=[])

def on_tick(request):
    say({"id": request["id"], "ok": {}})

def on_close(request):
    answer(request)

def on_deliver(request):
    answer(request)

def over():
    pass
"""
"""The parts of a program, which a test may write anew."""

MAIN = """
hello()
for text in sys.stdin:
    request = json.loads(text)
    globals()["on_" + request["verb"]](request)
over()
"""

HEAD = "runcoord: 1\nscenario: tried\nsays: A scenario of a test.\n"
LIFE = """
steps:
  - open: gw1
  - submit: r1
  - claim: r1
  - complete: r1
  - close: gw1
heal: none
"""
"""``submit`` is at line 6, ``claim`` at 7, ``complete`` at 8, ``close`` at 9."""
OPEN, SUBMIT, CLAIM, COMPLETE, CLOSE = range(5, 10)


def program(directory: Path, otherwise: str = "") -> ProgramSubject:
    """The small program, in which some of its parts are written otherwise."""
    path = directory / "small.py"
    path.write_text(GOOD + textwrap.dedent(otherwise) + MAIN)
    return ProgramSubject([sys.executable, "-S", str(path)], directory)


def run(subject: ProgramSubject, body: str = LIFE) -> RunResult:
    """What became of a scenario; its first line is line 4."""
    [scenario] = load_text(HEAD + body.lstrip("\n"), default_registry(), "tried.runcoord.yaml").scenarios
    assert isinstance(scenario, Scenario), scenario.error
    [variant] = variants(scenario)
    return run_variant(scenario, variant, subject=subject)


def failure(subject: ProgramSubject) -> Failure:
    """The fault that a whole life ends with, which is the program's."""
    result = run(subject)
    assert result.verdict is Verdict.FAILED
    assert result.failure is not None
    assert result.failure.kind is FailureKind.SUBJECT, result.failure
    return result.failure


def passes(result: RunResult) -> bool:
    """That a scenario passed; what came of it otherwise."""
    assert (result.verdict, result.failure, result.skipped) == (Verdict.PASSED, None, ""), result
    return True


def children() -> set[int]:
    """Pids of this process's children, the dead that nobody reaped among them."""
    return {each.pid for each in psutil.Process().children()}
