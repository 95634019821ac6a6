"""Seeded defects of holding a lease while the work goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from defects.catalogue import Defect
from defects.other_clocks import plan_on
from runcoord import Ended, ExecutionReport, Lease, Outcome, Renewal
from runcoord._coordinator import RunVerbs
from runcoord._core import decide as rules
from runcoord._core import requests as ask
from runcoord._core.model import Deadline, Instant, Run, State
from runcoord._executor import Execution, Executor
from runcoord._heartbeat import Heartbeat, Hold
from runcoord.errors import LeaseLost, StoreError, WorkCancelled
from runcoord.ports import Message


def _ends_with_the_first_failure(patch: pytest.MonkeyPatch) -> None:
    """A renewal that fails ends the heartbeat for good, and nobody looks at the lease any more."""
    renew, next_due, guard = Heartbeat._renew, Heartbeat.next_due, Heartbeat.guard
    ended: set[int] = set()

    def once(self: Heartbeat, now: float) -> None:
        before = len(self.reports)
        renew(self, now)
        if any(report.what == "renewal-failed" for report in self.reports[before:]):
            ended.add(id(self))

    patch.setattr(Heartbeat, "_renew", once)
    patch.setattr(Heartbeat, "next_due", lambda self: None if id(self) in ended else next_due(self))
    patch.setattr(Heartbeat, "guard", lambda self: None if id(self) in ended else guard(self))


def _waits_a_whole_interval(patch: pytest.MonkeyPatch) -> None:
    """A renewal that failed is tried again only when the next is due: a second failure loses the lease."""
    patch.setattr("runcoord._core.limits.RENEW_RETRY_SECONDS", 30.0)


def _never_takes_it_again(patch: pytest.MonkeyPatch) -> None:
    """An expired lease cannot be renewed, and there is no other way: the work goes on without one."""
    patch.setattr(Heartbeat, "_reacquire", lambda self: None)
    patch.setattr(Heartbeat, "next_due", lambda self: self._clock.boottime() + 30.0)
    _trusts_for_ever(patch)


def _trusts_for_ever(patch: pytest.MonkeyPatch) -> None:
    """Effects go on until a renewal is refused, whatever the clock says."""
    patch.setattr(Heartbeat, "guard", lambda self: None)


def _takes_it_silently(patch: pytest.MonkeyPatch) -> None:
    report = Heartbeat._report

    def hushed(self: Heartbeat, what: str, why: str = "") -> None:
        if what != "reacquired":
            report(self, what, why)

    patch.setattr(Heartbeat, "_report", hushed)


def _renews_without_a_bound(patch: pytest.MonkeyPatch) -> None:
    class Unbounded:
        def call(self, seconds: float, call: Callable[[], Any]) -> Any:
            return call()

    init = Heartbeat.__init__

    def opened(self: Heartbeat, verbs: RunVerbs, lease: Lease, bounded: object) -> None:
        init(self, verbs, lease, Unbounded())

    patch.setattr(Heartbeat, "__init__", opened)


def _blocks_only_when_told(patch: pytest.MonkeyPatch) -> None:
    """Effects are blocked by what a renewal answers, not by the holder's own deadline."""

    def guard(self: Heartbeat) -> None:
        if self._hold is Hold.CANCELLED:
            raise WorkCancelled("the work must end", run=self.lease.run_id)

    patch.setattr(Heartbeat, "guard", guard)


def _counts_from_the_answer(patch: pytest.MonkeyPatch) -> None:
    renew = RunVerbs.renew

    def answered(self: RunVerbs, lease: Lease) -> Renewal:
        renewal = renew(self, lease)
        return replace(renewal, lease=replace(renewal.lease, sent=self.clock.boottime()))

    patch.setattr(RunVerbs, "renew", answered)


def _tries_for_ever(patch: pytest.MonkeyPatch) -> None:
    """A try to re-acquire that gets no answer is made again and again, and the work is never cancelled."""

    def again(self: Heartbeat) -> None:
        lease = self._lease
        try:
            renewal = self._bounded.call(10.0, lambda: self._verbs.reacquire(lease))
        except StoreError:
            return
        self._accept(renewal)

    patch.setattr(Heartbeat, "_reacquire", again)


def _spins_beside_a_call(patch: pytest.MonkeyPatch) -> None:
    """While another thread re-acquires, the timer says that it is due at once."""
    next_due = Heartbeat.next_due

    def at_once(self: Heartbeat) -> float | None:
        return self._clock.boottime() if self._calling else next_due(self)

    patch.setattr(Heartbeat, "next_due", at_once)


