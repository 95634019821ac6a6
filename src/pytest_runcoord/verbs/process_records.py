"""What is written about processes, by an older version, by a fault, or by whoever wants to deceive."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from pytest_runcoord.reference import STORE_NAME
from pytest_runcoord.scenario import Step
from pytest_runcoord.verbs.process_words import ANY_PROCESS
from pytest_runcoord.vocabulary import Argument, Count, Json, Name, Registry, Text
from pytest_runcoord.world import ScenarioMistake, World
from runcoord.ports import Fate, LastWords, ProcessReport, TeardownReport


def register(registry: Registry) -> None:
    """Register the words of this module."""
    _register_stored(registry)
    _register_last_words(registry)


def _register_stored(registry: Registry) -> None:
    @registry.step(
        "stored_identity",
        group="store",
        says="The stored identity of a run's recorded processes is another one, as of an older version.",
        capability="sqlite",
        arguments=(
            Argument("run", Name("run", free=True), "whose processes", required=True),
            Argument("of", Name("process"), "only this process; all that were recorded otherwise"),
            Argument("set", Json(), "fields of the identity, with their values; null takes a field away"),
            Argument("like", ANY_PROCESS, "the identity of this process, or owner, in its place"),
            Argument("text", Text(may_be_empty=True), "this text in the place of the whole identity"),
        ),
        example="stored_identity: {run: r1, set: {pid: 2147483648}}",
    )
    def stored_identity(world: World, step: Step) -> None:
        run, of = step.args["run"], step.args["of"]
        wanted = None if of is None else world.processes.find(of).pid
        connection = sqlite3.connect(world.directory / STORE_NAME, isolation_level=None, timeout=0)
        try:
            rows = connection.execute(
                "SELECT number, identity FROM processes WHERE run_id = ?", (run,)
            ).fetchall()
            chosen = [
                (number, text) for number, text in rows if wanted in (None, json.loads(text).get("pid"))
            ]
            if not chosen:
                raise ScenarioMistake(f"no process of {run} is recorded" + (f" as {of}" if of else ""))
            for number, text in chosen:
                like = step.args["like"]
                taken = text if like is None else json.dumps(_identity(world, like))
                changed = _changed(taken, step.args["set"] or {})
                connection.execute(
                    "UPDATE processes SET identity = ? WHERE run_id = ? AND number = ?",
                    (changed if step.args["text"] is None else step.args["text"], run, number),
                )
        finally:
            connection.close()
        world.changed = True
        world.history.add("world", "disk", "another identity", run=run)


def _identity(world: World, label: str) -> dict[str, Any]:
    """What would be recorded of a process, by itself."""
    process = world.processes.find(label)
    near = next(
        each for each in world.owners.values() if world.processes.place_of(each.owner) == process.place
    )
    return world.processes.seat(near).processes.identity_of(process).document()


def _changed(text: str, fields: dict[str, Any]) -> str:
    document = json.loads(text) | fields
    return json.dumps({name: value for name, value in document.items() if value is not None})


def _register_last_words(registry: Registry) -> None:
    @registry.step(
        "last_words",
        group="processes",
        says="Somebody else than its shim writes the file for a run's last words; a run may write there.",
        arguments=(
            Argument("run", Name("run"), "whose file", required=True),
            Argument("names", Name("process"), "a process that it names as one that survived"),
            Argument("status", Count(-64, 255), "how the command ended, as it says", default=0),
        ),
        example="last_words: {run: r1, names: stranger, status: 0}",
    )
    def last_words(world: World, step: Step) -> None:
        run, named = step.args["run"], step.args["names"]
        processes = []
        if named is not None:
            process = world.processes.find(named)
            processes.append(ProcessReport(process.pid, Fate.SURVIVED, ("cookie",), start=process.start))
        words = LastWords(
            cookie=world.processes.cookie_of(run),
            executed=True,
            status=step.args["status"],
            by_itself=True,
            interruptions=0,
            teardown=TeardownReport(not processes, processes=tuple(processes), counted=len(processes)),
        )
        path = world.directory / f"{run}.last-words"
        path.write_text(json.dumps(words.document()), "utf-8")
        world.history.add("world", "disk", "last words", run=run)
