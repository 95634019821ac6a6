"""What the reference is asked about commands: a supervisor of the coordinator, driven step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_runcoord.subject import Answer, SubjectWorld, Timer

if TYPE_CHECKING:
    from runcoord import CommandRun, Coordinator


class _Heart:
    """What renews the lease of a command, beside whoever waits for it."""

    def __init__(self, command: CommandRun) -> None:
        self._command = command

    def next_due(self) -> float | None:
        return self._command.next_due()

    def tick(self) -> None:
        self._command.beat()


class _Waiter:
    """Who waits for a command, and ends its run: woken by whatever happens to it, so due at once."""

    def __init__(self, command: CommandRun) -> None:
        self.command = command
        self.heart = _Heart(command)
        self._busy = False

    def next_due(self) -> float | None:
        if self._busy or self.command.report is not None or self.command.cause() is None:
            return None
        return 0.0

    def tick(self) -> None:
        """Look, and end the run if that is due; what drives a command in earnest does the same."""
        if self.command.report is not None or self._busy:
            return
        self._busy = True
        try:
            if (cause := self.command.cause()) is not None:
                self.command.end(cause)
        finally:
            self._busy = False


class CommandVerbs:
    """Part of the reference's session."""

    _coordinator: Coordinator
    _world: SubjectWorld
    _waiters: list[_Waiter]

    def command_timers(self) -> list[tuple[str, Timer]]:
        """The timers of commands under way."""
        waiters = [each for each in self._waiters if each.command.report is None]
        timers: list[tuple[str, Timer]] = [("command", each) for each in waiters]
        return timers + [("renew", each.heart) for each in waiters]

    def supervise(
        self,
        run: str,
        program: str,
        directory: str,
        *,
        timeout: float | None = None,
        grace: float | None = None,
        max_depth: int | None = None,
        max_live_runs: int | None = None,
        names: dict[str, str] | None = None,
    ) -> Answer:
        """A command as a run: guarded, recorded, begun."""
        from runcoord import CommandOrder, Intake, VariableNames

        order = CommandOrder(
            argv=(program,),
            directory=directory,
            timeout=timeout,
            grace=grace,
            max_depth=max_depth,
            names=VariableNames(**names or {}),
        )
        commands = self._coordinator.commands
        intake = Intake(run_id=run, max_live_runs=max_live_runs)
        command = commands.command(commands.launch(order, run), intake)
        begun = command.begin()
        waiter = _Waiter(command)
        self._waiters.append(waiter)
        return Answer({"run": run, "epoch": begun.epoch, "depth": begun.depth}, waiter)

    def settle(self, waiter: _Waiter) -> Answer:
        """The supervisor looks at its command, and ends its run if that is due; one that has ended again."""
        report = waiter.command.report
        if report is not None:
            waiter.command.end(report.cause)
        waiter.tick()
        return Answer(told(waiter.command))

    def interrupt(self, waiter: _Waiter, number: int) -> Answer:
        """The supervisor is told by a signal to end, and does."""
        from runcoord import Cause

        waiter.command.ask(Cause.INTERRUPTED, signal=number, why=f"ended by signal {number}")
        return self.settle(waiter)


def told(command: CommandRun) -> dict[str, Any]:
    """What a command's report says, as an answer tells it."""
    report = command.report
    if report is None:
        return {"run": command.execution.run.run_id, "ended": False}
    outcome = report.run.outcome
    return {
        "run": report.run.run_id,
        "ended": True,
        "cause": report.cause.value,
        "outcome": None if outcome is None else outcome.value,
        "status": report.exit_status,
        "own": None if report.ending is None else report.ending.status,
        "clean": report.clean,
        "recorded": report.recorded,
        "problems": len(report.problems),
    }
