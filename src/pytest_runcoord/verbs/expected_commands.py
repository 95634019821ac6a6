"""What a scenario expects of commands: what they were given, whether they were started, what was logged."""

from __future__ import annotations

import logging
from typing import Any

from pytest_runcoord.scenario import Expectation
from pytest_runcoord.verbs.comparing import Unmet, shown
from pytest_runcoord.verbs.supervising import VALUES, VARIABLE, bytes_of
from pytest_runcoord.vocabulary import Argument, Choice, Count, Json, ListOf, Name, Registry, Text
from pytest_runcoord.world import ScenarioMistake, World

LEVELS = {
    name: f"the level {name.upper()} of the standard library"
    for name in ("debug", "info", "warning", "error")
}
ALWAYS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""Attributes that every record has."""


def register(registry: Registry) -> None:
    """Register the expectations about commands."""
    _register_starts(registry)
    _register_logs(registry)


def _register_starts(registry: Registry) -> None:
    @registry.expectation(
        "exports",
        group="commands",
        says="What the environment of a process was when it began.",
        arguments=(
            Argument("to", Name("process"), "which process", required=True),
            Argument("has", VALUES, "variables, with their values"),
            Argument("lacks", ListOf(VARIABLE, min=1), "variables that it does not have"),
        ),
        key=("to",),
        example="exports: {to: build, has: {RUNCOORD_DEPTH: '1'}, lacks: [GIT_DIR]}",
    )
    def exports(world: World, expectation: Expectation) -> None:
        args = expectation.args
        found = world.environment_of(args["to"])
        wanted = {name.encode(): bytes_of(world, value) for name, value in (args["has"] or {}).items()}
        for name, value in wanted.items():
            if found.get(name) != value:
                seen = _as_text(found[name]) if name in found else "not set"
                raise Unmet(
                    f"{name.decode()} of {args['to']} is not as expected", expected=_as_text(value), seen=seen
                )
        present = [name for name in args["lacks"] or () if name.encode() in found]
        if present:
            raise Unmet(
                f"{args['to']} has what it should not have", expected="none of them", seen=", ".join(present)
            )

    @registry.expectation(
        "started",
        group="commands",
        says="How many trees of processes were started for a run, or for all.",
        arguments=(
            Argument("run", Name("run", free=True), "for which run; for any otherwise"),
            Argument("count", Count(0, 100_000), "how many", required=True, shorthand=True),
        ),
        key=("run",),
        example="started: {run: r1, count: 0}",
    )
    def started(world: World, expectation: Expectation) -> None:
        run, count = expectation.args["run"], expectation.args["count"]
        found = [shim.process.run for shim in world.processes.shims()]
        seen = [each for each in found if run in (None, each)]
        if len(seen) != count:
            raise Unmet(
                "not as many trees were started as expected",
                expected=str(count),
                seen=f"{len(seen)}: {', '.join(seen[:10])}",
            )


def _register_logs(registry: Registry) -> None:
    @registry.expectation(
        "log",
        group="commands",
        says="What the library has logged since the first command: records by a part of their text.",
        arguments=(
            Argument("has", Text(max_length=200), "a part of the text", required=True),
            Argument("level", Choice(LEVELS), "only of this level"),
            Argument("fields", Json(), "all fields of the newest, with their values"),
            Argument("count", Count(0, 100_000), "exactly so many; at least one otherwise"),
        ),
        key=("has", "level"),
        example="log: {has: too deep, level: warning, fields: {depth: 3, max: 3}, count: 1}",
    )
    def log(world: World, expectation: Expectation) -> None:
        args = expectation.args
        level = None if args["level"] is None else args["level"].upper()
        found = [
            each
            for each in world.logbook.records
            if args["has"] in each.getMessage() and level in (None, each.levelname)
        ]
        count = args["count"]
        if not found if count is None else len(found) != count:
            raise Unmet(
                "not as many records as expected",
                expected="at least one" if count is None else str(count),
                seen=shown([each.getMessage() for each in world.logbook.records[-5:]]),
            )
        if args["fields"] is not None:
            if not found:
                raise ScenarioMistake("there is no record to have fields", "Leave out 'count: 0'.")
            seen = _fields(found[-1])
            if seen != args["fields"]:
                raise Unmet(
                    "the fields of the record are not as expected",
                    expected=shown(args["fields"]),
                    seen=shown(seen),
                )

    @registry.expectation(
        "unlogged",
        group="commands",
        says="A text is in no record of any level, neither in its words nor in its fields.",
        arguments=(Argument("text", Text(max_length=200), "which", required=True, shorthand=True),),
        example="unlogged: s3cr3t",
    )
    def unlogged(world: World, expectation: Expectation) -> None:
        text = expectation.args["text"]
        for each in world.logbook.records:
            if text in each.getMessage() or any(text in str(value) for value in _fields(each).values()):
                raise Unmet("it was logged", expected=f"no record with {text!r}", seen=each.getMessage())


def _as_text(value: bytes) -> str:
    """The value of a variable as a scenario writes it; bytes that are no text are escaped."""
    return shown(value.decode(errors="backslashreplace"))


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in ALWAYS}
