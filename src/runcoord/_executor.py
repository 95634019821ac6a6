"""Real work under a lease: heartbeat, stop, completion and delivery tied together.

:class:`Execution` is one run being worked on, with timers that anybody may tick; :class:`Executor` adds
the threads. The faults that this is for sit in callers: a heartbeat that ends after one failure, a stop
that reaches nobody, a completion under a lost lease that looks like success.
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable
from dataclasses import dataclass

from runcoord._answers import Completion
from runcoord._coordinator import RunVerbs
from runcoord._core.model import Lease, Outcome, Run
from runcoord._heartbeat import Heartbeat, Hold
from runcoord._outbox import Outbox
from runcoord._ticker import Ticker
from runcoord.errors import AlreadyFinished, EffectsBlocked, LeaseLost, StoreError, WorkCancelled
from runcoord.ports import Bounded, Sleeper

log = logging.getLogger("runcoord.executor")

CHECKPOINT_SECONDS = 15.0
"""Longest wait in a checkpoint for the answer whether the lease is still held: one bounded call to
re-acquire, and some."""
CHECKPOINT_STEP_SECONDS = 0.05


class Ended(enum.StrEnum):
    """How an execution ended, seen from its owner."""

    RECORDED = "recorded"
    LOST = "lost"
    """Somebody else decided about the run meanwhile; nothing was recorded by this owner."""


@dataclass(frozen=True, slots=True)
class ExecutionReport:
    """What became of one execution. ``run`` is the run as it is stored afterwards."""

    ended: Ended
    run: Run
    completion: Completion | None


class Execution:
    """One started run and its lease. Use :meth:`checkpoint` (or :meth:`guard`) before every effect."""

    def __init__(
        self, verbs: RunVerbs, outbox: Outbox, bounded: Bounded, sleeper: Sleeper, lease: Lease
    ) -> None:
        self._verbs, self._outbox, self._sleeper = verbs, outbox, sleeper
        self.run = verbs.start(lease)
        self.heartbeat = Heartbeat(verbs, lease, bounded)

    @property
    def lease(self) -> Lease:
        return self.heartbeat.lease

    def next_due(self) -> float | None:
        return self.heartbeat.next_due()

    def tick(self) -> None:
        self.heartbeat.tick()

    def guard(self) -> None:
        """Returns while the lease can be trusted, without waiting.

        Raises :class:`~runcoord.errors.WorkCancelled` when the work must end, and
        :class:`~runcoord.errors.EffectsBlocked` while that is still being found out.
        """
        self.heartbeat.guard()

    def checkpoint(self) -> None:
        """Wait (bounded) while the lease is in doubt; returns when effects may go on.

        Raises :class:`~runcoord.errors.WorkCancelled` when the work must end.
        """
        for _ in range(int(CHECKPOINT_SECONDS / CHECKPOINT_STEP_SECONDS)):
            try:
                self.guard()
            except EffectsBlocked:
                self._sleeper.sleep(CHECKPOINT_STEP_SECONDS)
            else:
                return
        self.guard()

    def progress(self, text: str) -> None:
        """Record progress, if the lease is still held."""
        self.checkpoint()
        self._verbs.progress(self.lease, text)

    def finish(self, outcome: Outcome, *, result: str = "", error: str = "") -> ExecutionReport:
        """Record how the work ended and deliver its event.

        When somebody else ended the run meanwhile, that is said in the report: nothing was recorded.
        """
        try:
            completion = self._verbs.complete(self.lease, outcome, result=result, error=error)
        except (LeaseLost, AlreadyFinished):
            self.heartbeat.end()
            return ExecutionReport(Ended.LOST, self._verbs.run(self.run.run_id), None)
        self.heartbeat.end()
        try:
            self._outbox.drain()
        except StoreError as error:
            # The outcome is recorded, and its event with it: whoever delivers next will send it.
            log.warning("event not delivered yet", extra={"run": self.run.run_id, "error": str(error)})
        return ExecutionReport(Ended.RECORDED, completion.run, completion)


Work = Callable[[Execution], str | None]
"""The work itself. Returns its result text; raises to fail; lets WorkCancelled pass."""


class Executor:
    """Runs work under a lease, renewing it from a thread of its own."""

    def __init__(self, verbs: RunVerbs, outbox: Outbox, bounded: Bounded, sleeper: Sleeper) -> None:
        self._verbs, self._outbox, self._bounded, self._sleeper = verbs, outbox, bounded, sleeper

    def begin(self, run_id: str) -> Execution:
        """Claim and start a run; its timers are the caller's to tick."""
        return self._start(self._verbs.claim(run_id))

    def begin_next(self) -> Execution | None:
        """The same for the oldest claimable run; ``None`` when there is none."""
        lease = self._verbs.claim_next()
        return None if lease is None else self._start(lease)

    def execute(self, run_id: str, work: Work) -> ExecutionReport:
        """Claim a run, do its work, record the outcome, deliver the event."""
        return self._work(self.begin(run_id), work)

    def execute_next(self, work: Work) -> ExecutionReport | None:
        """The same for the oldest claimable run; ``None`` when there is none."""
        execution = self.begin_next()
        return None if execution is None else self._work(execution, work)

    def _start(self, lease: Lease) -> Execution:
        return Execution(self._verbs, self._outbox, self._bounded, self._sleeper, lease)

    def _work(self, execution: Execution, work: Work) -> ExecutionReport:
        with Ticker(execution, self._verbs.clock, f"runcoord-renew-{execution.run.run_id[:40]}"):
            try:
                result = work(execution)
            except WorkCancelled as cancelled:
                outcome = Outcome.STOPPED if execution.heartbeat.stop_requested else Outcome.INTERRUPTED
                return execution.finish(outcome, error=str(cancelled))
            except Exception as error:
                return execution.finish(Outcome.FAILED, error=f"{type(error).__name__}: {error}")
            except BaseException:
                # Interrupted from the keyboard, or the program is leaving: say so before going.
                execution.finish(Outcome.INTERRUPTED, error="the owner was interrupted")
                raise
            return execution.finish(Outcome.COMPLETED, result=result or "")


__all__ = ["Ended", "Execution", "ExecutionReport", "Executor", "Hold", "Work"]
