"""The same steps for many runs: what a backlog or a crowd needs, in a few lines."""

from __future__ import annotations

from dataclasses import replace

from pytest_runcoord.scenario import Step
from pytest_runcoord.vocabulary import Argument, Count, Name, Registry, Steps
from pytest_runcoord.world import ScenarioMistake, World

MOST = 10_000
"""Rounds of one step: with two verbs each it stays within what a history may hold."""


def register(registry: Registry) -> None:
    """Register the verb of this group."""

    @registry.step(
        "many",
        group="interleaving",
        says=(
            "Steps are done again and again, each time for another run: in every round its number is added "
            "to the names of runs, crowd becomes crowd.1, crowd.2, …. Invariants look when all are done."
        ),
        arguments=(
            Argument("count", Count(1, MOST), "how many rounds", required=True),
            Argument("do", Steps(), "what each round does; every step names a run", required=True),
        ),
        example="many: {count: 1000, do: [submit: {run: crowd, destination: chat}, stop: {run: crowd}]}",
    )
    def many(world: World, step: Step) -> None:
        for each in step.args["do"]:
            if each.args.get("run") is None:
                raise ScenarioMistake(f"'{each.name}' in line {each.line} names no run")
        world.unobserved = True
        try:
            for number in range(1, step.args["count"] + 1):
                for each in step.args["do"]:
                    world.run_step(_numbered(each, number))
        finally:
            world.unobserved = False


def _numbered(step: Step, number: int) -> Step:
    """The step of one round: its runs have the number of the round added to their names."""
    kinds = {each.name: each.kind for each in step.word.arguments}
    names = [name for name, kind in kinds.items() if isinstance(kind, Name) and kind.space == "run"]
    args = {name: f"{step.args[name]}.{number}" for name in names if step.args[name] is not None}
    return replace(step, args={**step.args, **args})
