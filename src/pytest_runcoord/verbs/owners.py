"""Owners start, stop, die, freeze and come back."""

from __future__ import annotations

from pytest_runcoord.arming import Armed
from pytest_runcoord.incarnation import RUNNING, Life
from pytest_runcoord.scenario import Step
from pytest_runcoord.verbs.asking import acting
from pytest_runcoord.verbs.importing import IMPORTS, imports_from_now_on
from pytest_runcoord.vocabulary import (
    Argument,
    Choice,
    Count,
    Duration,
    Expectations,
    Moment,
    Name,
    OneStep,
    Registry,
    Steps,
)
from pytest_runcoord.world import ScenarioMistake, World

OWNER = Argument("owner", Name("owner"), "which owner", required=True, shorthand=True)
TIMERS = {
    "renew": "the heartbeats of its executions",
    "maintenance": "its periodic sweep and deliveries",
    "loop": "the event loop of an asyncio subject, between its verbs",
}


def register(registry: Registry) -> None:
    """Register the verbs of this group."""
    _register_lives(registry)
    _register_standstills(registry)
    _register_interleaving(registry)


def _register_lives(registry: Registry) -> None:
    @registry.step(
        "open",
        group="owners",
        says="An owner starts: a coordinator is opened on the scenario's store. Nothing else happens.",
        arguments=(
            Argument("owner", Name("owner", defines=True), "its name", required=True, shorthand=True),
            IMPORTS,
        ),
        options=("refused",),
        example="open: gw1",
    )
    def open_(world: World, step: Step) -> None:
        imports_from_now_on(world, step.args["owner"], step.args["imports"])
        world.open(step.args["owner"])

    @registry.step(
        "close",
        group="owners",
        says="An owner ends in good order; what it holds stays held.",
        arguments=(OWNER,),
        example="close: gw1",
    )
    def close(world: World, step: Step) -> None:
        world.close_owner(step.args["owner"])

    @registry.step(
        "crash",
        group="owners",
        says="The process of an owner dies now: no clean-up of any kind runs.",
        arguments=(OWNER,),
        example="crash: gw1",
    )
    def crash(world: World, step: Step) -> None:
        world.crash(step.args["owner"])

    @registry.step(
        "restart",
        group="owners",
        says="The process of an owner dies and is started again.",
        arguments=(OWNER,),
        example="restart: gw1",
    )
    def restart(world: World, step: Step) -> None:
        owner = step.args["owner"]
        if world.owners.get(owner) is not None and world.owners[owner].life in RUNNING:
            world.crash(owner)
        world.open(owner)

    @registry.step(
        "pause",
        group="owners",
        says="An owner's process stands still, as under SIGSTOP: none of its timers fires.",
        arguments=(OWNER,),
        example="pause: gw1",
    )
    def pause(world: World, step: Step) -> None:
        incarnation = world.owner(step.args["owner"])
        assert incarnation.process is not None
        incarnation.process.pause()
        incarnation.life = Life.PAUSED
        world.history.add("world", incarnation.owner, "pause")


def _register_standstills(registry: Registry) -> None:
    @registry.step(
        "resume",
        group="owners",
        says="A paused owner goes on; timers that fell due meanwhile fire with the next passing of time.",
        arguments=(OWNER,),
        example="resume: gw1",
    )
    def resume(world: World, step: Step) -> None:
        owner = step.args["owner"]
        incarnation = world.owners[owner]
        if incarnation.life is not Life.PAUSED:
            raise ScenarioMistake(f"{owner} is {incarnation.life.value}, not paused")
        assert incarnation.process is not None
        incarnation.process.resume()
        incarnation.life = Life.ALIVE
        world.history.add("world", owner, "resume")

    @registry.step(
        "stall",
        group="owners",
        says="Time passes while a timer of an owner does not fire, as with a blocked thread or event loop.",
        arguments=(
            Argument("what", Choice(TIMERS), "which timer", default="renew"),
            Argument("for", Duration(), "how long", required=True),
        ),
        options=("by",),
        example="stall: {what: renew, by: gw1, for: 95s}",
    )
    def stall(world: World, step: Step) -> None:
        incarnation = acting(world, step)
        what = step.args["what"]
        world.history.add("world", incarnation.owner, f"stall {what}", seconds=step.args["for"])
        incarnation.stalled.add(what)
        try:
            world.time.pass_time(step.args["for"])
        finally:
            incarnation.stalled.discard(what)

    @registry.step(
        "expect",
        group="interleaving",
        says="What must be so at this moment, between two steps.",
        value=Expectations(),
        example="expect: [{run: {id: r1, state: claimed}}]",
    )
    def expect(world: World, step: Step) -> None:
        for expectation in step.args["value"]:
            world.check(expectation)


def _register_interleaving(registry: Registry) -> None:
    @registry.step(
        "during",
        group="interleaving",
        says="While a step is carried out, other steps happen at a named moment of it.",
        arguments=(
            Argument("step", OneStep(), "the step that is interrupted", required=True),
            Argument("at", Moment(), "the moment", required=True),
            Argument("nth", Count(1, 1_000), "the how many-th time that the moment is reached", default=1),
            Argument("do", Steps(), "what happens then", required=True),
        ),
        example="during: {step: {recover: {by: gw2}}, at: after-read, do: [crash: gw1]}",
    )
    def during(world: World, step: Step) -> None:
        outer, do = step.args["step"], step.args["do"]

        def happen(_: object) -> None:
            for each in do:
                world.run_step(each)

        world.arming.during(
            Armed(step.args["at"], happen, outer.options.get("by", ""), step.args["nth"]),
            lambda: world.run_step(outer),
        )
