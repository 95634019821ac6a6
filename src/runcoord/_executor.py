"""Real work under a lease: heartbeat, stop, completion and delivery tied together.

:class:`Execution` is one run being worked on, with timers that anybody may tick; :class:`Executor` adds
the threads. The faults that this is for sit in callers: a heartbeat that ends after one failure, a stop
that reaches nobody, a completion under a lost lease that looks like success.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable
from functools import partial

from runcoord._answers import Completion
from runcoord._coordinator import RunVerbs
from runcoord._core import limits
from runcoord._core.model import Lease, Outcome, Run
from runcoord._core.records import Snapshot
from runcoord._core.teardown import TeardownReport
from runcoord._core.texts import message_of
from runcoord._core.values import value
from runcoord._heartbeat import Heartbeat, Hold
from runcoord._log import WARNING, Log, say
from runcoord._outbox import Outbox
from runcoord._ticker import Ticker
from runcoord.errors import (
    AlreadyFinished,
    EffectsBlocked,
    LeaseExpired,
    LeaseLost,
    RuncoordError,
    StoreError,
    WorkCancelled,
)
from runcoord.ports import Bounded, Event, Sleeper

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")


log = Log("runcoord.executor")

CHECKPOINT_SECONDS = 15.0
"""Longest wait in a checkpoint for the answer whether the lease is still held: one bounded call to
re-acquire, and some."""
CHECKPOINT_STEP_SECONDS = 0.05
COMPLETION_TRIES = 3
"""Tries to record an outcome: a store that fails once is not to cost the result of the work, and a lease that
is re-acquired meanwhile is no loss. A pause between them as between renewals."""


class Ended(enum.StrEnum):
    """How an execution ended, seen from its owner."""

    RECORDED = "recorded"
    LOST = "lost"
    """Somebody else decided about the run meanwhile; nothing was recorded by this owner."""


@value
class ExecutionReport:
    """What became of one execution. ``run`` is the run as it is stored afterwards."""

    ended: Ended
    run: Run
    completion: Completion | None


class Execution:
    """One started run and its lease. Use :meth:`checkpoint` (or :meth:`guard`) before every effect."""

    def __init__(
        self,
        verbs: RunVerbs,
        outbox: Outbox,
        bounded: Bounded,
        sleeper: Sleeper,
        lease: Lease,
        started: Run | None = None,
    ) -> None:
        self._verbs, self._outbox, self._sleeper = verbs, outbox, sleeper
        self.run = started or verbs.start(lease)
        self.heartbeat = Heartbeat(verbs, lease, bounded)

    @property
    def lease(self) -> Lease:
        return self.heartbeat.lease

    @property
    def holds(self) -> bool:
        """Whether its lease is held, or may yet be re-acquired."""
        return self.heartbeat.hold in (Hold.HELD, Hold.DOUBTFUL)

    def next_due(self) -> float | None:
        return self.heartbeat.next_due()

    def tick(self) -> None:
        self.heartbeat.tick()

    def guard(self) -> None:
        """Returns while the lease can be trusted. Waits for nothing but, when trust has just ended and nobody
        else is at it, for its own bounded attempt to take the lease again.

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
        """Record progress. Raises :class:`~runcoord.errors.WorkCancelled` like :meth:`checkpoint`."""
        self._as_holder(lambda lease: self._verbs.progress(lease, text))

    def publish(self, body: object) -> Event:
        """Write an event to the run's destination; raises like :meth:`progress`."""
        return self._as_holder(lambda lease: self._verbs.publish(lease, body))

    def finish(
        self,
        outcome: Outcome,
        *,
        result: str = "",
        error: str = "",
        exit_status: int | None = None,
        teardown: TeardownReport | None = None,
        snapshot: Snapshot | None = None,
        unless_stopped: bool = False,
    ) -> ExecutionReport:
        """Record how the work ended and deliver its event. The last four are of work that was a command; see
        :meth:`runcoord.Coordinator.complete`.

        When somebody else ended the run meanwhile, that is said in the report: nothing was recorded. Raises
        :class:`~runcoord.errors.StoreError` when the store goes on failing; it may be tried again.
        """
        ending = partial(
            self._verbs.complete,
            outcome=outcome,
            result=result,
            error=error,
            exit_status=exit_status,
            teardown=teardown,
            snapshot=snapshot,
            unless_stopped=unless_stopped,
        )
        completion = self._recorded(ending)
        self.heartbeat.end()
        if completion is None:
            return ExecutionReport(Ended.LOST, self._verbs.run(self.run.run_id), None)
        try:
            self._outbox.drain(seconds=limits.FINISH_DRAIN_SECONDS)
        except StoreError as error:
            # The outcome is recorded, and its event with it: whoever delivers next will send it.
            say(log, WARNING, "event not delivered yet", run=self.run.run_id, error=str(error))
        return ExecutionReport(Ended.RECORDED, completion.run, completion)

    def interrupt(self) -> None:
        """Record that the work was cut short, if that can be done at once. Raises nothing of its own."""
        self.heartbeat.completing()
        try:
            self._verbs.complete(self.lease, Outcome.INTERRUPTED, error="its owner was interrupted")
        except (RuncoordError, RuntimeError) as error:  # RuntimeError: it was interrupted inside of the store
            say(log, WARNING, "not recorded as interrupted", run=self.run.run_id, error=str(error))
        self.heartbeat.end()

    # --- under the newest lease ---

    def _recorded(self, ending: Callable[[Lease], Completion]) -> Completion | None:
        """The completion; ``None`` when somebody else decided about the run."""
        self.heartbeat.completing()
        lease: Lease | None = self.lease
        for left in reversed(range(COMPLETION_TRIES)):
            if lease is None:
                return None
            try:
                return ending(lease)
            except AlreadyFinished:
                return None
            except LeaseLost:
                lease = self._newer_lease(lease)
            except StoreError as failure:
                if not left:
                    raise
                # Repeating is safe: under the same lease the same completion has the same answer.
                say(log, WARNING, "outcome not recorded", run=self.run.run_id, error=str(failure))
                self._sleeper.sleep(limits.RENEW_RETRY_SECONDS)
                lease = self.lease
        return None

    def _as_holder(self, verb: Callable[[Lease], T]) -> T:
        """Call a verb under a lease that is held, once more if it had to be re-acquired meanwhile."""
        self.checkpoint()
        lease = self.lease
        try:
            return verb(lease)
        except LeaseExpired:
            self.checkpoint()
            return verb(self.lease)
        except (LeaseLost, AlreadyFinished) as refusal:
            newer = self._newer_lease(lease)
            if newer is not None:
                return verb(newer)
            self.heartbeat.lost(str(refusal))
            self.guard()
            raise

    def _newer_lease(self, used: Lease) -> Lease | None:
        """What the heartbeat re-acquired since; waits (bounded) for an attempt that is under way."""
        for _ in range(int(CHECKPOINT_SECONDS / CHECKPOINT_STEP_SECONDS)):
            if not self.heartbeat.calling:
                break
            self._sleeper.sleep(CHECKPOINT_STEP_SECONDS)
        newest = self.lease
        return newest if newest.epoch > used.epoch else None


