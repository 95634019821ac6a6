"""What an error that ended a scenario means, and the step at which it ended, on one line."""

from __future__ import annotations

import json

from pytest_runcoord.history import HistoryFull
from pytest_runcoord.invariants import Violated
from pytest_runcoord.probed_ports import Crashed, NeverReturns
from pytest_runcoord.scenario import Clause, Scenario, Step
from pytest_runcoord.verbs.comparing import Unmet
from pytest_runcoord.verdict import Failure, FailureKind
from pytest_runcoord.world_errors import (
    BoundReached,
    Denied,
    FailedMeanwhile,
    MomentMissed,
    ScenarioMistake,
    SubjectFault,
    printable,
)


class StepFailed(Exception):
    """A step did not end as the scenario says it does."""

    def __init__(
        self,
        kind: FailureKind,
        name: str,
        problem: str,
        *,
        expected: str = "",
        seen: str = "",
        remedy: str = "",
    ) -> None:
        super().__init__(problem)
        self.kind, self.name, self.problem = kind, name, problem
        self.expected, self.seen, self.remedy = expected, seen, remedy


def describe(error: BaseException) -> StepFailed:
    """What an error that ended a scenario means."""
    if isinstance(error, FailedMeanwhile):
        return describe(error.error)
    if isinstance(error, StepFailed):
        return error
    if isinstance(error, Violated):
        return StepFailed(
            FailureKind.INVARIANT, error.invariant, error.problem, expected=error.expected, seen=error.seen
        )
    if isinstance(error, Unmet):
        return StepFailed(
            FailureKind.EXPECTATION, "expect", error.problem, expected=error.expected, seen=error.seen
        )
    if isinstance(error, Denied):
        return StepFailed(
            FailureKind.STEP, "open", f"refused as {error.code}", expected="accepted", seen=str(error)
        )
    if isinstance(error, MomentMissed):
        return StepFailed(
            FailureKind.MOMENT,
            error.moment,
            f"the moment {error.moment!r} was never reached in this step",
            expected="that it is reached once",
            seen="the step ended without it",
            remedy="Choose a moment that this step reaches, or check that the step writes anything at all.",
        )
    if isinstance(error, ScenarioMistake):
        return StepFailed(FailureKind.STEP, "scenario", str(error), remedy=error.remedy)
    if isinstance(error, SubjectFault):
        return StepFailed(
            FailureKind.SUBJECT,
            error.verb,
            str(error),
            expected=error.expected,
            seen=error.seen,
            remedy=error.remedy,
        )
    if isinstance(error, NeverReturns):
        return StepFailed(
            FailureKind.BOUND,
            "never-returns",
            "a call to the store that never returns was made without a bound",
            expected="a bounded wait",
            seen="it would wait for ever",
        )
    if isinstance(error, BoundReached | HistoryFull):
        return StepFailed(
            FailureKind.BOUND,
            "bound",
            str(error),
            expected="an end",
            seen="it goes on",
            remedy=getattr(error, "remedy", "Look for a loop."),
        )
    if isinstance(error, Crashed):
        return StepFailed(
            FailureKind.STEP, "crashed", f"{error} is dead and was used", expected="a live owner"
        )
    return StepFailed(
        FailureKind.SUBJECT,
        type(error).__name__,
        f"the harness or the subject raised {type(error).__name__}: {error}",
        remedy="Run again with --full-trace to see where.",
    )


def failure_at(at: Clause | None, scenario: Scenario, error: BaseException, *, begun: bool = True) -> Failure:
    """Why a scenario failed, and where: at a step or an expectation, after the last one or before any."""
    described = describe(error)
    position = at.position if at is not None else scenario.position
    if at is None and begun and described.kind in AT_THE_LAST_STEP and scenario.steps:
        position = scenario.steps[-1].position
    return Failure(
        described.kind,
        printable(described.name),
        printable(described.problem),
        position.path,
        position.line,
        position.column,
        as_written(at) if at is not None else "after the last step" if begun else "before the first step",
        printable(described.expected),
        printable(described.seen),
        printable(described.remedy),
    )


AT_THE_LAST_STEP = (FailureKind.INVARIANT, FailureKind.SUBJECT)
"""What is shown at the last step where it came to light after it."""


def as_written(clause: Clause) -> str:
    """The step or expectation on one line."""
    values = {name: clause.args[name] for name in clause.stated if name in clause.args}
    values |= {name: str(value) for name, value in clause.options.items()}
    inside = ", ".join(f"{name}: {_short(value)}" for name, value in values.items())
    return f"{clause.name}: {{{inside}}}" if inside else clause.name


def _short(value: object) -> str:
    if isinstance(value, str):
        return value if len(value) <= 40 else value[:39] + "…"
    if isinstance(value, Step):
        return "{" + as_written(value) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(_short(each) for each in value) + "]"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:59] + "…"
