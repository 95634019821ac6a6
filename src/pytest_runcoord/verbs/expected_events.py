"""What a scenario expects of events and destinations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_runcoord.scenario import Expectation
from pytest_runcoord.subject import EventSeen
from pytest_runcoord.verbs.comparing import Unmet, compare, stated
from pytest_runcoord.vocabulary import (
    Argument,
    Choice,
    Count,
    Json,
    ListOf,
    Name,
    Registry,
    Text,
)
from pytest_runcoord.world import ScenarioMistake, World

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


KIND_NEEDS = {"run.note": "notes", "group.finished": "groups", "held.digest": "digests"}
KIND = Argument("kind", Choice(KINDS), "which kind of event", default="run.finished", needs=KIND_NEEDS)
ABOUT = Argument("run", Name("run"), "whose event; any run's otherwise")


def register(registry: Registry) -> None:
    """Register the expectations about events."""
    _register_delivered(registry)
    _register_outbox(registry)
    _register_copies(registry)


def _register_delivered(registry: Registry) -> None:
    @registry.expectation(
        "delivered",
        group="outbox",
        says="What a destination received: how often it acted, how many copies came, what they say.",
        capability="outbox",
        arguments=(
            ABOUT,
            Argument("to", Name("destination"), "the destination", required=True),
            KIND,
            Argument("count", Count(0, 1_000_000), "events that it acted on, each id once"),
            Argument("copies", Count(0, 1_000_000), "messages that it accepted"),
            Argument("offers", Count(0, 1_000_000), "messages that it was offered"),
            Argument(
                "has", Json(), "fields that the newest body has, with their values", needs="event-bodies"
            ),
            Argument("keys", ListOf(Text()), "keys that the newest body has", needs="event-bodies"),
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


def _register_outbox(registry: Registry) -> None:
    @registry.expectation(
        "event",
        group="outbox",
        says="What an event looks like in the outbox.",
        capability="outbox",
        arguments=(
            Argument("run", Name("run"), "whose event", required=True, shorthand=True),
            KIND,
            Argument("state", Choice({**EVENT_STATES, "none": "there is no such event"}), "where it is"),
            Argument("attempt", Count(0, 1_000_000), "number of its newest attempt", needs="attempts"),
            Argument("destination", Name("destination"), "where it goes"),
            Argument("reason", Text(), "a part of the reason it waits or is held"),
            Argument("has", Json(), "fields that its body has, with their values", needs="event-bodies"),
            Argument("keys", ListOf(Text()), "keys that its body has", needs="event-bodies"),
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
        capability="outbox",
        arguments=(
            Argument("count", Count(0, 1_000_000), "how many", required=True, shorthand=True),
            Argument("state", Choice(EVENT_STATES), "only those in this state"),
            Argument("kind", Choice(KINDS), "only those of this kind", needs=KIND_NEEDS),
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


def _register_copies(registry: Registry) -> None:
    @registry.expectation(
        "events_alike",
        group="outbox",
        says="The terminal events of several runs have the same keys, whoever wrote them.",
        capability="event-bodies",
        value=ListOf(Name("run"), min=2),
        example="events_alike: [r1, r2]",
    )
    def events_alike(world: World, expectation: Expectation) -> None:
        runs = expectation.args["value"]
        found = {run: _event(world, run, "run.finished") for run in runs}
        bodies = {run: json.loads(event.body) for run, event in found.items() if event is not None}
        every = {key for body in bodies.values() for key in body}
        lacking = {run: sorted(every - bodies.get(run, {}).keys()) for run in runs}
        if any(lacking.values()):
            raise Unmet(
                "terminal events have different keys",
                expected=f"every one has {', '.join(sorted(every))}",
                seen="; ".join(f"{run} lacks {', '.join(keys)}" for run, keys in lacking.items() if keys),
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