def _completes_whatever_happened(patch: pytest.MonkeyPatch) -> None:
    """A completion under a lost lease is answered as if it had been recorded."""

    def silent(run: Run, request: ask.Complete, now: Instant) -> rules.Decision:
        try:
            return rules._complete(run, request, now)
        except LeaseLost:
            return rules.Decision(run, False)

    patch.setitem(rules._RULES, ask.Complete, silent)


def _never_says_late(patch: pytest.MonkeyPatch) -> None:
    def unmarked(run: Run, request: ask.Complete, now: Instant) -> rules.Decision:
        if run.lease is not None:
            run = replace(run, lease=Deadline.after(now, 1.0))
        return rules._complete(run, request, now)

    patch.setitem(rules._RULES, ask.Complete, unmarked)


def _refuses_what_is_late(patch: pytest.MonkeyPatch) -> None:
    require = rules._require_holder
    patch.setattr(
        rules, "_require_holder", lambda run, lease, now, expired_is_fine=False: require(run, lease, now)
    )


def _executor_does_not_say_lost(patch: pytest.MonkeyPatch) -> None:
    finish = Execution.finish

    def cheerful(self: Execution, outcome: Outcome, *, result: str = "", error: str = "") -> ExecutionReport:
        return replace(finish(self, outcome, result=result, error=error), ended=Ended.RECORDED)

    patch.setattr(Execution, "finish", cheerful)


def _sleeps_with_the_machine(patch: pytest.MonkeyPatch) -> None:
    """The holder counts on a clock that stands still while the machine sleeps."""

    plan_on(patch, Heartbeat, lambda verbs, lease, bounded: verbs.clock, lambda clock: clock.monotonic())


def _sweeps_up_its_own_work(patch: pytest.MonkeyPatch) -> None:
    """The sweep of a process ends what the very same process is working on."""
    patch.setattr(Executor, "holds", lambda self, run_id: False)


def _looks_for_stops_without_a_bound(patch: pytest.MonkeyPatch) -> None:
    def unbounded(self: Heartbeat, now: float) -> None:
        self._verbs.run(self._lease.run_id)

    patch.setattr(Heartbeat, "_poll", unbounded)


def _second_owner_overwrites(patch: pytest.MonkeyPatch) -> None:
    """Whoever completes last has the last word, so a run can end twice."""

    def last_word(run: Run, request: ask.Complete, now: Instant) -> rules.Decision:
        lease = replace(request.lease, owner=run.owner, epoch=run.epoch)
        if run.state is not State.FINISHED:
            return rules._complete(run, replace(request, lease=lease), now)
        again = replace(run, state=State.RUNNING, lease=Deadline.after(now, 1.0), outcome=None)
        return replace(rules._complete(again, replace(request, lease=lease), now), event=None)

    patch.setitem(rules._RULES, ask.Complete, last_word)


def _reports_before_it_commits(patch: pytest.MonkeyPatch) -> None:
    """The local result goes out first and is recorded afterwards."""
    finish = Execution.finish

    def eager(self: Execution, outcome: Outcome, *, result: str = "", error: str = "") -> ExecutionReport:
        run, spec = self.run.run_id, self.run.spec
        body = f'{{"run":"{run}","outcome":"{outcome.value}"}}'.encode()
        destinations = self._verbs.destinations or {}
        destinations[spec.destination](
            Message(f"{run}/finished", "run.finished", run, spec.destination, body, 1)
        )
        return finish(self, outcome, result=result, error=error)

    patch.setattr(Execution, "finish", eager)


