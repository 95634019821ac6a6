"""Ending a run whose shim is gone, or does not answer."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from runcoord._core.limits import KILL_SECONDS, SCAN_SECONDS, WITHOUT_SHIM_SECONDS
from runcoord._core.teardown import (
    LEFT,
    WITHOUT_SHIM,
    Fate,
    Membership,
    ProcessReport,
    Scan,
    Scope,
    Sighting,
    TeardownReport,
)
from runcoord._core.teardown_ledger import KILLING
from runcoord._core.texts import message_of
from runcoord._core.values import record
from runcoord._teardown import tear_down
from runcoord.errors import ProcessGone, RuncoordError, SignalDenied, StoreTimeout, StoreUnavailable
from runcoord.ports import LaunchOrder, PinnedProcess, Processes

if TYPE_CHECKING:
    from runcoord._teardown import Monotonic
    from runcoord.ports import Bounded, Sleeper

KILL = int(getattr(signal, "SIGKILL", signal.SIGTERM))
UNTOLD = "it could not be seen whether somebody in the command's group was handed over"


class Orphans:
    """What can be found of a run by its command and by its cookie.

    Nobody keeps the numbers of its group and session from being used anew, so these are no clues here. What
    has cleared its environment, and lost its parent, is found only if it is in the command's group: that is
    killed last, through the pin of the command, and never with somebody in it who was handed over.
    """

    def __init__(
        self,
        processes: Processes,
        order: LaunchOrder,
        *,
        shim: PinnedProcess | None,
        leader: PinnedProcess | None,
        clock: Monotonic,
        sleeper: Sleeper,
        bounded: Bounded,
        hurried: Callable[[], bool],
    ) -> None:
        self._processes, self._order, self._shim, self._leader = processes, order, shim, leader
        self._clock, self._sleeper, self._bounded, self._hurried = clock, sleeper, bounded, hurried
        self._working = threading.Lock()
        self._using_pins = threading.Lock()
        self._given_up = False
        """The pins are their owner's again, to be closed."""
        self._report: TeardownReport | None = None

    def tear_down(self, grace: float) -> TeardownReport:
        """End them; takes at most ``grace`` + ``WITHOUT_SHIM_SECONDS``, also where a look at a process never
        returns: then nobody knows who is left, and the report says so. A call after one that an exception of
        its caller left waits for the same teardown. Raises nothing of its own."""
        seconds = grace + WITHOUT_SHIM_SECONDS
        try:
            return self._bounded.call(seconds, lambda: self._once(grace))
        except StoreTimeout:
            with self._using_pins:
                self._given_up = True
            why = f"no answer from the system within {seconds:g} s, so it is not known who is left"
            return TeardownReport(
                False, (ProcessReport(0, Fate.UNKNOWN, why=why),), problems=(WITHOUT_SHIM, why)
            )
        except StoreUnavailable:  # the system gives no thread: without a bound is better than not at all
            return self._once(grace)

    def _once(self, grace: float) -> TeardownReport:
        with self._working:
            if self._report is None:
                self._report = self._ended(grace)
            return self._report

    def _ended(self, grace: float) -> TeardownReport:
        order, leader = self._order, self._leader
        if self._shim is not None:
            with contextlib.suppress(RuncoordError):  # left alone it would tear down a second time
                self._with_pin(self._shim, lambda shim: shim.signal(KILL))
        membership = Membership(
            cookie=order.cookie,
            recorded=() if leader is None else (replace(leader.identity, cookie=order.cookie),),
            scope=order.scope,
            former_group=0 if leader is None else leader.identity.pid,
            spared=order.cookie,
        )
        try:
            report = tear_down(
                self._processes,
                membership,
                grace=grace,
                clock=self._clock,
                sleeper=self._sleeper,
                hurried=self._hurried,
            )
        except RuncoordError as error:
            report = TeardownReport(emptied=False, problems=(error.problem,))
        if leader is not None:
            report = self._with_the_group(report, leader)
        return replace(report, problems=(WITHOUT_SHIM, *report.problems))

    # --- the command's group ---

    def _with_the_group(self, report: TeardownReport, leader: PinnedProcess) -> TeardownReport:
        """End who is left in the command's group, whatever is in its environment."""
        if not self._has_members(leader):
            return report
        cookie, group = self._order.cookie, leader.identity.pid
        members = Membership(cookie=cookie, group=group, scope=Scope.GROUP, spared=cookie)
        try:
            scan = self._processes.scan(members, SCAN_SECONDS)
        except Exception as error:  # noqa: BLE001 - a table that fails shows nothing
            scan = Scan(complete=False, problem=message_of(error))
        cases = [_Case(each, self._pinned(members, each)) for each in scan.members]
        if not self._has_members(leader):
            for case in cases:
                case.close()
            return report
        # It had members all the while, so nobody else had its number: those seen and held are its members.
        self._kill(leader, cases, at_once=scan.complete and not scan.spared)
        told = [each.report for each in cases]
        told += [_spared(each) for each in scan.spared]
        if not scan.complete:
            told.append(ProcessReport(0, Fate.UNKNOWN, why=UNTOLD))
            problems = (*report.problems, scan.problem, f"{UNTOLD}, so it was left alone")
            report = replace(report, problems=tuple(dict.fromkeys(problems)))
        return _merged(report, told)

    def _kill(self, leader: PinnedProcess, cases: list[_Case], *, at_once: bool) -> None:
        at_once = at_once and self._signalled_group(leader)
        for case in cases:
            if at_once:
                case.signalled = True
            else:
                case.kill()
        with contextlib.suppress(RuncoordError):
            self._processes.wait([each.pin for each in cases if each.pin is not None], KILL_SECONDS)
        for case in cases:
            case.settle()

    def _signalled_group(self, leader: PinnedProcess) -> bool:
        with contextlib.suppress(RuncoordError):
            return self._with_pin(leader, lambda pin: self._processes.signal_group(pin, KILL))
        return False

    def _has_members(self, leader: PinnedProcess) -> bool:
        """Whether its group has members still, zombies among them: asked through the pin."""
        try:
            return self._with_pin(leader, lambda pin: self._processes.signal_group(pin, 0))
        except SignalDenied:
            return True
        except RuncoordError:  # nobody; or this system has no way to signal a group by a pin
            return False

    def _pinned(self, members: Membership, seen: Sighting) -> PinnedProcess | None:
        with contextlib.suppress(RuncoordError):
            return self._processes.pin(members, seen.identity.pid)
        return None

    def _with_pin(self, pin: PinnedProcess, use: Callable[[PinnedProcess], None]) -> bool:
        """Use a pin that is not ours; not when it was given back."""
        with self._using_pins:
            if not self._given_up:
                use(pin)
            return not self._given_up


