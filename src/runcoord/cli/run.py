"""``runcoord run`` as click knows it: its help, and every command line that is not plain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from runcoord.cli.failures import usage_failure
from runcoord.cli.global_options import UTF8, RuncoordCommand, pass_session
from runcoord.cli.lengths import LENGTH
from runcoord.cli.run_invocation import Wishes, invoke
from runcoord.cli.run_options import OPTIONS, Kind, Option
from runcoord.cli.session import Session

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


def _with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``command`` with the options of the table."""
    for option in reversed(OPTIONS):
        command = click.option(*_names(option), option.field, **_attributes(option))(command)
    return command


def _names(option: Option) -> tuple[str, ...]:
    return ("/".join(option.names),) if option.kind is Kind.SWITCH else option.names


def _attributes(option: Option) -> dict[str, Any]:
    """Of a click option; what is not said is left to its own defaults."""
    attributes: dict[str, Any] = {"help": option.help}
    if option.kind is Kind.FLAG:
        return attributes | {"is_flag": True}
    kinds = {
        Kind.LENGTH: LENGTH,
        Kind.STORED: UTF8,
        Kind.NAMED: UTF8,
        Kind.COUNT: click.IntRange(option.least),
        Kind.CHOICE: click.Choice(option.choices),
    }
    if option.kind in kinds:
        attributes["type"] = kinds[option.kind]
    if option.kind is Kind.NAMED:
        attributes["callback"] = _not_empty
    if option.default is not None:
        attributes["default"] = option.default
    if option.metavar is not None:
        attributes["metavar"] = option.metavar
    if option.shown:
        attributes["show_default"] = True
    return attributes


def _not_empty(ctx: click.Context, parameter: click.Parameter, text: str) -> str:
    """The text of an option that was given, or its default."""
    assert parameter.name is not None
    if not text and ctx.get_parameter_source(parameter.name) is click.core.ParameterSource.COMMANDLINE:
        raise click.BadParameter("it is empty. Give it a value, or leave the option out.")
    return text


@click.command(
    "run",
    cls=RunCommand,
    context_settings={"allow_interspersed_args": False},
    options_metavar="[OPTIONS] --",
    epilog=STATUSES,
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="COMMAND [ARGUMENT]...")
@_with_options
@pass_session
@click.pass_context
def run(ctx: click.Context, session: Session, /, command: tuple[str, ...], **options: Any) -> None:
    """Run a command under a lease, with its outcome recorded, and leave nothing of it behind.

    Its standard streams and the terminal are the command's. When it ends, or is to end, every process that
    can be found of it is ended; when it did not succeed, the git state of its directory is put back.
    The store is made if it is missing. runcoord itself writes to standard error, and only what went wrong.
    """
    session.output.json = _own_json(ctx)
    raise click.exceptions.Exit(invoke(session, Wishes(**options), command))


def _own_json(ctx: click.Context) -> bool:
    """Whether ``--json`` was given to runcoord, and not to the command."""
    told = click.core.ParameterSource.COMMANDLINE
    return any(each.get_parameter_source("json") is told for each in (ctx, ctx.parent) if each is not None)