HOLDING = [
    Defect(
        "renewal-fails-once",
        "The heartbeat ends for good with the first renewal that fails, and the work goes on.",
        "owner-told",
        _ends_with_the_first_failure,
    ),
    Defect(
        "renewal-fails-once",
        "A failed renewal is tried again only a whole interval later, so a few failures lose the lease.",
        "hold",
        _waits_a_whole_interval,
        name="waits-too-long",
    ),
    Defect(
        "renewal-stalls-past-lease",
        "A lease that ran out is never taken again, and the run lives on without one.",
        "hold",
        _never_takes_it_again,
    ),
    Defect(
        "renewal-stalls-past-lease",
        "The lease is taken again, and nobody is told that it had run out.",
        "hold",
        _takes_it_silently,
        name="silently",
    ),
    Defect(
        "renewal-stalls-past-lease",
        "The work goes on after somebody took the run over.",
        "owner-told",
        _never_takes_it_again,
        name="rival",
        scenario="stall-with-a-rival",
    ),
    Defect(
        "renewal-stalls-past-lease",
        "The late timer does nothing, and the run waits without a lease for a rival.",
        "run",
        _never_takes_it_again,
        name="no-effect-asks",
        scenario="stall-without-an-effect",
    ),
    Defect(
        "renewal-hangs",
        "The renewal is called without a bound, so nothing ever ends it.",
        "never-returns",
        _renews_without_a_bound,
    ),
    Defect(
        "renewal-hangs",
        "Effects go on while the one try to re-acquire gets no answer.",
        "refused",
        _blocks_only_when_told,
        name="effects-go-on-meanwhile",
    ),
    Defect(
        "renewal-hangs",
        "Trust is counted from the answer to a renewal, and outlives the lease.",
        "owner-told",
        _counts_from_the_answer,
        name="from-the-answer",
        scenario="slow-renewal-counts-from-its-sending",
    ),
    Defect(
        "renewal-hangs",
        "The try to re-acquire is repeated without end, and the work is never cancelled.",
        "hold",
        _tries_for_ever,
        name="tries-for-ever",
    ),
    Defect(
        "renewal-hangs",
        "The timer spins while another thread waits for the store.",
        "bound",
        _spins_beside_a_call,
        name="spins",
        scenario="effect-asks-while-renewals-stand-still",
    ),
    Defect(
        "lost-lease-is-silent",
        "Completing under a lease that somebody else took over is answered as done.",
        "stale-owner-refused",
        _completes_whatever_happened,
    ),
    Defect(
        "lost-lease-is-silent",
        "A completion after the lease ran out looks like any other.",
        "answer",
        _never_says_late,
        name="not-marked",
        scenario="late-is-marked",
    ),
    Defect(
        "lost-lease-is-silent",
        "A completion after the lease ran out is refused though nobody took the run; its result is lost.",
        "complete",
        _refuses_what_is_late,
        name="result-refused",
        scenario="late-is-marked",
    ),
    Defect(
        "lost-lease-is-silent",
        "The executor reports work under a lost lease as recorded.",
        "owner-told",
        _executor_does_not_say_lost,
        name="executor",
        scenario="lost-lease-is-told-by-the-executor",
    ),
    Defect(
        "stale-owner-writes",
        "An owner whose run recovery has ended completes it, and hears that it was recorded.",
        "stale-owner-refused",
        _completes_whatever_happened,
        name="completes-after-recovery",
        scenario="stale-owner-after-recovery",
    ),
    Defect(
        "suspend-longer-than-lease",
        "The holder counts on a clock that stands still in a suspend; it never sees that its lease ran out.",
        "hold",
        _sleeps_with_the_machine,
    ),
    Defect(
        "suspend-longer-than-lease",
        "An owner that counts on such a clock has effects after a rival took its run.",
        "owner-told",
        _sleeps_with_the_machine,
        name="rival",
        scenario="suspend-with-a-rival",
    ),
    Defect(
        "suspend-longer-than-lease",
        "A renewal that fell due in a short suspend is late by the length of the suspend.",
        "reached",
        _sleeps_with_the_machine,
        name="late-renewal",
        scenario="short-suspend",
    ),
    Defect(
        "suspend-longer-than-lease",
        "On waking up the owner's own sweep interrupts the work that the owner goes on with.",
        "effect",
        _sweeps_up_its_own_work,
        name="own-sweep",
    ),
    Defect(
        "renewal-stalls-past-lease",
        "The sweep of a process interrupts what the same process works on, while its renewals stall.",
        "run",
        _sweeps_up_its_own_work,
        name="own-sweep",
        scenario="stall-without-an-effect",
    ),
    Defect(
        "renewal-hangs",
        "Looking for a stop has no bound, so a read that never returns ends all renewals.",
        "never-returns",
        _looks_for_stops_without_a_bound,
        name="reads-hang",
        scenario="renewals-beside-reads-that-hang",
    ),
    Defect(
        "two-owners-one-run",
        "The second owner to complete overwrites the outcome of the first.",
        "stale-owner-refused",
        _second_owner_overwrites,
    ),
    Defect(
        "two-owners-one-run",
        "The owner that lost is told that its result was recorded.",
        "owner-told",
        _executor_does_not_say_lost,
        name="loser-not-told",
        scenario="two-executors-one-run",
    ),
    Defect(
        "local-result-then-interrupted",
        "The local result is sent before it is committed; after a crash the interruption is sent too.",
        "delivered",
        _reports_before_it_commits,
    ),
    Defect(
        "local-result-then-interrupted",
        "A local result that comes after the interruption is sent all the same.",
        "same-event-same-bytes",
        _reports_before_it_commits,
        name="interruption-first",
        scenario="interruption-was-first",
    ),
]
