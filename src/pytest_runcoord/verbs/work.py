"""Real work under a heartbeat: the executor of the coordinator."""

from __future__ import annotations

from pytest_runcoord.scenario import Step
from pytest_runcoord.verbs.asking import ask, ask_with
from pytest_runcoord.verbs.runs import ENDING, HELD, HELD_RUN, RUN, end
from pytest_runcoord.vocabulary import Registry
from pytest_runcoord.world import World


def register(registry: Registry) -> None:
    """Register the verbs of this group."""

    @registry.step(
        "execute",
        group="executor",
        says="An owner claims and starts a run; its heartbeat renews the lease as time passes.",
        capability="executor",
        arguments=(RUN,),
        options=("by", "as", "refused", "crash_at"),
        example="execute: {run: r1, by: gw1, as: job}",
    )
    def execute(world: World, step: Step) -> None:
        world.answers["execute"] = ask(
            world, step, "execute", {"run": step.args["run"]}, acquires="execution"
        )

    @registry.step(
        "execute_next",
        group="executor",
        says="An owner claims and starts the oldest run that can be claimed, if there is one.",
        capability="executor",
        options=("by", "as", "refused", "crash_at"),
        example="execute_next: {by: gw1, as: job}",
    )
    def execute_next(world: World, step: Step) -> None:
        world.answers["execute_next"] = ask(world, step, "execute_next", acquires="execution")

    @registry.step(
        "effect",
        group="executor",
        says="The work is about to have an effect, and asks whether it still may.",
        capability="executor",
        arguments=(HELD_RUN,),
        options=HELD,
        example="effect: {with: job, refused: work-cancelled}",
    )
    def effect(world: World, step: Step) -> None:
        world.answers["effect"] = ask_with(world, step, "effect", "execution")

    @registry.step(
        "finish",
        group="executor",
        says="The work ends: its outcome is recorded and its event delivered.",
        capability="executor",
        arguments=ENDING,
        options=HELD,
        example="finish: {with: job, outcome: completed, result: done}",
    )
    def finish(world: World, step: Step) -> None:
        end(world, step, "finish", "execution")
