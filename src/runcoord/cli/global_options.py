"""The options that every command takes: ``--store``, ``--json`` and ``--color``."""

from __future__ import annotations

from typing import Any

import click

from runcoord.cli.default_store import STORE_VARIABLE, default_store_text
from runcoord.cli.session import Session


class Utf8(click.ParamType):  # type: ignore[type-arg]
    """Text that can be stored. Bytes of the command line that are no UTF-8 are refused here."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        try:
            text.encode()
        except UnicodeEncodeError:
            self.fail("it is not valid UTF-8", param, ctx)
        return text


UTF8 = Utf8()


def _session(ctx: click.Context) -> Session:
    session = ctx.find_object(Session)
    assert session is not None, "App.main makes one"
    return session


def _choose_json(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        _session(ctx).output.json = True


def _choose_color(ctx: click.Context, _: click.Parameter, value: bool | None) -> None:
    if value is not None:
        _session(ctx).output.color = value
        ctx.find_root().color = value


def _choose_store(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is None:
        return
    session = _session(ctx)
    from_environment = ctx.get_parameter_source(str(param.name)) is click.core.ParameterSource.ENVIRONMENT
    if not value and not from_environment:
        # A variable of the shell that is not set, most likely; the default store is not what was meant.
        raise click.BadParameter("it names no store.", ctx, param)
    session.store, session.store_from = value, STORE_VARIABLE if from_environment else "--store"


class StoreOption(click.Option):
    """Says in its help, where it is read from the environment, which store is in use without it."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        record = super().get_help_record(ctx)
        if record is None or self.envvar is None:
            return record
        names, text = record
        return names, f"{text}  [env var: {self.envvar}; default: {default_store_text()}]"


def global_options(*, envvar: bool = False) -> list[click.Option]:
    """``--store``, ``--json`` and ``--color``, which go before the command or after it; the later wins."""
    store = StoreOption(
        ["--store"],
        metavar="PATH",
        envvar=STORE_VARIABLE if envvar else None,
        expose_value=False,
        callback=_choose_store,
        help="The store: a file, or sqlite:///FILE.",
    )
    json = click.Option(
        ["--json"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_choose_json,
        help="Write one JSON document; errors as JSON to standard error.",
    )
    color = click.Option(
        ["--color/--no-color"],
        default=None,
        is_eager=True,
        expose_value=False,
        callback=_choose_color,
        help="Colours, whatever NO_COLOR and the terminal say.",
    )
    return [store, json, color]


class RuncoordCommand(click.Command):
    """A command that takes the global options too, after its own."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.extend(global_options())


pass_session = click.make_pass_decorator(Session)
