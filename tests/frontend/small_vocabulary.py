"""A vocabulary of its own for the tests of the front end: small, and with one word for each feature."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pytest_runcoord.scenario import InvalidScenario, Scenario, load_text
from pytest_runcoord.vocabulary import (
    Argument,
    Choice,
    Count,
    Duration,
    Either,
    Flag,
    Json,
    Kind,
    ListOf,
    Mapping,
    Moment,
    Name,
    OneStep,
    Record,
    Registry,
    Steps,
    Text,
)

PATH = "some/finding.runcoord.yaml"
OPTIONS = ("by", "as", "with", "refused", "crash_at")
HEADER = "runcoord: 1\nscenario: s\nsays: It holds.\n"


def need(name: str, kind: Kind, *, shorthand: bool = False) -> Argument:
    return Argument(name, kind, f"the {name}", required=True, shorthand=shorthand)


def may(name: str, kind: Kind, default: Any = None, *, shorthand: bool = False) -> Argument:
    return Argument(name, kind, f"the {name}", default=default, shorthand=shorthand)


def attached(declare: Callable[[Callable[..., str]], Any], name: str) -> None:
    def word(*args: object) -> str:
        return name

    declare(word)


def add_steps(registry: Registry) -> None:
    run = need("run", Name("run"), shorthand=True)
    words: dict[str, tuple[Iterable[Argument], Iterable[str], str | None]] = {
        "open": ([need("owner", Name("owner", defines=True), shorthand=True)], (), None),
        "submit": (
            [
                need("run", Name("run", defines=True), shorthand=True),
                may("destination", Name("destination")),
                may("payload", Json()),
                may("group", Name("group", free=True)),
            ],
            OPTIONS,
            None,
        ),
        "claim": ([run, may("lease", Duration(), 90.0)], OPTIONS, "leases"),
        "complete": ([may("run", Name("run")), may("quietly", Flag(), default=False)], OPTIONS, None),
        "advance": ([need("clocks", Duration(), shorthand=True)], (), None),
        "step": ([need("wall", Duration(may_be_negative=True), shorthand=True)], (), None),
        "recover": ([may("runs", ListOf(Name("run"), min=1, max=3), shorthand=True)], OPTIONS, "recovery"),
        "reboot": ([], (), None),
        "pair": ([need("one", Name("run")), need("two", Count(1, 9))], (), None),
        "during": ([need("step", OneStep()), need("at", Moment()), need("do", Steps())], (), None),
        "wait": (
            [
                need(
                    "for",
                    Either(Duration(), Count(1, 9), Record(need("sweeps", Count(1, 9)))),
                    shorthand=True,
                )
            ],
            (),
            None,
        ),
    }
    for name, (arguments, options, capability) in words.items():
        attached(
            registry.step(
                name,
                group="runs",
                says=f"Does {name}.",
                arguments=arguments,
                options=tuple(options),
                capability=capability,
            ),
            name,
        )


def add_the_rest(registry: Registry) -> None:
    homes = Choice({"plain": "as it is", "symlinked-ancestor": "reached through a link"})
    attached(
        registry.given(
            "home", group="homes", says="The home.", arguments=[may("via", homes, "plain", shorthand=True)]
        ),
        "home",
    )
    attached(
        registry.given(
            "destinations",
            group="outbox",
            says="Who takes events.",
            capability="outbox",
            value=Mapping(Choice(["accepts", "refuses"]), names=Name("destination", defines=True)),
            example="destinations: {chat: accepts}",
        ),
        "destinations",
    )
    attached(
        registry.expectation(
            "run",
            group="runs",
            says="A run's end.",
            key=("id",),
            arguments=[
                need("id", Name("run"), shorthand=True),
                may("outcome", Choice(["interrupted", "completed"])),
                may("attempts", Count(0, 5)),
            ],
        ),
        "run",
    )
    attached(
        registry.expectation(
            "delivered",
            group="outbox",
            says="What arrived.",
            key=("run", "to"),
            arguments=[need("run", Name("run")), need("to", Name("destination")), may("count", Count())],
        ),
        "delivered",
    )
    attached(registry.expectation("quiet", group="runs", says="Nothing is logged."), "quiet")
    registry.axis("store", Choice(["memory", "sqlite"]), says="where runs are kept", default="sqlite")
    registry.axis("tier", Choice(["sim", "real"]), says="what processes are made of", default="sim")
    registry.axis("tz", Text(40), says="the time zone", default="UTC")
    registry.axis("locale", Text(40), says="the locale", default="C")
    registry.axis("size", Count(1, 1000), says="how much of it", default=1)


def small_registry() -> Registry:
    registry = Registry()
    for name in ("leases", "recovery", "outbox"):
        registry.capability(name, says=f"it has {name}")
    registry.moment("after-read", says="a sweep has read")
    registry.moment("after-commit", says="a transaction is durable")
    registry.refusal("lease-lost", says="somebody else acquired the run")
    registry.refusal("unknown-run", says="there is no such run", excuses=("run",))
    add_steps(registry)
    add_the_rest(registry)
    return registry


REGISTRY = small_registry()


def read(text: str | bytes) -> list[Scenario | InvalidScenario]:
    return list(load_text(text, REGISTRY, PATH).scenarios)


def read_valid(text: str) -> Scenario:
    [scenario] = read(text)
    assert isinstance(scenario, Scenario), str(scenario.error)
    return scenario


def steps(text: str) -> str:
    """A scenario with these steps; they begin in line 5, column 3."""
    return HEADER + "steps:\n" + "".join(f"  {line}\n" for line in text.splitlines())
