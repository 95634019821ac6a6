"""One invocation of ``runcoord run``, its command line understood. Nothing of click is loaded for it."""

from __future__ import annotations

import os

from runcoord._core.scope import Scope
from runcoord._core.values import value
from runcoord.cli.failures import Failure
from runcoord.cli.output import json_text
from runcoord.cli.run_signals import Signals, ToldToEnd, has_the_terminal, occupy_standard_streams
from runcoord.cli.session import Session
from runcoord.cli.wording import one_line
from runcoord.errors import InvalidRequest, RuncoordError

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import Any

    from runcoord._supervisor.accepting import Intake
    from runcoord._supervisor.preparing import CommandOrder, Prepared
    from runcoord._supervisor.report import CommandReport
    from runcoord._supervisor.starting import Launched
    from runcoord.ports import Ids

SHOWN_TASK_CHARACTERS = 200
"""The command line as the run's task, where none is given: what a list of runs has room for."""


@value
class Wishes:
    """The options, as they were given."""

    timeout: float | None
    grace: float | None
    directory: str
    scope: str
    task: str
    agent: str
    run_id: str
    key: str
    destination: str
    conversation_key: str
    depth_variable: str
    max_depth_variable: str
    grace_variable: str
    max_depth: int | None
    max_live_runs: int | None
    git: bool
    interactive: bool
    report: str | None
    quiet: bool


def invoke(session: Session, wishes: Wishes, argv: tuple[str, ...]) -> int:
    """Run the command, from the first signal that may come to its end; gives the exit status."""
    occupy_standard_streams()
    with Signals() as signals:
        try:
            return Invocation(session, wishes, argv, signals).end()
        except (ToldToEnd, RuncoordError, OSError) as error:
            from runcoord.cli.run_ending import failure_of_run

            failure = failure_of_run(error)
            _say_failure(session, failure)
            return int(failure.exit)


class Invocation:
    """One invocation."""

    def __init__(
        self,
        session: Session,
        wishes: Wishes,
        argv: tuple[str, ...],
        signals: Signals,
    ) -> None:
        self._session, self._wishes, self._argv, self._signals = session, wishes, argv, signals
        self._report = None if wishes.report is None else _opened(wishes.report)

    def end(self) -> int:
        """Run it; gives the exit status."""
        from runcoord._launching import ShimLauncher
        from runcoord._supervisor.folders import folders_beside
        from runcoord._supervisor.preparing import prepare
        from runcoord._supervisor.starting import launch

        ports, ids = self._session.ports, self._ids()
        launcher = (ports.launcher if ports is not None else None) or ShimLauncher()
        folders = folders_beside(self._session.url)
        try:
            prepared = prepare(self._order(), ids)
            self._warn(prepared)
            # It starts while the rest of this program is loaded and the store is opened.
            launched = launch(prepared, launcher, self._wishes.run_id or ids.new("run"), folders)
            try:
                report = self._driven(launched)
            except BaseException:
                launched.tree.close()
                raise
        except (ToldToEnd, RuncoordError, OSError) as error:
            from runcoord.cli.run_ending import failure_of_run

            failure = failure_of_run(error)
            self._write({"error": failure.document(), "exit_status": int(failure.exit)})
            raise
        self._tell(report)
        return report.exit_status

    def _driven(self, launched: Launched) -> CommandReport:
        """Accepted, kept and ended. Whatever is raised, nothing of the command is left."""
        from runcoord._supervisor.driving import drive

        with self._session.open(changes=True, create=True) as coordinator:
            coordinator.registration.leaving = True
            command = coordinator.commands.command(launched, self._intake())
            self._signals.end(command)
            report = drive(command)
            self._signals.over()
        return report

    def _order(self) -> CommandOrder:
        from runcoord._supervisor.preparing import CommandOrder, VariableNames

        wishes = self._wishes
        return CommandOrder(
            argv=self._argv,
            directory=wishes.directory,
            timeout=wishes.timeout,
            grace=wishes.grace,
            scope=Scope(wishes.scope),
            names=VariableNames(wishes.depth_variable, wishes.max_depth_variable, wishes.grace_variable),
            max_depth=wishes.max_depth,
            terminal=has_the_terminal(),
        )

    def _intake(self) -> Intake:
        from runcoord._supervisor.accepting import Intake

        wishes = self._wishes
        return Intake(
            run_id=wishes.run_id,
            key=wishes.key,
            destination=wishes.destination,
            agent=wishes.agent,
            task=wishes.task or self._as_task(),
            conversation_key=wishes.conversation_key,
            max_live_runs=wishes.max_live_runs,
            git=wishes.git,
            interactive=wishes.interactive,
        )

    def _as_task(self) -> str:
        import shlex

        return one_line(shlex.join(self._argv))[:SHOWN_TASK_CHARACTERS]

    def _ids(self) -> Ids:
        from runcoord._clock import SystemIds

        ports = self._session.ports
        return (ports.ids if ports is not None else None) or SystemIds()

    # --- what is said ---

    def _warn(self, prepared: Prepared) -> None:
        if not self._wishes.quiet and not self._session.json:
            for line in prepared.warnings:
                self._session.output.beside(line)

    def _tell(self, report: CommandReport) -> None:
        from runcoord.cli.run_ending import document, remarks

        shown = document(report)
        self._write(shown)
        if self._session.json:
            self._session.output.error_document(shown)
        elif not self._wishes.quiet:
            for line in remarks(report, self._wishes.timeout):
                self._session.output.beside(line)

    def _write(self, shown: dict[str, Any]) -> None:
        """Into the file that was asked for. That it fails does not change how the command ended."""
        if self._report is None:
            return
        try:
            with open(self._report, "wb", closefd=True) as file:
                file.write(json_text(shown, indent=2).encode() + b"\n")
        except OSError as error:
            self._session.output.beside(f"the report could not be written: {error.strerror}")


def _opened(path: str) -> int:
    """The file for the report, before anything is started, so that it is no surprise at the end."""
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InvalidRequest(
            f"the report cannot be written to {path!r}: {why}",
            remedy="Name a file that can be written.",
            field="report",
        ) from None


def _say_failure(session: Session, failure: Failure) -> None:
    """Why nothing was run, or how running it failed: short, beside the output of another program."""
    if session.json:
        session.output.error_document(failure.document())
        return
    session.output.beside(failure.problem)
    if failure.remedy:
        session.output.beside(failure.remedy)
