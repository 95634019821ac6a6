"""What goes wrong around an owner: its store, its destinations, stored rows."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from pytest_runcoord.incarnation import RUNNING, Fault
from pytest_runcoord.moments import TRANSACTIONS
from pytest_runcoord.probed_ports import FAULTS
from pytest_runcoord.reference import STORE_NAME
from pytest_runcoord.scenario import Step
from pytest_runcoord.verbs.asking import acting
from pytest_runcoord.verbs.given import DETAILS, behave
from pytest_runcoord.vocabulary import Argument, Choice, Count, Duration, Flag, Name, Registry, Text
from pytest_runcoord.world import ScenarioMistake, World

CALLS = {
    **TRANSACTIONS,
    "read-run": "one run is read",
    "read-recoverable": "a sweep reads which runs it may recover",
    "read-due": "the next delivery is planned",
    "read-held": "held events are counted",
    "read-folders": "an import reads which folders are known",
    "read-untombstoned": "an import reads which folders lack a tombstone",
    "any": "whatever is asked of the store",
}


def register(registry: Registry) -> None:
    """Register the verbs of this group."""
    _register_store_faults(registry)
    _register_damage(registry)
    _register_loss(registry)
    _register_destinations(registry)


def _register_store_faults(registry: Registry) -> None:
    @registry.step(
        "fault",
        group="store",
        says="Calls of an owner to its store meet a fault; one that no call meets fails the scenario.",
        capability="ports",
        arguments=(
            Argument("on", Choice(CALLS), "which call", required=True),
            Argument("is", Choice(FAULTS), "what happens to it", required=True),
            Argument("times", Count(1, 100_000), "how many calls; for ever with 'always'", default=1),
            Argument("always", Flag(), "every such call, until 'mend'", default=False),
        ),
        options=("by",),
        example="fault: {by: gw1, on: renew, is: locked, times: 1}",
    )
    def fault(world: World, step: Step) -> None:
        incarnation = acting(world, step)
        times = None if step.args["always"] else step.args["times"]
        arranged = Fault(step.args["on"], step.args["is"], times, step)
        incarnation.faults.append(arranged)
        world.faults.append(arranged)

    @registry.step(
        "mend",
        group="store",
        says="The faults of an owner's store are gone; calls that hang in helper threads give up.",
        capability="ports",
        options=("by",),
        example="mend: {by: gw1}",
    )
    def mend(world: World, step: Step) -> None:
        acting(world, step).faults.clear()
        world.time.release_hanging()

    @registry.step(
        "lock",
        group="store",
        says="Another process holds the store's lock for a while.",
        capability="sqlite",
        arguments=(Argument("for", Duration(), "how long", required=True, shorthand=True),),
        example="lock: 3s",
    )
    def lock(world: World, step: Step) -> None:
        connection = sqlite3.connect(_path(world), isolation_level=None, timeout=0)
        connection.execute("BEGIN EXCLUSIVE")
        world.history.add("world", "another process", "lock", seconds=step.args["for"])

        def release() -> None:
            connection.close()

        world.cleanups.append(release)
        world.time.alarm(step.args["for"], release)


def _register_damage(registry: Registry) -> None:
    @registry.step(
        "damage",
        group="store",
        says="A stored value of a run becomes one that cannot be understood.",
        capability="sqlite",
        arguments=(
            Argument("run", Name("run"), "whose row", required=True),
            Argument("column", Text(max_length=40), "which column", default="state"),
            Argument("to", Text(max_length=200), "the value to put in", default="nonsense"),
        ),
        example="damage: {run: r1, column: state, to: nonsense}",
    )
    def damage(world: World, step: Step) -> None:
        column = step.args["column"]
        connection = sqlite3.connect(_path(world), isolation_level=None, timeout=0)
        try:
            known = [row[1] for row in connection.execute("PRAGMA table_info(runs)")]
            if column not in known:
                raise ScenarioMistake(f"runs have no column {column!r}; there are {', '.join(known)}")
            connection.execute("PRAGMA ignore_check_constraints = ON")
            changed = connection.execute(
                f'UPDATE runs SET "{column}" = ? WHERE run_id = ?', (step.args["to"], step.args["run"])
            )
            _require_row(changed, step.args["run"])
        finally:
            connection.close()
        world.changed = True
        world.history.add("world", "disk", "damage", run=step.args["run"], column=column)

    @registry.step(
        "lose_row",
        group="store",
        says="The row of a run is gone from the store; its command and its events are still there.",
        capability="sqlite",
        arguments=(Argument("run", Name("run"), "whose row", required=True, shorthand=True),),
        example="lose_row: r1",
    )
    def lose_row(world: World, step: Step) -> None:
        connection = sqlite3.connect(_path(world), isolation_level=None, timeout=0)
        try:
            gone = connection.execute("DELETE FROM runs WHERE run_id = ?", (step.args["run"],))
            _require_row(gone, step.args["run"])
        finally:
            connection.close()
        world.changed = True
        world.history.add("world", "disk", "lose row", run=step.args["run"])

    @registry.step(
        "second_opener",
        group="store",
        says="Another process opens the store and reads everything, which answers 'look'; nothing else.",
        capability="sqlite",
        example="second_opener",
    )
    def second_opener(world: World, step: Step) -> None:
        incarnation = world.open(f"reader-{step.line}")
        world.answers["look"] = world.call(incarnation, "look", {})
        world.close_owner(incarnation.owner)
        world.changed = True


def _register_loss(registry: Registry) -> None:
    @registry.step(
        "lose_store",
        group="store",
        says="The store is gone, with all that was in it; nobody has it open.",
        capability="sqlite",
        example="lose_store",
    )
    def lose_store(world: World, step: Step) -> None:
        alive = [each.owner for each in world.owners.values() if each.life in RUNNING]
        if alive:
            raise ScenarioMistake(f"{alive[0]} has the store open", f"Close or crash {alive[0]} above.")
        path = Path(_path(world))
        world.look_away()
        for each in path.parent.glob(f"{path.name}*"):
            each.unlink()
        if world.has_homes:
            world.homes.store_lost()
        world.history.add("world", "disk", "lose store")


def _register_destinations(registry: Registry) -> None:
    @registry.step(
        "destination",
        group="destinations",
        says="A destination answers differently from now on.",
        arguments=(Argument("name", Name("destination"), "which one", required=True), *DETAILS),
        example="destination: {name: chat, is: down, times: 2}",
    )
    def destination(world: World, step: Step) -> None:
        details = {name: value for name, value in step.args.items() if name != "name"}
        behave(world.destinations, step.args["name"], details)
        world.history.add("world", step.args["name"], f"is {step.args['is']}")


def _require_row(cursor: sqlite3.Cursor, run: str) -> None:
    if not cursor.rowcount:
        raise ScenarioMistake(f"the store has no run {run}")


def _path(world: World) -> str:
    path = world.directory / STORE_NAME
    if not path.exists():
        raise ScenarioMistake("there is no store yet; open an owner first")
    return str(path)
