"""Work as a simple worker does it: claim what is next, begin it, complete it, until nothing is left."""

from __future__ import annotations

from typing import Any

from pytest_runcoord.incarnation import Incarnation
from pytest_runcoord.scenario import Step
from pytest_runcoord.verbs.asking import BIG_TEXT, acting, big_text, keep
from pytest_runcoord.vocabulary import Argument, Count, Registry
from pytest_runcoord.world import World
from pytest_runcoord.world_errors import BoundReached

MOST = 1_000
"""Runs that one step works off: a coordinator that gives out the same one for ever comes to an end."""


def register(registry: Registry) -> None:
    """Register the verb of this group."""

    @registry.step(
        "work_off",
        group="leases",
        says=(
            "An owner claims what is next, begins it and completes it, until it is given nothing. Answers "
            "with the runs, in their order."
        ),
        capability="claim-next",
        arguments=(
            Argument("most", Count(1, MOST), "no more runs than these"),
            Argument("result", BIG_TEXT, "the result of each", needs="results"),
        ),
        options=("by", "crash_at"),
        example="work_off: {by: gw2}",
    )
    def work_off(world: World, step: Step) -> None:
        by, most = acting(world, step), step.args["most"]
        ending = {"outcome": "completed"}
        if step.args["result"] is not None:
            ending["result"] = big_text(step.args["result"])
        runs: list[str] = []
        world.answers["work_off"] = {"runs": runs}
        while most is None or len(runs) < most:
            run = _one(world, step, by, ending, f"{by.owner_id}/lease/{step.line}/{len(runs)}")
            if run is None:
                return
            runs.append(run)
            if len(runs) > MOST:
                raise BoundReached(f"{by.owner} was given more than {MOST} runs in one step")


def _one(world: World, step: Step, by: Incarnation, ending: dict[str, Any], name: str) -> str | None:
    """Claim one run, begin it and complete it; None where nothing is given."""
    given = world.call(by, "claim_next", {}, keep=name)
    run = given.get("run")
    if run is None:
        return None
    keep(world, step, by, "lease", given, name)
    told = {"given": name, "on": run, "with_epoch": given.get("epoch"), "handle": name}
    world.call(by, "start", {}, **told)
    world.call(by, "complete", ending, reported="completed", result=ending.get("result"), **told)
    return str(run)