Work = Callable[[Execution], str | None]
"""The work itself. Returns its result text; raises to fail; lets WorkCancelled and EffectsBlocked pass, with
which it ends as stopped or as interrupted."""


class Executor:
    """Runs work under a lease, renewing it from a thread of its own."""

    def __init__(self, verbs: RunVerbs, outbox: Outbox, bounded: Bounded, sleeper: Sleeper) -> None:
        self._verbs, self._outbox, self._bounded, self._sleeper = verbs, outbox, bounded, sleeper
        self._lock = threading.Lock()
        self._under_way: dict[str, Execution] = {}

    def holds(self, run_id: str) -> bool:
        """Whether a run is being worked on here, under a lease that may still be held."""
        with self._lock:
            execution = self._under_way.get(run_id)
        return execution is not None and execution.holds

    def begin(self, run_id: str) -> Execution:
        """Claim and start a run; its timers are the caller's to tick."""
        return self._start(self._verbs.claim(run_id))

    def begin_next(self) -> Execution | None:
        """The same for the oldest claimable run; ``None`` when there is none."""
        lease = self._verbs.claim_next()
        return None if lease is None else self._start(lease)

    def adopt(self, lease: Lease, started: Run) -> Execution:
        """The same for a run that was claimed and started in one commit with something else."""
        return self._start(lease, started)

    def execute(self, run_id: str, work: Work) -> ExecutionReport:
        """Claim a run, do its work, record the outcome, deliver the event."""
        return self._execute(self._verbs.claim(run_id), work)

    def execute_next(self, work: Work) -> ExecutionReport | None:
        """The same for the oldest claimable run; ``None`` when there is none."""
        lease = self._verbs.claim_next()
        return None if lease is None else self._execute(lease, work)

    def _execute(self, lease: Lease, work: Work) -> ExecutionReport:
        try:
            execution = self._start(lease)
        except (AlreadyFinished, LeaseLost):
            # Stopped, or taken over, between claim and start: no fault of whoever asked for work.
            return ExecutionReport(Ended.LOST, self._verbs.run(lease.run_id), None)
        return self._work(execution, work)

    def _start(self, lease: Lease, started: Run | None = None) -> Execution:
        execution = Execution(self._verbs, self._outbox, self._bounded, self._sleeper, lease, started)
        with self._lock:
            self._under_way = {name: each for name, each in self._under_way.items() if each.holds}
            self._under_way[lease.run_id] = execution
        return execution

    def _work(self, execution: Execution, work: Work) -> ExecutionReport:
        with Ticker(execution, self._verbs.clock, f"runcoord-renew-{execution.run.run_id[:40]}"):
            try:
                result = _result_text(work(execution))
            except (WorkCancelled, EffectsBlocked) as cancelled:
                outcome = Outcome.STOPPED if execution.heartbeat.stop_requested else Outcome.INTERRUPTED
                return execution.finish(outcome, error=str(cancelled))
            except Exception as error:  # noqa: BLE001 - whatever the work raises is its failure
                return execution.finish(Outcome.FAILED, error=f"{type(error).__name__}: {message_of(error)}")
            except BaseException:
                # Interrupted from the keyboard, or the program is leaving: say so before going.
                execution.interrupt()
                raise
            return execution.finish(Outcome.COMPLETED, result=result)


def _result_text(result: object) -> str:
    if result is None:
        return ""
    if not isinstance(result, str):
        raise TypeError(f"the work returned {type(result).__name__}, not text or None")
    return result


__all__ = ["Ended", "Execution", "ExecutionReport", "Executor", "Hold", "Work"]
