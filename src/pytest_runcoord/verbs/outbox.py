"""Getting events delivered, and answering single attempts."""

from __future__ import annotations

from pytest_runcoord.scenario import Step
from pytest_runcoord.verbs.asking import ask, ask_with
from pytest_runcoord.vocabulary import Argument, Name, Registry, Text
from pytest_runcoord.world import World


def register(registry: Registry) -> None:
    """Register the verbs of this group."""
    _register_sending(registry)
    _register_answering(registry)


def _register_sending(registry: Registry) -> None:
    @registry.step(
        "deliver",
        group="outbox",
        says="Send every event that is due, until nothing is left or time is up.",
        capability="outbox",
        options=("by", "refused", "may_refuse", "crash_at"),
        example="deliver: {by: gw1}",
    )
    def deliver(world: World, step: Step) -> None:
        world.answers["deliver"] = ask(world, step, "deliver")

    @registry.step(
        "dispatch",
        group="outbox",
        says="Claim the events that are due, to send them by hand; gives the attempt for one run.",
        capability="attempts",
        arguments=(Argument("run", Name("run"), "whose event the attempt is for; the first one otherwise"),),
        options=("by", "as", "refused", "crash_at"),
        example="dispatch: {run: r1, by: gw1, as: try1}",
    )
    def dispatch(world: World, step: Step) -> None:
        world.answers["dispatch"] = ask(
            world, step, "dispatch", {"run": step.args["run"]}, acquires="delivery"
        )

    @registry.step(
        "acknowledge",
        group="outbox",
        says="The destination accepted an attempt made by hand.",
        capability="attempts",
        options=("by", "with", "refused", "crash_at"),
        example="acknowledge: {with: try1, refused: stale-delivery}",
    )
    def acknowledge(world: World, step: Step) -> None:
        handle = world.handles.get(step.options.get("with", ""))
        if handle is not None and handle.event is not None:
            world.history.add(
                "world", handle.owner, "accepted elsewhere", event=handle.event, attempt=handle.attempt
            )
        world.answers["acknowledge"] = ask_with(world, step, "acknowledge", "delivery")

    @registry.step(
        "postpone",
        group="outbox",
        says="An attempt made by hand failed; the event is due again after a growing wait.",
        capability="attempts",
        arguments=(Argument("reason", Text(), "why it failed", default="not now"),),
        options=("by", "with", "refused", "crash_at"),
        example="postpone: {with: try1}",
    )
    def postpone(world: World, step: Step) -> None:
        world.answers["postpone"] = ask_with(
            world, step, "postpone", "delivery", {"reason": step.args["reason"]}
        )


def _register_answering(registry: Registry) -> None:
    @registry.step(
        "refuse",
        group="outbox",
        says="The destination refused an attempt made by hand for good; the event is held.",
        capability="attempts",
        arguments=(Argument("reason", Text(), "why", default="refused"),),
        options=("by", "with", "refused", "crash_at"),
        example="refuse: {with: try1}",
    )
    def refuse(world: World, step: Step) -> None:
        world.answers["refuse"] = ask_with(world, step, "refuse", "delivery", {"reason": step.args["reason"]})

    @registry.step(
        "replay",
        group="outbox",
        says="The operator sends a held event again.",
        capability="replay",
        arguments=(
            Argument("run", Name("run"), "whose terminal event", required=True, shorthand=True),
            Argument("to", Name("destination"), "where to; its own destination otherwise"),
        ),
        options=("by", "refused", "crash_at"),
        example="replay: {run: r1, to: chat, by: gw1}",
    )
    def replay(world: World, step: Step) -> None:
        args = {"event": f"{step.args['run']}/finished", "destination": step.args["to"] or ""}
        world.answers["replay"] = ask(world, step, "replay", args)
