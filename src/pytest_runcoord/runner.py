"""Runs one variant of one scenario: world, steps, expectations, healing, invariants, verdict."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path

from pytest_runcoord.arming import ANY_MOMENT, Armed
from pytest_runcoord.failures import StepFailed, failure_at
from pytest_runcoord.garbage import collected_at_the_end
from pytest_runcoord.healing import heal
from pytest_runcoord.history import HistoryFull
from pytest_runcoord.incarnation import Life
from pytest_runcoord.invariants import WATCHED, Invariant, Watch
from pytest_runcoord.probed_ports import Crashed, NeverReturns
from pytest_runcoord.reference import Reference
from pytest_runcoord.scenario import Clause, Expectation, Scenario, Step, Variant
from pytest_runcoord.subject import Subject
from pytest_runcoord.verbs.asking import ANY_REFUSAL, in_words
from pytest_runcoord.verbs.time import set_time_zone
from pytest_runcoord.verdict import Failure, FailureKind, RunResult, Verdict
from pytest_runcoord.world import (
    BoundReached,
    Denied,
    World,
    WorldPlan,
)
from pytest_runcoord.world_errors import CannotBeReal, FailedMeanwhile, SubjectFault

MEMORY_DISK = Path("/dev/shm")
"""Where scenarios keep their files if it is there: a process that dies loses nothing of it, which is the
durability that scenarios are about, and nobody waits for a disk."""

_now = time.perf_counter
"""Bound at import: a frozen clock of the code under test never measures the harness."""


def run_variant(
    scenario: Scenario,
    variant: Variant,
    *,
    subject: Subject | None = None,
    attach: Callable[[World], None] | None = None,
    around: Callable[[Subject], Subject] | None = None,
    watched: tuple[type[Invariant], ...] = WATCHED,
) -> RunResult:
    """Run one variant on ``subject`` (the reference, when none is given). Never raises for a failure of the
    scenario, of the subject, or of the harness: each is in the result.

    ``attach`` is given the world before its first step, to follow what happens; not for a variant that is
    skipped at once. ``around`` is given the subject, also the reference, and gives what runs instead.
    ``watched`` are the invariants: those that come with runcoord, and a project's own."""
    began = _now()
    choices = {name: str(value) for name, value in variant.choices.items()}
    result = RunResult(scenario.name, variant.name, Verdict.UNKNOWN, choices=choices)
    reason = _senseless(choices, foreign=subject is not None)
    if reason:
        result.verdict, result.skipped = Verdict.SKIPPED, reason
        return result
    over = _nothing
    if subject is None:
        subject = _reference(choices)
    else:
        try:
            subject, over = _guarded(subject)
        except SubjectFault as fault:  # it cannot even say what it is
            result.verdict, result.failure = Verdict.FAILED, failure_at(None, scenario, fault, begun=False)
            return result
    if around is not None:
        subject = around(subject)
    missing = _lacking(scenario, subject)
    if missing:
        result.verdict, result.missing = Verdict.SKIPPED, missing
        result.skipped = f"{subject.name} lacks {', '.join(missing)}"
        return result
    directory = Path(tempfile.mkdtemp(prefix="runcoord-", dir=_scratch()))
    try:
        with collected_at_the_end():
            _Run(scenario, subject, directory, result, attach, over, watched).run()
    except StepFailed as fault:  # a given word of a project's own, before there was a world
        result.verdict, result.failure = Verdict.FAILED, failure_at(None, scenario, fault, begun=False)
    finally:
        _remove(directory)
        result.seconds = _now() - began
    return result


def _lacking(scenario: Scenario, subject: Subject) -> tuple[str, ...]:
    """What a scenario needs and the subject lacks: capabilities, and moments where it says which it has."""
    missing = sorted(name for name in scenario.needs if name not in subject.capabilities)
    known = getattr(subject, "moments", None)
    if scenario.moments and not missing and isinstance(known, Collection):
        missing = [f"the moment {name}" for name in sorted(scenario.moments) if name not in known]
    return tuple(missing)


def _remove(directory: Path) -> None:
    try:
        directory.rmdir()
    except OSError:  # something was left in it, as by every store in a file
        shutil.rmtree(directory, ignore_errors=True)


