"""Commands of other distributions, from the entry-point group ``runcoord.commands``.

An entry point names a :class:`click.Command`; its name is the command's name. The command

- takes ``--store``, ``--json`` and ``--color`` like any other: what it does not declare itself is added;
- finds the session of the invocation as ``ctx.obj``: ``ctx.obj.json`` says whether a program reads the
  output, ``ctx.obj.output.document(value)`` writes the one JSON document;
- may raise :class:`~runcoord.errors.RuncoordError`, which is shown and gives an exit code like any other.

One that cannot be imported breaks nothing: it is listed with the reason, and refused when it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import click

from runcoord._core.values import value
from runcoord.cli.global_options import global_options
from runcoord.cli.wording import one_line
from runcoord.errors import InvalidConfiguration

GROUP = "runcoord.commands"
REASON_CHARACTERS = 300
"""Longest reason kept of why a command cannot be used."""


class Named(Protocol):
    """What is used of :class:`importlib.metadata.EntryPoint`."""

    @property
    def name(self) -> str: ...

    @property
    def value(self) -> str: ...

    def load(self) -> Any: ...


Source = Callable[[], Iterable[Named]]


def installed(group: str = GROUP) -> Iterable[Named]:
    """The entry points of one group in this environment."""
    from importlib.metadata import entry_points

    return entry_points(group=group)


@value
class Contribution:
    """One contributed command: as it is, or as a stand-in that says why it cannot be used."""

    command: click.Command
    problem: str = ""


def find(source: Source, taken: Iterable[str]) -> dict[str, Named]:
    """The contributed commands by name, the first of each name. Names in ``taken`` are ours."""
    found: dict[str, Named] = {}
    for each in sorted(source(), key=lambda named: (named.name, named.value)):
        if each.name not in taken:
            found.setdefault(each.name, each)
    return found


def load(entry: Named) -> Contribution:
    """Import one contributed command, or say why that is not possible."""
    try:
        command = entry.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code: whatever it raises stays its own fault
        return _unusable(entry, f"{type(error).__name__}: {error}")
    if not isinstance(command, click.Command):
        return _unusable(entry, f"{entry.value} is a {type(command).__name__}, not a click command")
    declared = {name for param in command.params for name in param.opts}
    command.params.extend(option for option in global_options() if not declared & set(option.opts))
    return Contribution(command)


def _unusable(entry: Named, problem: str) -> Contribution:
    reason = one_line(problem)[:REASON_CHARACTERS]

    def refuse(**_: object) -> None:
        raise InvalidConfiguration(
            f"the command {entry.name!r} cannot be used: {reason}",
            remedy="Mend or remove its package; for runcoord's own commands: pip install 'runcoord[pytest]'.",
            command=entry.name,
            entry_point=entry.value,
        )

    command = click.Command(
        entry.name,
        callback=refuse,
        params=[*global_options(), click.Argument(["rest"], nargs=-1, type=click.UNPROCESSED)],
        context_settings={"ignore_unknown_options": True},
        short_help=f"(cannot be used: {reason})",
        help=f"This command cannot be used: {reason}",
    )
    return Contribution(command, reason)
