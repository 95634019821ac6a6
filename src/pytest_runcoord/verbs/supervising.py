"""Commands as runs: they are supervised, they end, and what they are given."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping as Mapped
from typing import Any

from pytest_runcoord.environments import DepthRead, depth_in, worn
from pytest_runcoord.scenario import Given, Step
from pytest_runcoord.verbs.asking import acting, ask, ask_with
from pytest_runcoord.verbs.process_words import CHILDREN, NEW_PROCESS, SIGNAL, WORDS, plan_of
from pytest_runcoord.verbs.runs import HELD_RUN
from pytest_runcoord.vocabulary import (
    Argument,
    Count,
    Duration,
    Either,
    Flag,
    Kind,
    ListOf,
    Mapping,
    Name,
    Record,
    Registry,
    Text,
)
from pytest_runcoord.world import ScenarioMistake, World, WorldPlan

VARIABLE = Text(max_length=100)
VALUE: Kind = Either(
    Text(may_be_empty=True),
    Record(
        Argument("escaped", Text(), r"bytes, those that are no text written as \xff"),
        Argument("path", Text(max_length=200), "the absolute path of this place in the scenario's home"),
    ),
)
VALUES = Mapping(VALUE, VARIABLE)
NAMES = Record(
    Argument("depth", VARIABLE, "where the depth is", default="RUNCOORD_DEPTH"),
    Argument("maximum", VARIABLE, "where its maximum is", default="RUNCOORD_MAX_DEPTH"),
    Argument("grace", VARIABLE, "where the grace is", default="RUNCOORD_TEARDOWN_GRACE"),
)
OURS = {"depth": "RUNCOORD_DEPTH", "maximum": "RUNCOORD_MAX_DEPTH"}


def register(registry: Registry) -> None:
    """Register the verbs of commands, and what ``given`` says about environments."""
    _register_environments(registry)
    _register_beginning(registry)
    _register_ending(registry)


def bytes_of(world: World, value: Any) -> bytes:
    """The bytes that a :data:`VALUE` stands for."""
    if isinstance(value, str):
        return value.encode()
    if value["path"] is not None:
        return os.fsencode(world.checkouts.path(value["path"]))
    escaped: str = value["escaped"] or ""
    return escaped.encode("latin-1", "backslashreplace").decode("unicode_escape").encode("latin-1")


def _changes(world: World, said: Mapped[str, Any] | None, unset: list[str] | None = None) -> dict[bytes, Any]:
    changes: dict[bytes, Any] = {
        name.encode(): bytes_of(world, value) for name, value in (said or {}).items()
    }
    return changes | {name.encode(): None for name in unset or ()}


def _register_environments(registry: Registry) -> None:
    @registry.given(
        "env",
        group="commands",
        says="Variables of the environment of every owner; nothing of the tests' own environment is in it.",
        capability="supervision",
        value=Mapping(Text(may_be_empty=True), VARIABLE),
        example="env: {RUNCOORD_MAX_DEPTH: '2'}",
    )
    def given_env(plan: WorldPlan, given: Given) -> None:
        plan.environment.update(given.args["value"])

    @registry.step(
        "env",
        group="commands",
        says="Variables of an owner's environment are set or unset, or those of every owner.",
        capability="supervision",
        arguments=(
            Argument("set", VALUES, "names and values"),
            Argument("unset", ListOf(VARIABLE, min=1), "names"),
        ),
        options=("by",),
        example="env: {by: gw1, set: {RUNCOORD_DEPTH: '1'}, unset: [GIT_DIR]}",
    )
    def env(world: World, step: Step) -> None:
        owner = step.options.get("by", "")
        changes = _changes(world, step.args["set"], step.args["unset"])
        world.environments.change(owner, changes)
        names = ",".join(name.decode() for name in changes)
        world.history.add("world", owner or "everybody", "env", names=names)


def _register_beginning(registry: Registry) -> None:
    @registry.step(
        "supervise",
        group="commands",
        says="An owner runs a command as a run: guarded, recorded, begun. Then it watches over it.",
        capability="supervision",
        arguments=(
            Argument("run", Name("run", defines=True), "the id of its run", required=True),
            NEW_PROCESS,
            *WORDS,
            CHILDREN,
            Argument("shim", Name("process", defines=True), "what its shim is called"),
            Argument("under", Name("process"), "a process of another run whose environment this has"),
            Argument("env", VALUES, "variables for this once"),
            Argument("directory", Text(max_length=200), "where in the scenario's home", default="."),
            Argument("timeout", Duration(), "how long it may work"),
            Argument("grace", Duration(), "time between asking and killing; the environment's otherwise"),
            Argument("max_depth", Count(0, 1_000_000), "an option that lowers the maximum depth"),
            Argument("max_live_runs", Count(0, 1_000_000), "unfinished runs of its lineage, with itself"),
            Argument("names", NAMES, "other names of the variables"),
            Argument("missing", Flag(), "there is no such program", default=False),
            Argument("broken", Flag(), "it is there, and cannot be executed in the end", default=False),
        ),
        options=("by", "as", "refused", "crash_at"),
        example="supervise: {run: r1, by: gw1, process: build, directory: checkout}",
    )
    def supervise(world: World, step: Step) -> None:
        args, run, label = step.args, step.args["run"], step.args["process"]
        environment = _environment(world, step)
        names = {**OURS, **(args["names"] or {})}
        read = depth_in(environment, names["depth"], names["maximum"])
        above = _runs_above(world, run, args["under"])
        _plan(world, step)
        asked: dict[str, Any] = {"run": run, "program": label}
        asked["directory"] = str(world.checkouts.path(args["directory"]))
        for name in ("timeout", "grace", "max_depth", "max_live_runs", "names"):
            if args[name] is not None:
                asked[name] = args[name]
        world.checkouts.begins(run, args["directory"])
        world.logbook  # noqa: B018  it is opened by being asked for
        world.new_cookie = world.processes.cookie_of(run)
        try:
            with worn(
                environment, lambda changes: world.environments.change(acting(world, step).owner, changes)
            ):
                world.answers["supervise"] = ask(
                    world, step, "supervise", asked, acquires="command", **_said(read, above, label, names)
                )
        finally:
            world.new_cookie = ""


def _register_ending(registry: Registry) -> None:
    @registry.step(
        "settle",
        group="commands",
        says="The supervisor of a command sees what there is to see, and ends the run if that is due.",
        capability="supervision",
        arguments=(HELD_RUN,),
        options=("by", "with", "crash_at"),
        example="settle: {run: r1, by: gw1}",
    )
    def settle(world: World, step: Step) -> None:
        world.answers["settle"] = ask_with(world, step, "settle", "command")

    @registry.step(
        "interrupt",
        group="commands",
        says="The supervisor of a command is told by a signal to end, and ends the run.",
        capability="supervision",
        arguments=(HELD_RUN, Argument("signal", SIGNAL, "which", default="TERM")),
        options=("by", "with", "crash_at"),
        example="interrupt: {run: r1, signal: INT}",
    )
    def interrupt(world: World, step: Step) -> None:
        number = int(signal.Signals[f"SIG{step.args['signal']}"])
        world.answers["settle"] = ask_with(world, step, "interrupt", "command", {"number": number})


def _environment(world: World, step: Step) -> dict[bytes, bytes]:
    """What the supervisor of this step finds in its environment."""
    under = step.args["under"]
    if under is None:
        found = world.environments.of(acting(world, step).owner)
    else:
        found = world.environment_of(under)
    found.update(_changes(world, step.args["env"]))
    return found


def _runs_above(world: World, run: str, under: str | None) -> int:
    """How many runs there are above this one in truth, whatever its environment says."""
    if under is None:
        return 0  # also for a run that was to be inside of one before, and was refused
    inside = world.processes.inside
    outer = world.processes.find(under).run
    if not outer:
        raise ScenarioMistake(f"{under} belongs to no run", "Name a process of a run.")
    inside[run] = outer
    above = 0
    while (outer := inside.get(run, "")) and above <= len(inside):
        above, run = above + 1, outer
    return above


def _plan(world: World, step: Step) -> None:
    label = step.args["process"]
    if not step.args["missing"]:
        world.environments.program(label)
    if not step.args["missing"] and not step.args["broken"]:
        world.processes.programs[label] = plan_of(step.args, label)
    if step.args["shim"] is not None:
        world.processes.shim_names[label] = step.args["shim"]


def _said(read: DepthRead, above: int, label: str, names: Mapped[str, str]) -> dict[str, Any]:
    """What the invariants are told of a command, whatever the subject thinks of it."""
    return {
        "read_depth": read.depth,
        "read_maximum": read.maximum,
        "above": above,
        "process": label,
        "depth_name": names["depth"],
        "maximum_name": names["maximum"],
    }