def of_the_reference(choices: Mapping[str, str]) -> str:
    """The choice that a variant makes among what only the reference has; empty if it makes none."""
    store = choices.get("store", "default")
    return "tier real" if choices.get("tier") == "real" else "" if store == "default" else f"store {store}"


def _senseless(choices: Mapping[str, str], *, foreign: bool) -> str:
    """Why a variant with these choices cannot be run at all; empty if it can."""
    store = choices.get("store", "default")
    if choices.get("tier") == "real" and (foreign or store != "default"):
        return "the real tier runs the reference on its default store"
    if foreign and store != "default":
        return f"the store {store!r} is one of the reference; a subject keeps its own"
    return ""


def _guarded(subject: Subject) -> tuple[Subject, Callable[[], None]]:
    """A subject of somebody else behind a guard, and what is called when its scenario is over."""
    from pytest_runcoord.subjects.guarded import Guarded

    guarded = Guarded(subject)
    return guarded, guarded.over


def _nothing() -> None:
    """The reference leaves nothing behind."""


def _reference(choices: dict[str, str]) -> Subject:
    if choices.get("tier") != "real":
        return Reference(choices.get("store", "default"))
    from pytest_runcoord.real.remote import RealReference

    return RealReference()


@cache
def _scratch() -> Path | None:
    usable = MEMORY_DISK.is_dir() and os.access(MEMORY_DISK, os.W_OK)
    return MEMORY_DISK if usable else None


