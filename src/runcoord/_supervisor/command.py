"""One command as a run, step by step: who drives it decides when time passes.

    begin     the caller's git state is written down, the run put into the store, then the command begins
    tick      when ``next_due`` says so: the lease is renewed, a stop and the timeout are seen
    cause     asked now and then: whether it has to end, and why
    end       once: the tree is torn down, git state restored or compared, the outcome recorded

:func:`runcoord._supervisor.driving.drive` does that with a thread for the lease; a simulated world does it
with its own clocks, and then ``tick`` also ends the run when that is due.
"""

from __future__ import annotations

import signal as signals
from collections.abc import Callable
from functools import partial

from runcoord import _spans as spans
from runcoord._coordinator import RunVerbs
from runcoord._core.model import Outcome, Run
from runcoord._core.teardown import TeardownReport
from runcoord._core.texts import message_of
from runcoord._core.values import field, record, value
from runcoord._executor import Ended, Execution, ExecutionReport, Executor
from runcoord._log import INFO, WARNING, Log, say
from runcoord._supervisor.accepting import Intake, begin, begun_after_all
from runcoord._supervisor.keeping import Keeper
from runcoord._supervisor.report import Cause, CommandReport
from runcoord._supervisor.starting import Launched
from runcoord._supervisor.verdict import Reasons, verdict
from runcoord.errors import Happened, RuncoordError, StoreError, WorkCancelled
from runcoord.ports import Ending, Tree

log = Log("runcoord.commands")

LONGEST_NAP_SECONDS = 60.0
"""Longest single wait for a command; what else can end it wakes the wait."""
FINISH_TRIES = 2
"""Tries to record the outcome when something is thrown into the first one, such as a Ctrl-C."""
MOST_THROWN = 1_000
"""Exceptions thrown into one teardown by its caller before it is left to what the run hangs on. A key that is
held down sends some thirty a second, so that a teardown within its bounds is over before."""
BY_KEY = "interrupted from the keyboard"
KEY_SHARE = 0.5
"""Part of the grace that a command has after the interrupt key signalled it, before all its tree is asked."""


@value
class Workshop:
    """What commands are run with."""

    verbs: RunVerbs
    executor: Executor
    keeper: Keeper


@record
class _Asked:
    """Somebody outside wants it to end."""

    cause: Cause
    signal: int = 0
    why: str = ""


