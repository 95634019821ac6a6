"""The clocks: they pass together, step apart, sleep, and start again."""

from __future__ import annotations

import contextlib
import locale
import os
import time
from datetime import datetime

from pytest_runcoord.incarnation import RUNNING
from pytest_runcoord.scenario import Step
from pytest_runcoord.vocabulary import Argument, Duration, Registry, Text
from pytest_runcoord.world import ScenarioMistake, World


def register(registry: Registry) -> None:
    """Register the verbs of this group."""
    _register_clocks(registry)
    _register_readings(registry)


def _register_clocks(registry: Registry) -> None:
    @registry.step(
        "advance",
        group="clocks",
        says="Time passes on all clocks; timers fire as they fall due.",
        arguments=(Argument("for", Duration(), "how long", required=True, shorthand=True),),
        example="advance: 91s",
    )
    def advance(world: World, step: Step) -> None:
        world.history.add("world", "clock", "advance", seconds=step.args["for"])
        world.time.pass_time(step.args["for"])

    @registry.step(
        "step",
        group="clocks",
        says="The wall clock is set, forwards or back; nothing else moves.",
        arguments=(
            Argument("wall", Duration(may_be_negative=True), "by how much", required=True, shorthand=True),
        ),
        example="step: -1h",
    )
    def step_(world: World, step: Step) -> None:
        world.history.add("world", "clock", "step", seconds=step.args["wall"])
        world.clock.step(step.args["wall"])
        world.time.fire_due()

    @registry.step(
        "suspend",
        group="clocks",
        says="The machine sleeps: wall and boottime go on, monotonic time and all work stand still.",
        arguments=(Argument("for", Duration(), "how long", required=True, shorthand=True),),
        example="suspend: 2h",
    )
    def suspend(world: World, step: Step) -> None:
        world.history.add("world", "clock", "suspend", seconds=step.args["for"])
        world.clock.suspend(step.args["for"])
        world.time.fire_due()

    @registry.step(
        "reboot",
        group="clocks",
        says="The machine restarts: every owner dies, boottime begins again under a new boot id.",
        example="reboot",
    )
    def reboot(world: World, step: Step) -> None:
        world.processes.power_off = True  # nobody has time to react
        for incarnation in list(world.owners.values()):
            if incarnation.life in RUNNING:
                world.crash(incarnation.owner)
        world.history.add("world", "clock", "reboot")
        world.clock.reboot()
        world.processes.power_off = False


def _register_readings(registry: Registry) -> None:
    @registry.step(
        "tz",
        group="clocks",
        says="The time zone of the process changes.",
        arguments=(
            Argument("zone", Text(max_length=60), "a zone of the tz database", required=True, shorthand=True),
        ),
        example="tz: Asia/Tokyo",
    )
    def tz(world: World, step: Step) -> None:
        world.history.add("world", "clock", "tz", zone=step.args["zone"])
        set_time_zone(world, step.args["zone"])

    @registry.step(
        "locale",
        group="clocks",
        says="The locale of the process, and of what it starts, changes; in this process if it is installed.",
        arguments=(Argument("name", Text(max_length=60), "as in LC_ALL", required=True, shorthand=True),),
        example="locale: de_DE.UTF-8",
    )
    def locale_(world: World, step: Step) -> None:
        world.history.add("world", "clock", "locale", name=step.args["name"])
        set_locale(world, step.args["name"])


LOCALE_VARIABLES = ("LC_ALL", "LC_TIME", "LANG")


def set_locale(world: World, name: str) -> None:
    """Set the process's locale until the scenario ends."""
    before = locale.setlocale(locale.LC_ALL)
    variables = {each: os.environ.get(each) for each in LOCALE_VARIABLES}

    def restore() -> None:
        for variable, value in variables.items():
            if value is None:
                os.environ.pop(variable, None)
            else:
                os.environ[variable] = value
        locale.setlocale(locale.LC_ALL, before)

    world.cleanups.append(restore)
    os.environ.update(dict.fromkeys(LOCALE_VARIABLES, name))
    with contextlib.suppress(locale.Error):
        locale.setlocale(locale.LC_ALL, name)


def set_time_zone(world: World, zone: str) -> None:
    """Set the process's time zone until the scenario ends."""
    before = os.environ.get("TZ")

    def restore() -> None:
        if before is None:
            os.environ.pop("TZ", None)
        else:
            os.environ["TZ"] = before
        if hasattr(time, "tzset"):
            time.tzset()

    world.cleanups.append(restore)
    os.environ["TZ"] = zone
    if hasattr(time, "tzset"):
        time.tzset()
        _require_in_force(zone)


WINTER_AND_SUMMER = (1_704_067_200, 1_719_792_000)
"""The beginnings of January and of July 2024 (seconds since 1970)."""


def _require_in_force(zone: str) -> None:
    """The system takes a zone that it does not know for UTC, without a word."""
    import zoneinfo  # a tenth of what loading the words costs, and few scenarios leave UTC

    try:
        right = zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ScenarioMistake(f"this machine knows no time zone {zone!r}") from error
    for moment in WINTER_AND_SUMMER:
        offset = datetime.fromtimestamp(moment, right).utcoffset()
        if offset is None or offset.total_seconds() != time.localtime(moment).tm_gmtoff:
            raise ScenarioMistake(f"this machine's C library knows no time zone {zone!r}")