class _Run:
    """One scenario under way."""

    def __init__(
        self,
        scenario: Scenario,
        subject: Subject,
        directory: Path,
        result: RunResult,
        attach: Callable[[World], None] | None,
        over: Callable[[], None],
        watched: tuple[type[Invariant], ...],
    ) -> None:
        self._scenario, self._subject, self._result, self._over = scenario, subject, result, over
        plan = WorldPlan(choices=dict(result.choices))
        for given in scenario.given:
            assert given.word.function is not None
            given.word.function(plan, given)
        self._world = World(subject, directory, plan)
        self._world.run_step = self._step
        self._world.check = self._expect
        if result.choices.get("tier") == "real":
            from pytest_runcoord.real import RealProcessWorld, process_of

            self._world.process_of, self._world.real = process_of, True
            self._world.processes = RealProcessWorld(self._world)
        self._watch = Watch(self._world, watched)
        self._world.observers.append(self._watch.look)
        self._world.sweep_watchers.append(self._watch.sweep)
        self._at: Clause | None = None
        if attach is not None:
            attach(self._world)

    def run(self) -> None:
        result = self._result
        try:
            zone = result.choices.get("tz", "UTC")
            if zone != "UTC":
                set_time_zone(self._world, zone)
            for step in self._scenario.steps:
                self._step(step)
            for expectation in self._scenario.expect:
                self._expect(expectation)
            self._require_met_faults()
            heal(self._world, self._watch, self._scenario.heal_sweeps)
        except Exception as error:  # noqa: BLE001  every failure is a result
            result.verdict = Verdict.FAILED
            result.failure = self._failure(error)
        except CannotBeReal as reason:
            result.verdict, result.skipped = Verdict.SKIPPED, str(reason)
        except (BoundReached, FailedMeanwhile, HistoryFull, NeverReturns, Crashed) as bound:
            result.verdict = Verdict.FAILED
            result.failure = self._failure(bound)
        else:
            result.verdict = Verdict.PASSED
        finally:
            try:
                result.exercised = self._watch.exercised()
                result.moments = dict(self._world.moments)
                self._draw()
            finally:
                self._end()

    def _end(self) -> None:
        """Let go of everything, also where an interrupt or a skip comes from it: nothing stays patched."""
        try:
            self._let_go(self._world.end)
        finally:
            self._let_go(self._over)
            self._world.forget_watchers()

    def _let_go(self, act: Callable[[], None]) -> None:
        """What the subject does wrong in that counts, unless something did before."""
        try:
            act()
        except SubjectFault as fault:
            if self._result.verdict is Verdict.PASSED:
                self._result.verdict, self._result.failure = Verdict.FAILED, self._failure(fault)
                self._draw()

    def _draw(self) -> None:
        """What a report shows of a failure."""
        if self._result.failure is not None:
            from pytest_runcoord.picture.recording import drawn

            self._result.history = self._world.history.lines()
            self._result.picture = drawn(self._world, self._result)

    # --- steps ---

    def _step(self, step: Step) -> None:
        """One step, also a nested one: with its crash point, its expected refusal, its invariants."""
        world = self._world
        outer = self._at
        self._at = step
        world.history.step = step.line
        began = world.step_began, world.step_rows
        if step.name != "expect":
            began = world.step_began, world.step_rows = world.clock.boottime(), world.rows_written()
        self._carry_out(step)
        world.step_began, world.step_rows = began
        world.observe()
        if outer is not None:
            self._at = outer
            world.history.step = outer.line
        if step is self._at:
            self._at = None

    def _carry_out(self, step: Step) -> None:
        if not step.options:
            self._attempt(step, None, crashes=False)
            return
        wanted, point = step.options.get("refused"), step.options.get("crash_at")
        if point is None:
            self._attempt(step, wanted, crashes=False)
            return
        moment = ANY_MOMENT if point.moment is None else point.moment
        owner = step.options.get("by", "")
        armed = Armed(moment, lambda who: self._world.crash(who.owner), owner, point.effect or 1)
        self._world.arming.during(armed, lambda: self._attempt(step, wanted, crashes=True))

    def _attempt(self, step: Step, wanted: str | None, *, crashes: bool) -> None:
        """Do what a step says. ``wanted``: the refusal that it expects; ``crashes``: so does its owner."""
        function = step.word.function
        assert function is not None
        try:
            function(self._world, step)
        except Denied as denied:
            self._judge(step, wanted, denied)
        except Crashed:
            if not crashes and step.word.name != "during" and not self._was_crashed(step):
                raise
        else:
            if wanted is not None and not crashes:
                self._world.observe()  # an invariant says more than that the step was accepted
                raise StepFailed(
                    FailureKind.EXPECTATION,
                    "refused",
                    f"{step.name} was accepted",
                    expected=in_words(wanted),
                    seen="accepted",
                )

    def _was_crashed(self, step: Step) -> bool:
        """Whether the owner of this step died while it was carried out, by another step that said so."""
        owner = self._world.owners.get(step.options.get("by", ""))
        return any(each.life is Life.CRASHED for each in ([owner] if owner else self._world.incarnations))

    def _judge(self, step: Step, wanted: str | None, denied: Denied) -> None:
        if wanted in (denied.code, ANY_REFUSAL) or (wanted is None and step.options.get("may_refuse")):
            return
        if wanted is None:
            raise StepFailed(
                FailureKind.STEP,
                step.name,
                f"{step.name} was refused as {denied.code}",
                expected="accepted",
                seen=f"{denied.code}: {denied}",
                remedy=f"If that is right, say so: refused: {denied.code}",
            ) from denied
        self._world.observe()  # an invariant says more than that it was another refusal
        raise StepFailed(
            FailureKind.EXPECTATION,
            "refused",
            f"{step.name} was refused for another reason",
            expected=in_words(wanted),
            seen=f"{denied.code}: {denied}",
        ) from denied

    def _expect(self, expectation: Expectation) -> None:
        outer, self._at = self._at, expectation
        self._world.history.step = expectation.line
        function = expectation.word.function
        assert function is not None
        function(self._world, expectation)
        self._at = outer

    def _require_met_faults(self) -> None:
        """A fault that no call met shows nothing, however green the rest is."""
        for fault in self._world.faults:
            if not fault.met:
                self._at = fault.step
                raise StepFailed(
                    FailureKind.MOMENT,
                    "fault",
                    f"no {fault.verb} met the fault",
                    expected="at least one call that it happens to",
                    seen="none by the end of the scenario",
                    remedy="Name a call that its owner makes afterwards, or leave the fault out.",
                )

    # --- failing ---

    def _failure(self, error: BaseException) -> Failure:
        return failure_at(self._at, self._scenario, error)
