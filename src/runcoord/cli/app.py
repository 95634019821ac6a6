"""The group of all commands."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from runcoord import __version__
from runcoord.cli.ending import ended
from runcoord.cli.failures import MEANINGS, Exit, click_failure, interrupted, usage_failure
from runcoord.cli.global_options import global_options
from runcoord.cli.session import Session

if TYPE_CHECKING:
    from runcoord.cli import contributed

COMMANDS: Mapping[str, str] = {
    "run": "runcoord.cli.run:run",
    "runs": "runcoord.cli.runs:runs",
    "show": "runcoord.cli.runs:show",
    "events": "runcoord.cli.events:events",
    "stop": "runcoord.cli.control:stop",
    "recover": "runcoord.cli.control:recover",
    "import": "runcoord.cli.importing:import_folders",
}
"""Our commands in the order of the help, and where each is: module and name. A module is loaded when its
command is called, or the help of all is shown."""

HELP = """Run commands durably, look at runs and their events, stop runs, and recover what a crash left.

Reading changes nothing and never makes a store; only run and import make one. The global options below
go before the command or after it.
"""

HELP_COLUMNS = 100
"""Longest line of a help text; wider ones are hard to read."""


def _epilog() -> str:
    width = max(len(str(int(code))) for code in MEANINGS)
    rows = [f"  {int(code):>{width}}  {meaning}" for code, meaning in MEANINGS.items()]
    return "\n".join(["\b", "Exit codes:", *rows])


class App(click.Group):
    """``runcoord``. ``source`` finds contributed commands (``None``: those that are installed); they are
    looked for only when needed."""

    def __init__(self, source: contributed.Source | None = None) -> None:
        store, json, color = global_options(envvar=True)
        version = click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_version,
            help="Show the version and exit.",
        )
        super().__init__(
            "runcoord",
            # For click's "Did you mean"; the commands themselves come from get_command.
            commands={name: click.Command(name) for name in COMMANDS},
            help=HELP,
            epilog=_epilog(),
            params=[store, json, color, version],
            no_args_is_help=False,
            invoke_without_command=True,
            callback=_without_command,
            context_settings={
                "help_option_names": ["-h", "--help"],
                "max_content_width": HELP_COLUMNS,
            },
        )
        self._source = source
        self._found: dict[str, contributed.Named] | None = None

    # --- commands, ours and contributed ones ---

    def _contributed(self) -> dict[str, contributed.Named]:
        if self._found is None:
            from runcoord.cli import contributed

            self._found = contributed.find(self._source or contributed.installed, COMMANDS)
        return self._found

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *self._contributed()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            module, _, name = COMMANDS[cmd_name].partition(":")
            command = getattr(import_module(module), name)
            assert isinstance(command, click.Command)
            return command
        entry = self._contributed().get(cmd_name)
        if entry is None:
            return None
        from runcoord.cli import contributed

        return contributed.load(entry).command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, names in (
            ("Commands", COMMANDS),
            ("Commands of other packages", self._contributed()),
        ):
            found = {name: self.get_command(ctx, name) for name in names}
            rows = [(name, each.get_short_help_str(HELP_COLUMNS)) for name, each in found.items() if each]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    # --- the end of an invocation ---

    def main(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        *,
        obj: Session | None = None,
        **extra: Any,
    ) -> int:
        """Run one command and exit with its code; without ``standalone_mode`` the code is returned."""
        arguments = list(sys.argv[1:] if args is None else args)
        name = prog_name or "runcoord"
        self._main_shell_completion(extra, name, complete_var)
        session = obj or Session()
        # Known before anything is parsed, so that a command line that is not understood is answered in kind.
        ours = arguments[: arguments.index("--")] if "--" in arguments else arguments
        session.output.json = "--json" in ours
        code = ended(session, lambda: self._invoked(arguments, name, session, extra))
        if standalone_mode:
            sys.exit(code)
        return code

    def _invoked(self, args: list[str], name: str, session: Session, extra: dict[str, Any]) -> int:
        """The exit code; what click raises is told here, everything else where the invocation ends."""
        try:
            with self.make_context(name, args, obj=session, **extra) as ctx:
                self.invoke(ctx)
                sys.stdout.flush()
                return Exit.DONE
        except click.exceptions.Exit as end:
            return end.exit_code
        except click.UsageError as error:
            failure = usage_failure(error)
        except click.ClickException as error:
            failure = click_failure(error)
        except click.Abort:
            failure = interrupted(session.changes)
        session.output.failure(failure)
        return int(failure.exit)


def _show_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"runcoord {__version__}")
        ctx.exit()


@click.pass_context
def _without_command(ctx: click.Context) -> None:
    """Show the help, but not as a success: a script whose command is an empty variable did nothing."""
    if ctx.invoked_subcommand is None:
        if not ctx.find_object(Session).json:  # type: ignore[union-attr]
            click.echo(ctx.get_help(), err=True)
        raise click.UsageError("no command was given", ctx)
