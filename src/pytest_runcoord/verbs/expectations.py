"""What a scenario expects: of runs, events, destinations, holders, answers and work done.

A function here raises :class:`Unmet` with what was expected and what was seen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_runcoord.scenario import Expectation
from pytest_runcoord.subject import EventSeen, RunSeen
from pytest_runcoord.verbs.runs import OUTCOMES
from pytest_runcoord.vocabulary import Argument, Choice, Count, Flag, Json, ListOf, Moment, Name, Registry, Text
from pytest_runcoord.vocabulary import Duration
from pytest_runcoord.world import ScenarioMistake, World

STATES = {
    "accepted": "waits to be claimed",
    "claimed": "has an owner, has not begun",
    "running": "its work has begun",
    "finished": "has its outcome",
}
EVENT_STATES = {
    "pending": "waits until it is due",
    "sending": "an attempt is under way",
    "held": "waits for the operator",
    "delivered": "was accepted by its destination",
}
KINDS = {
    "run.finished": "the terminal event of a run",
    "run.note": "an event that the owner wrote",
    "group.finished": "the summary of a group",
    "held.digest": "the digest of held events for the operator",
}
HOLDS = {
    "held": "effects go on",
    "doubtful": "effects are blocked",
    "cancelled": "the work must end",
    "ended": "the work is over",
}


class Unmet(Exception):
    """An expectation does not hold."""

    def __init__(self, problem: str, *, expected: str, seen: str) -> None:
        super().__init__(problem)
        self.problem, self.expected, self.seen = problem, expected, seen


def register(registry: Registry) -> None:
    """Register the expectations."""
    _register_runs(registry)
    _register_events(registry)
    _register_work(registry)


def stated(expectation: Expectation, *without: str) -> dict[str, Any]:
    """The arguments that the file states, without those that only say what it is about."""
    return {name: expectation.args[name] for name in expectation.stated if name not in without}


def compare(what: str, wanted: Mapping[str, Any], seen: Mapping[str, Any]) -> None:
    """Raise :class:`Unmet` with every difference at once."""
    wrong = {name: value for name, value in wanted.items() if not _matches(name, value, seen.get(name))}
    if wrong:
        raise Unmet(
            f"{what}: {', '.join(wrong)} {'is' if len(wrong) == 1 else 'are'} not as expected",
            expected=", ".join(f"{name} {_shown(value)}" for name, value in wrong.items()),
            seen=", ".join(f"{name} {_shown(seen.get(name))}" for name in wrong),
        )


CONTAINED = frozenset({"error", "reason"})
"""Texts of which an expectation names a part."""


def _matches(name: str, wanted: Any, seen: Any) -> bool:
    if name in CONTAINED:
        return isinstance(seen, str) and wanted in seen
    return bool(wanted == seen)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 200 else text[:199] + "…"


def _register_runs(registry: Registry) -> None:
    fields = (
        Argument("state", Choice(STATES), "where it is in its life"),
        Argument("outcome", Choice({**OUTCOMES, "none": "it has not ended"}), "how it ended"),
        Argument("epoch", Count(0, 1_000_000), "its epoch"),
        Argument("owner", Name("owner"), "who acquired it last"),
        Argument("error", Text(), "a part of its error"),
        Argument("result", Text(may_be_empty=True), "its result"),
        Argument("late", Flag(), "whether it was completed after its lease had run out"),
        Argument("stop_requested", Flag(), "whether a stop is noted on it"),
        Argument("progress", Text(), "its latest progress"),
        Argument("result_truncated", Flag(), "whether its result was cut at the limit"),
        Argument("interruptions", Count(0, 1_000), "interruptions along its line before it"),
        Argument("retry_of", Name("run", free=True), "the run that it retries"),
        Argument("claimable", Flag(), "whether anybody may claim it now"),
    )

    @registry.expectation(
        "run",
        group="runs",
        says="What a run looks like in the store.",
        arguments=(Argument("id", Name("run"), "which run", required=True, shorthand=True), *fields),
        key=("id",),
        example="run: {id: r1, outcome: interrupted}",
    )
    def run(world: World, expectation: Expectation) -> None:
        run_id = expectation.args["id"]
        found = world.snapshot().runs.get(run_id)
        if found is None:
            raise Unmet(f"{run_id} is not in the store", expected="a run of this id", seen="none")
        compare(run_id, stated(expectation, "id"), run_values(world, found))

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

    @registry.expectation(
        "line",
        group="runs",
        says="The line of retries that began with a run: how long it is, and its newest run.",
        arguments=(
            Argument("of", Name("run"), "the first run", required=True, shorthand=True),
            Argument("runs", Count(1, 10_000), "how many runs are in it"),
            *fields,
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
        values = run_values(world, newest) | {"runs": len(members)}
        compare(f"the line of {expectation.args['of']}", stated(expectation, "of"), values)

    @registry.expectation(
        "runs",
        group="runs",
        says="How many runs there are, at all or in one state.",
        arguments=(
            Argument("count", Count(0, 1_000_000), "how many", required=True, shorthand=True),
            Argument("state", Choice(STATES), "only those in this state"),
            Argument("outcome", Choice(OUTCOMES), "only those with this outcome"),
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


def run_values(world: World, run: RunSeen) -> dict[str, Any]:
    """What expectations may ask of a run, by name."""
    expired = run.lease is not None and run.lease.passed(world.instant())
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
        "claimable": run.state == "accepted" or (run.state == "claimed" and expired),
    }


def _register_events(registry: Registry) -> None:
    kind = Argument("kind", Choice(KINDS), "which kind of event", default="run.finished")
    about = Argument("run", Name("run"), "whose event; any run's otherwise")

    @registry.expectation(
        "delivered",
        group="outbox",
        says="What a destination received: how often it acted, how many copies it was offered, what they say.",
        arguments=(
            about,
            Argument("to", Name("destination"), "the destination", required=True),
            kind,
            Argument("count", Count(0, 1_000_000), "events that it acted on, each id once"),
            Argument("copies", Count(0, 1_000_000), "messages that it accepted"),
            Argument("offers", Count(0, 1_000_000), "messages that it was offered"),
            Argument("has", Json(), "fields that the newest body has, with their values"),
            Argument("keys", ListOf(Text()), "keys that the newest body has"),
        ),
        key=("run", "to", "kind"),
        example="delivered: {run: r1, to: chat, count: 1, has: {outcome: interrupted}}",
    )
    def delivered(world: World, expectation: Expectation) -> None:
        args = expectation.args
        place = world.destinations.get(args["to"])
        offered = [] if place is None else [m for m in place.offered if _about(m.run_id, m.kind, args)]
        accepted = [] if place is None else [m for m in place.accepted if _about(m.run_id, m.kind, args)]
        seen: dict[str, Any] = {
            "count": len({message.event_id for message in accepted}),
            "copies": len(accepted),
            "offers": len(offered),
        }
        wanted = stated(expectation, "run", "to", "kind", "has", "keys")
        if not wanted and args["has"] is None and args["keys"] is None:
            wanted = {"count": 1}
        compare(f"what {args['to']} received", wanted, seen)
        if args["has"] is not None or args["keys"] is not None:
            if not accepted:
                raise Unmet(f"{args['to']} accepted nothing", expected="an event", seen="none")
            _compare_body(args, json.loads(accepted[-1].body))

    @registry.expectation(
        "event",
        group="outbox",
        says="What an event looks like in the outbox.",
        arguments=(
            Argument("run", Name("run"), "whose event", required=True, shorthand=True),
            kind,
            Argument("state", Choice({**EVENT_STATES, "none": "there is no such event"}), "where it is"),
            Argument("attempt", Count(0, 1_000_000), "number of its newest attempt"),
            Argument("destination", Name("destination"), "where it goes"),
            Argument("reason", Text(), "a part of the reason it waits or is held"),
            Argument("has", Json(), "fields that its body has, with their values"),
            Argument("keys", ListOf(Text()), "keys that its body has"),
        ),
        key=("run", "kind"),
        example="event: {run: r1, state: held, reason: no destination}",
    )
    def event(world: World, expectation: Expectation) -> None:
        args = expectation.args
        found = _event(world, args["run"], args["kind"])
        seen = {
            "state": found.state if found else "none",
            "attempt": found.attempt if found else 0,
            "destination": found.destination if found else "",
            "reason": found.reason if found else "",
        }
        compare(f"the event of {args['run']}", stated(expectation, "run", "kind", "has", "keys"), seen)
        if found is not None and (args["has"] is not None or args["keys"] is not None):
            _compare_body(args, json.loads(found.body))

    @registry.expectation(
        "events",
        group="outbox",
        says="How many events there are, at all or in one state.",
        arguments=(
            Argument("count", Count(0, 1_000_000), "how many", required=True, shorthand=True),
            Argument("state", Choice(EVENT_STATES), "only those in this state"),
            Argument("kind", Choice(KINDS), "only those of this kind"),
        ),
        key=("state", "kind"),
        example="events: {count: 0, state: held}",
    )
    def events(world: World, expectation: Expectation) -> None:
        state, of_kind = expectation.args["state"], expectation.args["kind"]
        found = [
            each.event_id
            for each in world.snapshot().events.values()
            if state in (None, each.state) and of_kind in (None, each.kind)
        ]
        if len(found) != expectation.args["count"]:
            raise Unmet(
                "the number of events is not as expected",
                expected=str(expectation.args["count"]),
                seen=f"{len(found)}: {', '.join(found[:10])}",
            )


def _about(run_id: str, kind: str, args: Mapping[str, Any]) -> bool:
    return kind == args["kind"] and args["run"] in (None, run_id)


def _event(world: World, run: str, kind: str) -> EventSeen | None:
    found = [each for each in world.snapshot().events.values() if each.run_id == run and each.kind == kind]
    return found[-1] if found else None


def _compare_body(args: Mapping[str, Any], body: dict[str, Any]) -> None:
    missing = [key for key in args["keys"] or () if key not in body]
    if missing:
        raise Unmet(
            "the event lacks keys that its reader expects",
            expected=", ".join(missing),
            seen=", ".join(sorted(body)),
        )
    if args["has"] is not None:
        if not isinstance(args["has"], dict):
            raise ScenarioMistake("'has' needs a mapping of field to value")
        compare("the event's body", args["has"], body)


def _register_work(registry: Registry) -> None:
    @registry.expectation(
        "hold",
        group="executor",
        says="What the holder of an execution knows about its lease.",
        capability="executor",
        arguments=(
            Argument("handle", Name("handle"), "the execution", required=True, shorthand=True),
            Argument("hold", Choice(HOLDS), "whether effects go on"),
            Argument("epoch", Count(0, 1_000_000), "the epoch of its lease"),
            Argument("stop_requested", Flag(), "whether it knows of a stop"),
            Argument("reported", ListOf(Text()), "reports that it made, among others"),
            Argument("never_reported", ListOf(Text()), "reports that it did not make"),
        ),
        key=("handle",),
        example="hold: {handle: job, hold: held, epoch: 2, reported: [reacquired]}",
    )
    def hold(world: World, expectation: Expectation) -> None:
        handle = world.handles[expectation.args["handle"]]
        incarnation = world.owners[handle.owner]
        assert incarnation.process is not None
        seen = incarnation.process.call("hold", {}, handle.name)
        compare(f"the hold of {handle.owner}", stated(expectation, "handle", "reported", "never_reported"), seen)
        reports = seen["reports"]
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
        says="What the latest call of a verb answered.",
        arguments=(
            Argument("of", Text(max_length=40), "the verb", required=True),
            Argument("has", Json(), "fields of the answer, with their values", required=True),
        ),
        example="answer: {of: recover, has: {interrupted: 1}}",
    )
    def answer(world: World, expectation: Expectation) -> None:
        verb, wanted = expectation.args["of"], expectation.args["has"]
        values = world.answers.get(verb)
        if values is None:
            raise Unmet(f"no {verb} has answered", expected=_shown(wanted), seen="nothing")
        if not isinstance(wanted, dict):
            raise ScenarioMistake("'has' needs a mapping of field to value")
        compare(f"the answer of {verb}", wanted, values)

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
            raise Unmet(
                "the step before took another time than expected",
                expected=f"{expectation.args['least']:g} s to {expectation.args['most']:g} s",
                seen=f"{passed:g} s",
            )

    @registry.expectation(
        "rows",
        group="work",
        says="How many rows were written during the step before, by all owners.",
        arguments=(Argument("most", Count(0, 10_000_000), "not more than this", required=True, shorthand=True),),
        example="rows: 0",
    )
    def rows(world: World, expectation: Expectation) -> None:
        now = world.rows_written()
        if now is None or world.step_rows is None:
            raise ScenarioMistake("this subject does not count the rows that it writes")
        wrote = now - world.step_rows
        if wrote > expectation.args["most"]:
            raise Unmet(
                "the step before wrote more rows than expected",
                expected=f"at most {expectation.args['most']}",
                seen=str(wrote),
            )
