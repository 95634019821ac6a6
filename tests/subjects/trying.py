"""Runs scenarios given as text on a subject, and shows that the run goes on after a bad one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.running import compiled
from pytest_runcoord.runner import run_variant
from pytest_runcoord.scenario import variants
from pytest_runcoord.verdict import Failure, FailureKind, RunResult, Verdict
from subjects.toy import ToySession, ToySubject

LIFE = """
    steps:
      - open: w1
      - submit: {run: r1}
      - claim: {run: r1, as: job}
      - start: {with: job}
      - complete: {with: job}
      - close: w1
"""
"""A whole life; ``open`` is line 5 of the file, each step one line below the one before."""
LINES = {"open": 5, "submit": 6, "claim": 7, "start": 8, "complete": 9, "close": 10}


def tried(body: str, subject: Any = None) -> RunResult:
    """The result of the only variant."""
    scenario = compiled(body)
    [variant] = variants(scenario)
    return run_variant(scenario, variant, subject=ToySubject() if subject is None else subject)


def fault_of(subject: Any, line: int, verb: str, body: str = LIFE) -> Failure:
    """The fault that a bad subject ends its scenario with. The scenario after it, on a good one, passes."""
    result = tried(body, subject)
    after = tried(LIFE)
    assert after.verdict is Verdict.PASSED, after.failure
    failure = result.failure
    assert failure is not None, result
    assert (failure.kind, failure.name, failure.line) == (FailureKind.SUBJECT, verb, line), failure
    return failure


# --- subjects that do it wrong ---


class Oops(Exception):
    pass


class Cancelled(BaseException):
    """As some libraries end their work."""


def broken(verb: str, act: Callable[[], Any]) -> ToySubject:
    """The toy, one method of whose sessions does this instead."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return act()

    class Broken(ToySubject):
        session = type("BrokenSession", (ToySession,), {verb: method})
        capabilities = frozenset(ToySubject().capabilities)

    return Broken()


def bad_subject(part: str, act: Callable[[], Any]) -> ToySubject:
    """The toy, one part of whose subject does this instead."""

    def method(self: Any, *args: Any) -> Any:
        return act()

    value = property(method) if part in ("name", "capabilities", "version") else method
    made: ToySubject = type("Bad", (ToySubject,), {part: value})()
    return made


def raising(error: BaseException) -> Callable[[], Any]:
    def act() -> Any:
        raise error

    return act


def giving(value: Any) -> Callable[[], Any]:
    return lambda: value
