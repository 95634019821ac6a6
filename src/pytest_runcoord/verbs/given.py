"""``given``: how the world is before the first step."""

from __future__ import annotations

from typing import Any

from pytest_runcoord.destinations import BEHAVIOURS, Destination
from pytest_runcoord.scenario import Given
from pytest_runcoord.verbs.lengths import LeaseLength
from pytest_runcoord.vocabulary import (
    Argument,
    Choice,
    Count,
    Duration,
    Either,
    Mapping,
    Name,
    Record,
    Registry,
)
from pytest_runcoord.world import WorldPlan

ABSENT = "absent"

BEHAVIOUR = Choice({**BEHAVIOURS, ABSENT: "is named, but the coordinators are not configured with it"})
DETAILS = (
    Argument("is", BEHAVIOUR, "how it answers", default="accepts"),
    Argument("takes", Duration(), "how long one attempt takes on the world's clocks", default=0.0),
    Argument("times", Count(1, 10_000), "how many attempts it does so, before it accepts"),
    Argument("only", Name("run", free=True), "the run whose events meet this; others are accepted"),
)


def register(registry: Registry) -> None:
    """Register the entries of ``given``."""

    @registry.given(
        "destinations",
        group="destinations",
        says="The places that events can go to, and how each answers.",
        value=Mapping(Either(BEHAVIOUR, Record(*DETAILS)), Name("destination", defines=True)),
        example="destinations: {chat: accepts, mail: {is: down, times: 2}}",
    )
    def destinations(plan: WorldPlan, given: Given) -> None:
        for name, value in given.args["value"].items():
            behave(plan.destinations, name, value)

    @registry.given(
        "settings",
        group="coordinator",
        says="Settings of every coordinator that is opened; what is not named has its documented default.",
        capability="settings",
        arguments=(
            Argument("lease", LeaseLength(), "length of a lease", needs="leases"),
            Argument("renew", Duration(), "interval between renewals", needs="executor"),
            Argument("sweep", Duration(), "interval between sweeps", needs="maintenance"),
            Argument(
                "operator", Name("destination"), "destination of digests about held events", needs="digests"
            ),
            Argument(
                "interruption_budget",
                Count(0, 1_000),
                "automatic retries after interruptions",
                needs="automatic-retry",
            ),
            Argument(
                "prune_after",
                Duration(),
                "age at which finished, delivered runs are removed",
                needs="pruning",
            ),
        ),
        example="settings: {operator: ops, prune_after: 7d}",
    )
    def settings(plan: WorldPlan, given: Given) -> None:
        plan.settings.update({name: value for name, value in given.args.items() if value is not None})


def behave(table: dict[str, Destination], name: str, value: Any) -> None:
    """Give a destination its behaviour: a word, or a record with details."""
    details: dict[str, Any] = {"is": value} if isinstance(value, str) else value
    if details["is"] == ABSENT:
        table.pop(name, None)
        return
    place = table.setdefault(name, Destination(name))
    place.behaviour = details["is"]
    place.takes = details.get("takes") or 0.0
    place.times = details.get("times")
    place.only = details.get("only") or ""
