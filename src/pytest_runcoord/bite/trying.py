"""Tries one fault after another on the collected variants, and says of each whether the gate turned red."""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_runcoord.bite.choosing import Candidate, for_fault
from pytest_runcoord.bite.fault import BoundaryFault
from pytest_runcoord.invariants import WATCHED, Invariant
from pytest_runcoord.runner import run_variant
from pytest_runcoord.subject import Subject
from pytest_runcoord.verdict import Failure, FailureKind, RunResult, Verdict
from pytest_runcoord.world import World

MOST_SECONDS = 300.0
"""Real seconds for one fault: the shipped suite takes a tenth of that, so what takes longer hangs, or has
grown beyond what a gate can wait for."""
MOST_NAMED = 10
"""Variants that a report names of those that met a fault."""
JUDGED = frozenset({FailureKind.EXPECTATION, FailureKind.INVARIANT, FailureKind.STEP, FailureKind.MOMENT})
"""Failures by which a gate says what was wrong. One that raises, or never ends, says nothing of it."""

_now = time.perf_counter
"""Bound at import: a frozen clock of the code under test never measures the harness."""


OF_A_SUBJECT = ("name", "capabilities", "open", "refusal", "snapshot", "finish")
"""What every subject has."""


class CannotBePutIn(Exception):
    """A fault is wrong itself. The message says how."""


class Bitten(enum.StrEnum):
    """What came of one fault."""

    RED = "red"
    GREEN = "green"
    NEVER_MET = "never-met"
    NO_GREEN_VARIANT = "no-green-variant"
    SKIPPED = "skipped"


@dataclass(slots=True)
class Bite:
    """What came of one fault, with all that a report says."""

    fault: BoundaryFault
    verdict: Bitten = Bitten.SKIPPED
    reason: str = ""
    """Why it is no bite, in one sentence."""
    variant: str = ""
    """What turned red: file, scenario and variant, as in a node id."""
    failure: Failure | None = None
    tried: int = 0
    of: int = 0
    """Variants that can be run on this subject at all."""
    met: list[str] = field(default_factory=list)
    """Variants that had occasion to show the fault and stayed green."""
    broke: dict[str, str] = field(default_factory=dict)
    """Variants in which the subject failed on the fault, so that nothing was judged, and how it failed."""
    skipped: int = 0
    """Variants that cannot be run, for another reason than what the subject lacks."""
    red_before: int = 0
    """Variants that are red without the fault."""
    seconds: float = 0.0
    accepted: str = ""
    """Who accepted, until when and why, that nothing turns red by it."""

    @property
    def by(self) -> str:
        """The invariant, or the word of the scenario, that turned red; ``refused`` for a step that was to
        be."""
        failure = self.failure
        if failure is None:
            return ""
        by_word = failure.kind in (FailureKind.EXPECTATION, FailureKind.STEP) and failure.name != "refused"
        return failure.step.partition(":")[0] if by_word else failure.name

    def as_json(self) -> dict[str, Any]:
        """Plain JSON types only."""
        failure = self.failure
        return {
            "fault": self.fault.name,
            "says": self.fault.says,
            "verdict": self.verdict.value,
            "reason": self.reason or None,
            "accepted": self.accepted or None,
            "variant": self.variant or None,
            "kind": None if failure is None else failure.kind.value,
            "by": self.by or None,
            "path": None if failure is None else failure.path,
            "line": None if failure is None else failure.line,
            "tried": self.tried,
            "of": self.of,
            "met": len(self.met),
            "seconds": round(self.seconds, 3),
        }


