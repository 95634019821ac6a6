"""Lists a page at a time: the options for that, and what is said of the rest.

The newest come first: a store keeps thousands of finished runs, and the last ones are asked about. A table
for people is printed the other way round, in the order of acceptance: the newest row stands lowest, where a
terminal is when the command has ended.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from runcoord._core.limits import MAX_LIST
from runcoord.cli.output import Output
from runcoord.cli.session import Session
from runcoord.cli.wording import printable

if TYPE_CHECKING:
    from runcoord.cli.tables import Table

DEFAULT_LIMIT = 100
"""Rows of a list unless told otherwise: a few screens."""

_LINES_BELOW = 3
"""Lines that a terminal shows below a table: up to two notes and the prompt."""

T = TypeVar("T")
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def limit_option(what: str) -> Decorator:
    return click.option(
        "--limit",
        type=click.IntRange(1, MAX_LIST),
        default=DEFAULT_LIMIT,
        show_default=True,
        metavar="NUMBER",
        help=f"At most so many {what}.",
    )


def oldest_option(what: str) -> Decorator:
    return click.option("--oldest", is_flag=True, help=f"Begin with the oldest {what}, not with the newest.")


def oldest_above(page: Sequence[T], *, oldest: bool) -> list[T]:
    """A page as it stands in a table for people."""
    return list(page if oldest else reversed(page))


def tell_table(output: Output, table: Table) -> None:
    """The table, and which columns have no room. One that is taller than the terminal has its titles below
    the last row too, where they can be seen."""
    lines = table.lines(output.width)
    if output.height is not None and len(lines) + _LINES_BELOW > output.height:
        lines.append(lines[0])
    output.lines(lines)
    left_out = table.left_out(output.width)
    if left_out:
        output.note(f"Not shown at this width: {', '.join(left_out)}.")


def tell_of_more(ctx: click.Context, session: Session, after: str | None) -> None:
    """Say that the list goes on, and with which command. ``after`` names the page's last row; ``None``: no
    row of it can be read."""
    others = "newer" if ctx.params["oldest"] else "older"
    if after is None:
        session.output.note(f"There are {others} ones: raise --limit.")
    else:
        session.output.note(f"There are {others} ones: {next_page(ctx, session, after)}", whole=True)


def next_page(ctx: click.Context, session: Session, after: str) -> str:
    """This invocation again, going on ``after``."""
    words = ctx.command_path.split()
    if session.store_from == "--store":
        words += ["--store", session.store]
    for param in ctx.command.params:
        name = str(param.name)
        given = ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        if not given or name == "after" or name not in ctx.params:
            continue
        value = ctx.params[name]
        if value is True:
            words.append(param.opts[0])
        else:
            for each in value if param.multiple else [value]:
                words += [param.opts[0], str(each)]
    words += ["--after", after]
    return " ".join(shlex.quote(printable(word)) for word in words)
