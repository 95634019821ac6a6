"""What a scenario expects of holders, answers, moments, time and work done."""

from __future__ import annotations

from pytest_runcoord.scenario import Expectation
from pytest_runcoord.verbs.comparing import Unmet, compare, shown, stated
from pytest_runcoord.vocabulary import (
    Argument,
    Choice,
    Count,
    Duration,
    Flag,
    Json,
    ListOf,
    Moment,
    Name,
    Registry,
    Text,
)
from pytest_runcoord.world import ScenarioMistake, World

HOLDS = {
    "held": "effects go on",
    "doubtful": "effects are blocked",
    "cancelled": "the work must end",
    "ended": "the work is over",
}
REPORTS = {
    "renewal-failed": "a renewal failed, and is tried again",
    "reacquired": "the lease ran out and was taken again",
    "lease-lost": "the lease is lost, and the work cancelled",
    "stop-requested": "a stop was asked for",
}


ANSWER_NEEDS = dict.fromkeys(
    ("submit", "retry", "stop", "complete", "recover", "startup", "deliver", "finish"), "reports"
)
"""Verbs that a simple coordinator answers with nothing; claims name the run that they gave."""


def register(registry: Registry) -> None:
    """Register the expectations about work."""
    _register_holders(registry)
    _register_effort(registry)


def _register_holders(registry: Registry) -> None:
    @registry.expectation(
        "hold",
        group="executor",
        says="What the holder of an execution knows about its lease.",
        capability="executor",
        arguments=(
            Argument("handle", Name("handle"), "the execution", required=True, shorthand=True),
            Argument("hold", Choice(HOLDS), "whether effects go on"),
            Argument("epoch", Count(0, 1_000_000), "the epoch of its lease", needs="epochs"),
            Argument("stop_requested", Flag(), "whether it knows of a stop"),
            Argument("reported", ListOf(Choice(REPORTS)), "reports that it made, among others"),
            Argument("never_reported", ListOf(Choice(REPORTS)), "reports that it did not make"),
        ),
        key=("handle",),
        example="hold: {handle: job, hold: held, epoch: 2, reported: [reacquired]}",
    )
    def hold(world: World, expectation: Expectation) -> None:
        handle = world.handles[expectation.args["handle"]]
        incarnation = world.owners[handle.owner]
        assert incarnation.process is not None
        seen = incarnation.process.call("hold", {}, handle.name)
        compare(
            f"the hold of {handle.owner}", stated(expectation, "handle", "reported", "never_reported"), seen
        )
        reports = seen.get("reports")
        reports = reports if isinstance(reports, list) else []
        absent = [each for each in expectation.args["reported"] or () if each not in reports]
        unwanted = [each for each in expectation.args["never_reported"] or () if each in reports]
        if absent or unwanted:
            raise Unmet(
                f"the reports of {handle.owner} are not as expected",
                expected=", ".join([*absent, *(f"no {each}" for each in unwanted)]),
                seen=", ".join(reports) or "none",
            )

    @registry.expectation(
        "answer",
        group="work",
        says="What the latest call of a verb answered; of a refusal its name, as refused, and its details.",
        arguments=(
            Argument("of", Text(max_length=40), "the verb", required=True, needs=ANSWER_NEEDS),
            Argument("has", Json(), "fields of the answer, with their values", required=True),
        ),
        example="answer: {of: recover, has: {interrupted: 1}}",
    )
    def answer(world: World, expectation: Expectation) -> None:
        verb, wanted = expectation.args["of"], expectation.args["has"]
        values = world.answers.get(verb)
        if values is None:
            raise Unmet(f"no {verb} has answered", expected=shown(wanted), seen="nothing")
        if not isinstance(wanted, dict):
            raise ScenarioMistake("'has' needs a mapping of field to value")
        compare(f"the answer of {verb}", wanted, values)


def _register_effort(registry: Registry) -> None:
    @registry.expectation(
        "reached",
        group="work",
        says="How often a moment was reached by anybody.",
        arguments=(
            Argument("moment", Moment(), "which", required=True, shorthand=True),
            Argument("count", Count(0, 1_000_000), "exactly so often; at least once otherwise"),
        ),
        key=("moment",),
        example="reached: {moment: after-start, count: 1}",
    )
    def reached(world: World, expectation: Expectation) -> None:
        moment, count = expectation.args["moment"], expectation.args["count"]
        seen = world.moments.get(moment, 0)
        if (seen == 0) if count is None else (seen != count):
            raise Unmet(
                f"{moment} was not reached as often as expected",
                expected="at least once" if count is None else f"{count} times",
                seen=f"{seen} times",
            )

    @registry.expectation(
        "took",
        group="work",
        says="How much time passed on the world's clocks during the step before.",
        arguments=(
            Argument("most", Duration(), "not more than this", required=True),
            Argument("least", Duration(), "not less than this", default=0.0),
        ),
        example="took: {most: 31s}",
    )
    def took(world: World, expectation: Expectation) -> None:
        passed = world.clock.boottime() - world.step_began
        if not expectation.args["least"] <= passed <= expectation.args["most"]:
            than = "longer" if passed > expectation.args["most"] else "less time"
            raise Unmet(
                f"the step before took {than} than expected",
                expected=f"{expectation.args['least']:g} s to {expectation.args['most']:g} s",
                seen=f"{passed:g} s",
            )

    @registry.expectation(
        "rows",
        group="work",
        says="How many rows were written during the step before, by all owners.",
        capability="counters",
        arguments=(
            Argument("most", Count(0, 10_000_000), "not more than this", required=True, shorthand=True),
        ),
        example="rows: 0",
    )
    def rows(world: World, expectation: Expectation) -> None:
        now = world.rows_written()
        if now is None or world.step_rows is None:
            raise ScenarioMistake(
                "this subject does not count the rows that it writes",
                "Remove 'rows', or have the counters of its sessions count them.",
            )
        wrote = now - world.step_rows
        if wrote > expectation.args["most"]:
            raise Unmet(
                "the step before wrote more rows than expected",
                expected=f"at most {expectation.args['most']}",
                seen=str(wrote),
            )
