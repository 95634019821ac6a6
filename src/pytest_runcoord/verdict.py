"""What came of one scenario: the values that reports are made of. Plain data, no pytest, no behaviour."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from runcoord.values import field, record, value

if TYPE_CHECKING:
    from pytest_runcoord.picture.model import Picture


class Verdict(enum.StrEnum):
    """``unknown`` is never success: the run could not decide (a bound was reached, the harness failed)."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"


class FailureKind(enum.StrEnum):
    """What was not as it should be."""

    EXPECTATION = "expectation"
    """An ``expect`` entry, or a step's own ``refused``."""
    INVARIANT = "invariant"
    STEP = "step"
    """A step was refused or failed, though nothing said so."""
    MOMENT = "moment"
    """A named moment (``crash_at``, ``during``) was never reached."""
    BOUND = "bound"
    """The scenario did not end within its bounds."""
    SUBJECT = "subject"
    """The subject raised what it must not, or answered nonsense."""
    EXTENSION = "extension"
    """A word or an invariant of the project's own raised what it must not; that says nothing of the
    subject."""


@value
class Moment:
    """The three clocks at one moment, in seconds since the scenario began, and the wall clock's text."""

    wall: float
    monotonic: float
    boottime: float


@value
class Line:
    """One line of the history: who did what, how it ended, when on each clock."""

    number: int
    actor: str
    what: str
    status: str
    """``ok``, ``refused``, ``failed``, ``unknown``, ``crashed`` or empty for things that just happen."""
    detail: str
    at: Moment
    step: int
    """Line in the scenario file of the step under way; 0 for the healing after the last step."""


@value
class Failure:
    """Why a scenario failed, with everything that a report shows."""

    kind: FailureKind
    name: str
    """Id of the invariant, word of the expectation or verb of the step."""
    problem: str
    """One sentence."""
    path: str
    line: int
    column: int
    step: str
    """The step or expectation as written, on one line."""
    expected: str = ""
    seen: str = ""
    remedy: str = ""


@record
class RunResult:
    """The outcome of one variant of one scenario."""

    scenario: str
    variant: str
    verdict: Verdict
    failure: Failure | None = None
    skipped: str = ""
    """Why it was skipped: names the missing capability or tier."""
    missing: tuple[str, ...] = ()
    """Capabilities that the subject lacks."""
    exercised: dict[str, int] = field(default_factory=dict)
    """For every invariant how often it had occasion to fail."""
    history: list[Line] = field(default_factory=list)
    picture: Picture | None = None
    """What happened, with a lane for everybody; of a failure only."""
    choices: dict[str, str] = field(default_factory=dict)
    """The axis values of this variant."""
    moments: dict[str, int] = field(default_factory=dict)
    """Named moments that were reached, and how often."""
    seconds: float = 0.0
    """Real time that it took, measured with a clock that nothing here patches."""

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types only: this crosses process borders under xdist."""
        failure = self.failure
        return {
            "scenario": self.scenario,
            "variant": self.variant,
            "verdict": self.verdict.value,
            "skipped": self.skipped,
            "missing": list(self.missing),
            "exercised": dict(self.exercised),
            "choices": dict(self.choices),
            "moments": dict(self.moments),
            "seconds": self.seconds,
            "failure": None
            if failure is None
            else {
                "kind": failure.kind.value,
                "name": failure.name,
                "problem": failure.problem,
                "path": failure.path,
                "line": failure.line,
                "column": failure.column,
            },
        }
