"""What a scenario expects: of runs, events, destinations, holders, answers and work done.

A function here raises :class:`Unmet` with what was expected and what was seen.
"""

from __future__ import annotations

from typing import Any

from pytest_runcoord.deadlines import claimable
from pytest_runcoord.scenario import Expectation
from pytest_runcoord.subject import RunSeen
from pytest_runcoord.verbs import expected_events, expected_work
from pytest_runcoord.verbs.asking import BIG_TEXT, big_text
from pytest_runcoord.verbs.comparing import Unmet, compare, stated
from pytest_runcoord.verbs.runs import OUTCOMES
from pytest_runcoord.vocabulary import (
    Argument,
    Choice,
    Count,
    Flag,
    Name,
    Registry,
    Text,
)
from pytest_runcoord.world import World

STATES = {
    "accepted": "waits to be claimed",
    "claimed": "has an owner, has not begun",
    "running": "its work has begun",
    "finished": "has its outcome",
}


STATE_NEEDS = {"claimed": "starting"}
OUTCOME_NEEDS = {"failed": "outcomes", "stopped": "stop", "interrupted": "interruption"}
"""What a subject must be able to, of which one of these states or outcomes is expected."""


def register(registry: Registry) -> None:
    """Register the expectations."""
    _register_runs(registry)
    _register_sets(registry)
    expected_events.register(registry)
    expected_work.register(registry)


RUN_FIELDS = (
    Argument("state", Choice(STATES), "where it is in its life", needs=STATE_NEEDS),
    Argument(
        "outcome",
        Choice({**OUTCOMES, "none": "it has not ended"}),
        "how it ended",
        needs=OUTCOME_NEEDS,
    ),
    Argument("epoch", Count(0, 1_000_000), "its epoch", needs="epochs"),
    Argument("owner", Name("owner"), "who acquired it last", needs="owners"),
    Argument("error", BIG_TEXT, "a part of its error", needs="errors"),
    Argument("result", BIG_TEXT, "its result", needs="results"),
    Argument("late", Flag(), "whether it was completed after its lease had run out", needs="late-completion"),
    Argument("stop_requested", Flag(), "whether a stop is noted on it", needs="stop"),
    Argument("progress", Text(may_be_empty=True), "its latest progress", needs="progress"),
    Argument("result_truncated", Flag(), "whether its result was cut at the limit", needs="bounds"),
    Argument(
        "interruptions",
        Count(0, 1_000),
        "interruptions along its line before it",
        needs="automatic-retry",
    ),
    Argument("retry_of", Name("run", free=True), "the run that it retries", needs="retry"),
    Argument("inputs_of", Name("run"), "the run whose inputs it has too", needs="retry"),
    Argument("claimable", Flag(), "whether anybody may claim it now"),
)


def _register_runs(registry: Registry) -> None:

    @registry.expectation(
        "run",
        group="runs",
        says="What a run looks like in the store.",
        arguments=(Argument("id", Name("run"), "which run", required=True, shorthand=True), *RUN_FIELDS),
        key=("id",),
        example="run: {id: r1, outcome: interrupted}",
    )
    def run(world: World, expectation: Expectation) -> None:
        run_id = expectation.args["id"]
        found = world.snapshot().runs.get(run_id)
        if found is None:
            raise Unmet(f"{run_id} is not in the store", expected="a run of this id", seen="none")
        _compare_run(world, run_id, stated(expectation, "id"), found, {})

    @registry.expectation(
        "no_run",
        group="runs",
        says="A run is not in the store.",
        arguments=(Argument("id", Name("run"), "which run", required=True, shorthand=True),),
        key=("id",),
        example="no_run: r1",
    )
    def no_run(world: World, expectation: Expectation) -> None:
        found = world.snapshot().runs.get(expectation.args["id"])
        if found is not None:
            raise Unmet(f"{found.run_id} is in the store", expected="no such run", seen=found.state)


def _register_sets(registry: Registry) -> None:
    @registry.expectation(
        "line",
        group="runs",
        says="The line of retries that began with a run: how long it is, and its newest run.",
        capability="retry",
        arguments=(
            Argument("of", Name("run"), "the first run", required=True, shorthand=True),
            Argument("runs", Count(1, 10_000), "how many runs are in it"),
            *RUN_FIELDS,
        ),
        key=("of",),
        example="line: {of: r1, runs: 3, outcome: interrupted, error: not retried}",
    )
    def line(world: World, expectation: Expectation) -> None:
        members = [each for each in world.snapshot().runs.values() if each.line == expectation.args["of"]]
        if not members:
            raise Unmet("the line is empty", expected="a run", seen="none")
        retried = {each.retry_of for each in members}
        newest = next(each for each in members if each.run_id not in retried)
        about = f"the line of {expectation.args['of']}"
        _compare_run(world, about, stated(expectation, "of"), newest, {"runs": len(members)})

    @registry.expectation(
        "runs",
        group="runs",
        says="How many runs there are, at all or in one state.",
        arguments=(
            Argument("count", Count(0, 1_000_000), "how many", required=True, shorthand=True),
            Argument("state", Choice(STATES), "only those in this state", needs=STATE_NEEDS),
            Argument("outcome", Choice(OUTCOMES), "only those with this outcome", needs=OUTCOME_NEEDS),
        ),
        key=("state", "outcome"),
        example="runs: {count: 2, outcome: completed}",
    )
    def runs(world: World, expectation: Expectation) -> None:
        state, outcome = expectation.args["state"], expectation.args["outcome"]
        found = [
            each.run_id
            for each in world.snapshot().runs.values()
            if state in (None, each.state) and outcome in (None, each.outcome)
        ]
        if len(found) != expectation.args["count"]:
            raise Unmet(
                "the number of runs is not as expected",
                expected=str(expectation.args["count"]),
                seen=f"{len(found)}: {', '.join(found[:10])}",
            )


def _compare_run(world: World, what: str, wanted: dict[str, Any], run: RunSeen, more: dict[str, Any]) -> None:
    """Compare what a run looks like, ``more`` besides, and its inputs with those of another run."""
    texts = {name: big_text(wanted[name]) for name in ("error", "result") if name in wanted}
    fields = {name: value for name, value in (wanted | texts).items() if name != "inputs_of"}
    compare(what, fields, run_values(world, run) | more)
    other = world.snapshot().runs.get(wanted.get("inputs_of", run.run_id))
    if other is None or other.inputs != run.inputs:
        raise Unmet(
            f"{run.run_id} has other inputs than {wanted['inputs_of']}",
            expected=repr(other.inputs) if other is not None else f"a run {wanted['inputs_of']}",
            seen=repr(run.inputs),
        )


def run_values(world: World, run: RunSeen) -> dict[str, Any]:
    """What expectations may ask of a run, by name."""
    return {
        "state": run.state,
        "outcome": run.outcome or "none",
        "epoch": run.epoch,
        "owner": run.owner.split("#")[0],
        "error": run.error,
        "result": run.result,
        "late": run.late,
        "stop_requested": run.stop_requested,
        "progress": run.progress,
        "result_truncated": run.result_truncated,
        "interruptions": run.interruptions,
        "retry_of": run.retry_of,
        "claimable": claimable(run, world.instant()),
    }