@record
class CommandRun:
    """One command on its way. Not to be used from several threads, but for :meth:`ask`, :meth:`beat` and
    :meth:`hurry`."""

    shop: Workshop
    intake: Intake
    launched: Launched
    problems: list[str] = field(default_factory=list)
    began: bool = False
    """Whether the command was let begin."""
    _execution: Execution | None = None
    _deadline: float | None = None
    _pressed_at: float | None = None
    _asked: _Asked | None = None
    _broken: str = ""
    _ending: bool = False
    _report: CommandReport | None = None
    _pending: BaseException | None = None

    @property
    def tree(self) -> Tree:
        return self.launched.tree

    @property
    def execution(self) -> Execution:
        assert self._execution is not None, "begin comes first"
        return self._execution

    @property
    def accepted(self) -> bool:
        """Whether its run is in the store."""
        return self._execution is not None

    @property
    def report(self) -> CommandReport | None:
        """What became of it; ``None`` until it has ended."""
        return self._report

    # --- beginning ---

    def begin(self) -> Run:
        """Write down what recovery will need, put the run into the store, then let the command begin.

        Raises what keeps it from beginning; then nothing of it runs. Either nothing is in the store, or its
        run has ended as failed.
        """
        keeper, launched = self.shop.keeper, self.launched
        sent = self._now()
        try:
            keeper.make_folder(launched)
            if self.intake.git:
                keeper.take(launched)
            begun = begin(self.shop.verbs, keeper.beginning(launched), self.intake)
            self._execution = self.shop.executor.adopt(begun.lease, begun.run)
            if self._asked is None:
                self.tree.open_gate()
                self.began = True
        except BaseException as error:
            self._broken_off(error, sent)
            raise
        timeout = launched.prepared.timeout
        self._deadline = None if timeout is None else self._now() + timeout
        return begun.run

    def _broken_off(self, error: BaseException, sent: float) -> None:
        """End what there is of it. A signal in the very commit leaves a run that nobody here knows of."""
        keeper, launched = self.shop.keeper, self.launched
        if self._execution is None and not isinstance(error, Exception):
            begun = begun_after_all(self.shop.verbs, launched, self.intake, sent)
            if begun is not None:
                self._execution = self.shop.executor.adopt(begun.lease, begun.run)
        if self._execution is None:
            self.tree.close()
            keeper.forget_unless_stored(launched, error)
        elif isinstance(error, Exception):
            self._never_began(error)
        else:
            self.end(Cause.INTERRUPTED, why=f"its caller was interrupted: {type(error).__name__}")

    def _never_began(self, error: Exception) -> None:
        """Its gate was not opened, and its run is in the store: that ends as failed; ``error`` says so."""
        self.tree.close()
        try:
            self.execution.finish(
                Outcome.FAILED,
                error=f"it never began: {getattr(error, 'problem', '') or message_of(error)}",
                teardown=TeardownReport(emptied=True),
                snapshot=self.shop.keeper.untouched(self.launched, self._run_id),
            )
        except StoreError as failure:
            say(log, WARNING, "outcome not recorded", run=self._run_id, error=str(failure))
            told, outcome = f"run {self._run_id!r} is in the store, for recovery to end", ""
        else:
            self.shop.keeper.forget(self.launched)
            told, outcome = f"run {self._run_id!r} is recorded as failed", Outcome.FAILED.value
        if isinstance(error, RuncoordError):
            error.problem, error.happened = f"{error.problem}; {told}", Happened.YES
            error.details |= {"run": self._run_id, "outcome": outcome}

    # --- under way ---

    def next_due(self) -> float | None:
        """Boottime (seconds) of the next :meth:`tick`; ``None`` when there is nothing left to do."""
        if self._report is not None:
            return None
        dues = [self.execution.next_due()]
        if not self._ending:
            dues += [self._deadline, self._key_deadline()]
        known = [due for due in dues if due is not None]
        return min(known) if known else None

    def tick(self) -> None:
        """Do what is due, and end the run when that is due. For a world that drives it alone."""
        self.beat()
        if self._report is None and not self._ending and (cause := self.cause()) is not None:
            self.end(cause)

    def beat(self) -> None:
        """Renew the lease, and wake who waits for the command when it has to end. Never raises."""
        self.execution.tick()
        if not self._ending and self._cause_without_look() is not None:
            self.tree.wake()

    def ask(self, cause: Cause, *, signal: int = 0, why: str = "") -> None:
        """Let it end soon. From any thread, and from a signal handler. Asked again it ends the grace."""
        if self._asked is None:
            self._asked = _Asked(cause, signal, why)
            self.tree.wake()
        else:
            self.tree.hurry()

    def wait(self) -> None:
        """Wait for something to happen: the end of the command, a moment that is due, a wake."""
        dues = [due for due in (self._deadline, self._key_deadline()) if due is not None]
        left = min(dues) - self._now() if dues else LONGEST_NAP_SECONDS
        if left > 0:
            self._look(min(left, LONGEST_NAP_SECONDS))

    def cause(self) -> Cause | None:
        """Why it has to end now; ``None`` when it may go on."""
        if self._look(0) is not None:
            return Cause.ENDED
        self._heed_the_key()
        return self._cause_without_look()

    def _heed_the_key(self) -> None:
        """The terminal's interrupt key: once, the command has a moment to end by the signal that it got from
        the terminal; twice, the grace is over."""
        pressed = 0 if self.intake.interactive else self.tree.interruptions()
        if pressed and self._pressed_at is None:
            self._pressed_at = self._now()
        if pressed > 1:
            self.ask(Cause.STOPPED, signal=signals.SIGINT, why=BY_KEY)
            self.tree.hurry()

    def _cause_without_look(self) -> Cause | None:
        if self._broken:
            return Cause.BROKEN
        if self._asked is not None:
            return self._asked.cause
        if self.execution.heartbeat.stop_requested:
            return Cause.STOPPED
        if not self.execution.holds:
            return Cause.LEASE_LOST
        if self._passed(self._key_deadline()):
            return Cause.STOPPED
        return Cause.TIMED_OUT if self._passed(self._deadline) else None

    def _look(self, seconds: float) -> Ending | None:
        try:
            return self.tree.wait(seconds)
        except RuncoordError as error:
            self._broken = error.problem
            return None

    def _key_deadline(self) -> float | None:
        if self._pressed_at is None:
            return None
        return self._pressed_at + self.launched.prepared.grace * KEY_SHARE

    # --- ending ---

    def end(self, cause: Cause, *, why: str = "") -> CommandReport:
        """Tear the tree down, restore or compare git state, record the outcome; in this order. A second call
        gives the same report. Raises nothing but what its caller threw into it meanwhile, when all is done.
        """
        if self._report is not None:
            return self._report
        self._ending = True
        ending = self._look(0) if cause is Cause.ENDED else None
        by_key = self._pressed_at is not None and cause is Cause.STOPPED
        if cause is Cause.ENDED and self._by_key(ending):
            cause, by_key = Cause.STOPPED, True
        if by_key and self._asked is None:
            self._asked = _Asked(cause, signals.SIGINT, BY_KEY)
        with spans.span("runcoord.teardown", run=self._run_id, cause=cause.value) as span:
            teardown = self._torn_down()
            if teardown is not None:
                left = len(teardown.left)
                span.say(processes=teardown.counted, left=left, rounds=teardown.rounds)
        reasons = Reasons(why, self._why(), self._broken, self.launched.prepared.timeout)
        outcome, text = verdict(cause, ending, reasons)
        report = self._recorded(cause, ending, teardown, outcome, text)
        self._report = report
        self._tell(report)
        if self._pending is not None:
            raise self._pending
        return report

    def hurry(self) -> None:
        """End the grace."""
        self.tree.hurry()

    def _torn_down(self) -> TeardownReport | None:
        grace = self.launched.prepared.grace
        if self._pressed_at is not None:
            grace = max(grace - (self._now() - self._pressed_at), 0.0)
        for left in reversed(range(MOST_THROWN)):
            try:
                return self.tree.tear_down(grace)
            except Exception as error:  # noqa: BLE001 - whatever it was, it must not hide how the command ended
                self._note("the processes could not be ended", error)
                return None
            except BaseException as thrown:
                if not left:
                    raise
                self._pending = thrown  # raised again when everything is done
                self.tree.hurry()
        return None

    def _recorded(
        self,
        cause: Cause,
        ending: Ending | None,
        teardown: TeardownReport | None,
        outcome: Outcome,
        text: str,
    ) -> CommandReport:
        keeper, completed = self.shop.keeper, outcome is Outcome.COMPLETED
        keeper.heed_others(self.launched, self.shop.verbs, self._run_id, self.execution.holds)
        git = keeper.compare(self.launched) if completed else keeper.restore(self.launched)
        finish = partial(
            self.execution.finish,
            outcome,
            result="exit status 0" if completed else "",
            error=text,
            exit_status=ending.status if ending is not None else None,
            teardown=teardown,
        )
        try:
            taken = keeper.snapshot_of(self.launched, self._run_id, git.report)
            unless_stopped = completed and taken is not None
            finished = self._finished(partial(finish, snapshot=taken, unless_stopped=unless_stopped))
        except WorkCancelled:
            # Stopped at the last moment it is no success: put back first, as after any other end.
            git = keeper.restore(self.launched)
            taken = keeper.snapshot_of(self.launched, self._run_id, git.report)
            finished = self._finished(partial(finish, snapshot=taken))
        run = finished.run if finished is not None else self.execution.run
        recorded = finished is not None and finished.ended is Ended.RECORDED
        self.problems += git.problems
        self.tree.close(recorded=recorded)
        if recorded and (git.report is None or git.report.clean):
            keeper.forget(self.launched)
        return CommandReport(
            run=run,
            cause=cause,
            ending=ending,
            signal=self._asked.signal if self._asked is not None else 0,
            recorded=recorded,
            teardown=teardown,
            git=git.report,
            problems=tuple(self.problems),
        )

    def _finished(self, finish: Callable[[], ExecutionReport]) -> ExecutionReport | None:
        """The outcome recorded; ``None`` when that is not possible, which is noted. Raises
        :class:`~runcoord.errors.WorkCancelled` when it was asked for only unless the run was stopped."""
        for _ in range(FINISH_TRIES):
            try:
                finished = finish()
            except WorkCancelled:
                raise
            except Exception as error:  # noqa: BLE001 - whatever it was, it must not hide how the command ended
                self._note("the outcome could not be recorded", error)
                return None
            except BaseException as thrown:  # noqa: BLE001 - raised again when everything is done
                # Repeating is safe: under the same lease the same completion has the same answer.
                self._pending = thrown
            else:
                if finished.ended is Ended.LOST:
                    outcome = finished.run.outcome.value if finished.run.outcome else finished.run.state.value
                    self.problems.append(f"somebody else decided about the run meanwhile: it is {outcome}")
                return finished
        return None

    def _by_key(self, ending: Ending | None) -> bool:
        """Whether the command ended by the interrupt key."""
        by_it = ending is not None and ending.status in (-signals.SIGINT, 128 + signals.SIGINT)
        return by_it and self.tree.interruptions() > 0

    # --- small things ---

    @property
    def _run_id(self) -> str:
        return self.execution.run.run_id

    def _now(self) -> float:
        return self.shop.verbs.clock.boottime()

    def _passed(self, moment: float | None) -> bool:
        return moment is not None and self._now() >= moment

    def _why(self) -> str:
        return self._asked.why if self._asked is not None else ""

    def _note(self, what: str, error: Exception) -> None:
        self.problems.append(f"{what}: {message_of(error)}")
        say(log, WARNING, what, run=self._run_id, error=message_of(error))

    def _tell(self, report: CommandReport) -> None:
        left = len(report.teardown.left) if report.teardown is not None else -1
        level = INFO if report.clean and report.recorded else WARNING
        say(
            log,
            level,
            "command ended",
            run=self._run_id,
            cause=report.cause.value,
            outcome=report.run.outcome.value if report.run.outcome is not None else "",
            status=report.exit_status,
            processes=report.teardown.counted if report.teardown is not None else -1,
            left=left,
        )