class Trials:
    """Tries faults on the variants of one session. ``subject`` gives the subject of one variant, ``None``
    for the reference; ``watched`` are the invariants. What is green without a fault is found out once for
    each variant."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        subject: Callable[[], Subject | None],
        able: frozenset[str],
        name: str,
        watched: tuple[type[Invariant], ...] = WATCHED,
    ) -> None:
        self.candidates, self.able, self.name = candidates, able, name
        self._watched = watched
        self._subject = subject
        self._green: dict[str, bool] = {}

    def bite(self, fault: BoundaryFault, progress: Callable[[Bite], None] = lambda _: None) -> Bite:
        """Try a fault until a variant turns red by it that is green without. ``progress`` is told after each
        variant that it did not. Raises :class:`CannotBePutIn`."""
        bite, began = Bite(fault), _now()
        lacking = sorted(fault.needs - self.able)
        if lacking:
            bite.reason = f"{self.name} lacks {', '.join(lacking)}"
            return bite
        chosen = for_fault(fault, self.able, self.candidates)
        bite.of = len(chosen)
        for candidate in chosen:
            if _now() - began > MOST_SECONDS:
                break
            if self._turns_red(candidate, bite):
                bite.verdict = Bitten.RED
                break
            bite.seconds = _now() - began
            progress(bite)
        bite.seconds = _now() - began
        if bite.verdict is not Bitten.RED:
            bite.verdict, bite.reason = _why_not(bite)
        return bite

    def is_green(self, candidate: Candidate) -> bool:
        """Whether a variant passes without any fault."""
        green = self._green.get(candidate.name)
        if green is None:
            result = run_variant(
                candidate.scenario, candidate.variant, subject=self._subject(), watched=self._watched
            )
            green = self._green[candidate.name] = result.verdict is Verdict.PASSED
        return green

    def _turns_red(self, candidate: Candidate, bite: Bite) -> bool:
        result, met = self.with_fault(candidate, bite.fault)
        bite.tried += 1
        if result.verdict is Verdict.SKIPPED:
            bite.skipped += 1
            return False
        if result.verdict is Verdict.PASSED:
            if met:
                bite.met.append(candidate.name)
            return False
        if not self.is_green(candidate):
            bite.red_before += 1
            return False
        if result.failure is None or result.failure.kind not in JUDGED or met == 0:
            bite.broke[candidate.name] = "" if result.failure is None else result.failure.problem
            return False
        bite.variant, bite.failure = candidate.name, result.failure
        return True

    def with_fault(self, candidate: Candidate, fault: BoundaryFault) -> tuple[RunResult, int | None]:
        """What comes of a variant with a fault, and how often that was met, where the fault counts it."""
        faulty: list[Subject] = []

        def around(subject: Subject) -> Subject:
            faulty.append(_wrapped(fault, subject))
            return faulty[0]

        def attach(world: World) -> None:
            told = getattr(faulty[0], "attach", None)
            if told is not None:
                told(world)

        result = run_variant(
            candidate.scenario,
            candidate.variant,
            subject=self._subject(),
            around=around,
            attach=attach,
            watched=self._watched,
        )
        met = getattr(faulty[0], "met", None) if faulty else 0
        return result, None if met is None else int(met)


def _wrapped(fault: BoundaryFault, subject: Subject) -> Subject:
    try:
        faulty = fault.wrap(subject)
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise CannotBePutIn(f"the fault cannot be put in: its 'wrap' raised {said}") from error
    lacking = [name for name in OF_A_SUBJECT if not hasattr(faulty, name)]
    if lacking:
        raise CannotBePutIn(
            f"the fault cannot be put in: its 'wrap' gave {faulty!r:.80}, which is no subject: it has no "
            f"{', '.join(lacking)}"
        )
    return faulty


def _why_not(bite: Bite) -> tuple[Bitten, str]:
    """The verdict on a fault that turned nothing red, with the reason."""
    late = "" if bite.tried == bite.of else f"; {bite.of - bite.tried} were not tried in {MOST_SECONDS:g} s"
    broke = f"; in {len(bite.broke)} the subject failed on it, which says nothing" if bite.broke else ""
    if not bite.of:
        words = ", ".join(sorted(bite.fault.shows_in))
        why = f"none that runs on this subject uses any of: {words}" if words else "none runs on this subject"
        return Bitten.NEVER_MET, f"no scenario gave it occasion: {why}"
    if bite.met:
        met = _variants(len(bite.met))
        return Bitten.GREEN, f"the gate stays green: {met} met the fault, and none turned red{broke}{late}"
    if bite.red_before and bite.red_before + bite.skipped == bite.tried:
        red = _variants(bite.red_before)
        return Bitten.NO_GREEN_VARIANT, f"{red} tried, and red without the fault{late}"
    return (
        Bitten.NEVER_MET,
        f"no scenario gave it occasion: {_variants(bite.tried)} tried, and none met the fault{broke}{late}",
    )


def _variants(count: int) -> str:
    return f"{count} variant{'' if count == 1 else 's'}"
