"""What the reference is asked about commands: a supervisor of the coordinator, driven step by step."""

from __future__ import annotations

import contextlib
from typing import Any

from pytest_runcoord.subject import Answer, SubjectWorld, Timer
from runcoord import Cause, CommandOrder, CommandRun, Coordinator, Intake, VariableNames
from runcoord.errors import RuncoordError


class _Watched:
    """The timers of a command. Its end wakes whoever waits for it, so that is due at once."""

    def __init__(self, command: CommandRun) -> None:
        self.command = command

    def next_due(self) -> float | None:
        due = self.command.next_due()
        if due is not None:
            with contextlib.suppress(RuncoordError):
                if self.command.tree.wait(0.0) is not None:
                    return 0.0
        return due

    def tick(self) -> None:
        self.command.tick()


class CommandVerbs:
    """Part of the reference's session."""

    _coordinator: Coordinator
    _world: SubjectWorld
    _commands: list[_Watched]

    def command_timers(self) -> list[tuple[str, Timer]]:
        """The timers of commands under way."""
        return [("command", each) for each in self._commands if each.command.report is None]

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
        self._commands.append(_Watched(command))
        return Answer({"run": run, "epoch": begun.epoch, "depth": begun.depth}, command)

    def settle(self, command: CommandRun) -> Answer:
        """The supervisor looks at its command, and ends its run if that is due."""
        if command.report is None and (cause := command.cause()) is not None:
            command.end(cause)
        return Answer(told(command))

    def interrupt(self, command: CommandRun, number: int) -> Answer:
        """The supervisor is told by a signal to end, and does."""
        command.ask(Cause.INTERRUPTED, signal=number, why=f"ended by signal {number}")
        return self.settle(command)


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
