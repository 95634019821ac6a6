"""``runcoord run``: a command as a run."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING, Any

import click

from runcoord._core.teardown import Scope
from runcoord._core.values import value
from runcoord.cli.failures import Failure, usage_failure
from runcoord.cli.lengths import LENGTH
from runcoord.cli.output import json_text
from runcoord.cli.run_ending import document, failure_of_run, remarks
from runcoord.cli.run_signals import Signals, ToldToEnd, has_the_terminal, occupy_standard_streams
from runcoord.cli.session import UTF8, RuncoordCommand, Session, pass_session
from runcoord.cli.wording import one_line
from runcoord.errors import InvalidRequest, RuncoordError

if TYPE_CHECKING:
    from runcoord._supervisor.accepting import Intake
    from runcoord._supervisor.preparing import CommandOrder, Prepared
    from runcoord._supervisor.report import CommandReport
    from runcoord._supervisor.starting import Launched
    from runcoord.ports import Ids

SHOWN_TASK_CHARACTERS = 200
"""The command line as the run's task, where none is given: what a list of runs has room for."""

FAILED_ITSELF = 125
"""See :class:`runcoord._supervisor.report.ExitStatus`, which is loaded later."""

STATUSES = """\b
Exit status: the command's own, 128 + n if signal n ended it, or
  120  it succeeded, but processes of it are left, or git is not as it was
  121  stopped, by runcoord stop
  122  refused by a rule: too deep, too many live runs, a run that exists
  124  timed out
  125  runcoord itself failed, or was not understood; nothing is left running
  126  the command was found but cannot be executed, or its directory entered
  127  the command was not found
128 + n also if runcoord was told to end by signal n (INT, TERM, HUP).
"""


class RunCommand(RuncoordCommand):
    """Its exit statuses are those of programs that run others, also for a line that is not understood."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            if parent is None:
                raise
            session = parent.find_object(Session)
            assert session is not None, "App.main makes one"
            session.output.failure(usage_failure(error))
            raise click.exceptions.Exit(FAILED_ITSELF) from None


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
    quiet: bool


@click.command(
    "run",
    cls=RunCommand,
    context_settings={"allow_interspersed_args": False},
    options_metavar="[OPTIONS] --",
    epilog=STATUSES,
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="COMMAND [ARGUMENT]...")
@click.option(
    "--timeout", type=LENGTH, metavar="TIME", help="End it after so long (90s, 2m, 1h); the run has failed."
)
@click.option(
    "--grace",
    type=LENGTH,
    metavar="TIME",
    help="Time to end by itself when it is to end, then it is killed.  [default: 5; 0 kills at once]",
)
@click.option("-C", "--directory", default="", metavar="DIR", help="Run it there, and look after git there.")
@click.option("--task", type=UTF8, default="", help="What it is about.  [default: the command line]")
@click.option("--agent", type=UTF8, default="", help="Who does the work.")
@click.option("--run-id", type=UTF8, default="", metavar="ID", help="Its id.  [default: a new one]")
@click.option("--key", type=UTF8, default="", help="Idempotency key: the same key is run once.")
@click.option("--destination", type=UTF8, default="", metavar="NAME", help="Where its outcome is sent.")
@click.option("--conversation-key", type=UTF8, default="", metavar="KEY", help="What it belongs to.")
@click.option(
    "--scope",
    type=click.Choice(["tree", "group"]),
    default="tree",
    show_default=True,
    help="What is ended with it: every process that can be found of it, or its process group alone.",
)
@click.option("--git/--no-git", default=True, help="Put the git state of the directory back if it fails.")
@click.option("--interactive", is_flag=True, help="Ctrl-C is for the command alone.")
@click.option("--max-depth", type=click.IntRange(0), metavar="N", help="Lower the maximum of runs in runs.")
@click.option(
    "--max-live-runs",
    type=click.IntRange(1),
    metavar="N",
    help="Refuse more unfinished runs of its lineage.  [default: 100]",
)
@click.option(
    "--depth-variable",
    default="RUNCOORD_DEPTH",
    show_default=True,
    metavar="NAME",
    help="Variable that holds the depth.",
)
@click.option(
    "--max-depth-variable",
    default="RUNCOORD_MAX_DEPTH",
    show_default=True,
    metavar="NAME",
    help="Variable that holds its maximum.",
)
@click.option(
    "--grace-variable",
    default="RUNCOORD_TEARDOWN_GRACE",
    show_default=True,
    metavar="NAME",
    help="Variable that holds the grace.",
)
@click.option("--report", metavar="FILE", help="Write a JSON report of the end there.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but what kept it from beginning.")
@pass_session
@click.pass_context
def run(
    ctx: click.Context, session: Session, /, command: tuple[str, ...], report: str | None, **options: Any
) -> None:
    """Run a command under a lease, with its outcome recorded, and leave nothing of it behind.

    Its standard streams and the terminal are the command's. When it ends, or is to end, every process that
    can be found of it is ended; when it did not succeed, the git state of its directory is put back.
    The store is made if it is missing. runcoord itself writes to standard error, and only what went wrong.
    """
    session.output.json = _own_json(ctx)
    occupy_standard_streams()
    with Signals() as signals:
        try:
            status = _Run(session, Wishes(**options), command, report, signals).end()
        except (ToldToEnd, RuncoordError, OSError) as error:
            failure = failure_of_run(error)
            _say_failure(session, failure)
            status = int(failure.exit)
    raise click.exceptions.Exit(status)


def _own_json(ctx: click.Context) -> bool:
    """Whether ``--json`` was given to runcoord, and not to the command."""
    told = click.core.ParameterSource.COMMANDLINE
    return any(each.get_parameter_source("json") is told for each in (ctx, ctx.parent) if each is not None)


class _Run:
    """One invocation."""

    def __init__(
        self,
        session: Session,
        wishes: Wishes,
        argv: tuple[str, ...],
        report: str | None,
        signals: Signals,
    ) -> None:
        self._session, self._wishes, self._argv, self._signals = session, wishes, argv, signals
        self._report = None if report is None else _opened(report)

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
            task=wishes.task or one_line(shlex.join(self._argv))[:SHOWN_TASK_CHARACTERS],
            conversation_key=wishes.conversation_key,
            max_live_runs=wishes.max_live_runs,
            git=wishes.git,
            interactive=wishes.interactive,
        )

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