@record
class _Case:
    """One member of the command's group."""

    seen: Sighting
    pin: PinnedProcess | None
    signalled: bool = False
    fate: Fate = Fate.UNKNOWN
    why: str = ""

    def kill(self) -> None:
        if self.pin is None:
            return
        try:
            self.pin.signal(KILL)
            self.signalled = True
        except ProcessGone:
            self.fate = Fate.ENDED
        except RuncoordError as error:
            self.fate = Fate.DENIED if isinstance(error, SignalDenied) else Fate.UNKNOWN
            self.why = error.problem

    def settle(self) -> None:
        if self.pin is None:
            self.why = "it could not be held"
            return
        try:
            if self.pin.ended():
                self.fate = Fate.KILLED if self.signalled else Fate.ENDED
            elif self.signalled:
                self.fate, self.why = Fate.SURVIVED, "it was alive after the last signal"
        except RuncoordError as error:
            self.why = error.problem
        self.close()

    def close(self) -> None:
        if self.pin is not None:
            self.pin.close()

    @property
    def report(self) -> ProcessReport:
        signals = (KILLING,) if self.signalled else ()
        identity = self.seen.identity
        why = self.why if self.fate in LEFT else ""
        return ProcessReport(
            identity.pid, self.fate, ("group",), signals, self.seen.name, self.seen.state, identity.start, why
        )


def _spared(seen: Sighting) -> ProcessReport:
    return ProcessReport(
        seen.identity.pid,
        Fate.SPARED,
        tuple(sorted(each.value for each in seen.found)),
        (),
        seen.name,
        seen.state,
        seen.identity.start,
    )


def _merged(report: TeardownReport, told: list[ProcessReport]) -> TeardownReport:
    """The report with what was found out about the group since."""
    news = {each.pid for each in told}
    known = {each.pid for each in report.processes}
    left = [each for each in told if each.fate in LEFT]
    rest = [each for each in told if each.fate not in LEFT]
    return replace(
        report,
        emptied=report.emptied and not left,
        processes=(*left, *(each for each in report.processes if each.pid not in news), *rest),
        counted=report.counted + len(news - known - {0}),
    )
