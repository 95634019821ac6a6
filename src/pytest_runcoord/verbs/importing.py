"""Run folders become runs, asked for or by an owner's own sweeps; their events are routed, results read."""

from __future__ import annotations

from collections.abc import Mapping as Mapped
from typing import Any

from pytest_runcoord.homes.plan import HOME, IMPORT, Import
from pytest_runcoord.scenario import Step
from pytest_runcoord.verbs.asking import acting, ask
from pytest_runcoord.verbs.homes import IN
from pytest_runcoord.vocabulary import Argument, Count, Duration, Name, Record, Registry
from pytest_runcoord.world import World

HOW = (
    Argument("to", Name("destination"), "where their events go; otherwise they are held"),
    Argument("prune_after", Duration(), "age at which folders with a tombstone are removed; never otherwise"),
)
IMPORTS = Argument(
    "imports",
    Record(IN, *HOW),
    "the home that it imports by itself, in each of its sweeps; also when restarted",
    needs="import",
)
"""An argument of 'open'."""


def import_of(world: World, said: Mapped[str, Any]) -> Import:
    """What is asked for, by the words of :data:`HOW`."""
    home = world.homes.home(said["in"] or HOME)
    return Import(home.path, home.root_name, said["to"] or "", said["prune_after"])


def imports_from_now_on(world: World, owner: str, said: Mapped[str, Any] | None) -> None:
    """An owner imports a home by itself from now on, if that is said."""
    if said is not None:
        asked = (import_of(world, said),)
        world.homes.imports[owner] = asked
        world.homes.begin_import(asked)


def register(registry: Registry) -> None:
    """Register the verbs of this group."""

    @registry.step(
        "import",
        group="homes",
        says="An owner imports a home: its folders become runs, and what can be tombstoned is.",
        capability="import",
        arguments=(IN, *HOW),
        options=("by", "refused", "crash_at"),
        example="import: {by: gw1, to: chat}",
    )
    def import_(world: World, step: Step) -> None:
        asked = import_of(world, step.args)
        world.homes.begin_import((asked,))
        by = acting(world, step)
        world.answers["import"] = world.sweep(by, IMPORT, asked.plain(), on=asked.home)

    @registry.step(
        "route",
        group="homes",
        says="The operator gives a held event a destination; it is due again, with the same id and bytes.",
        capability="import",
        arguments=(
            Argument("run", Name("run"), "whose terminal event", required=True, shorthand=True),
            Argument("to", Name("destination"), "where to", required=True),
        ),
        options=("by", "refused", "crash_at"),
        example="route: {run: r1, to: chat}",
    )
    def route(world: World, step: Step) -> None:
        run, to = step.args["run"], step.args["to"]
        world.homes.routed.add((run, to))
        asked = {"event": f"{run}/finished", "destination": to}
        world.answers["route"] = ask(world, step, "route", asked)

    @registry.step(
        "read_result",
        group="homes",
        says="The result of a run is read, where it is kept: its text, size, and whether it was cut.",
        capability="import",
        arguments=(
            Argument("run", Name("run"), "whose result", required=True, shorthand=True),
            Argument("limit", Count(1), "bytes that are read at most; the documented number otherwise"),
        ),
        options=("by", "refused", "crash_at"),
        example="read_result: r1",
    )
    def read_result(world: World, step: Step) -> None:
        asked = {name: step.args[name] for name in ("run", "limit") if step.args[name] is not None}
        world.answers["read_result"] = ask(world, step, "read_result", asked)
