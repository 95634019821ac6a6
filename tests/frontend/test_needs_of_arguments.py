"""A scenario needs what it states: an argument, one of its values, a key inside of a value, a refusal."""

from __future__ import annotations

import pytest

from pytest_runcoord.reference_page import reference_page
from pytest_runcoord.scenario import Position, Scenario, load_text
from pytest_runcoord.schema import schema
from pytest_runcoord.vocabulary import (
    Argument,
    Choice,
    Count,
    Either,
    ListOf,
    Mapping,
    Name,
    Record,
    Registry,
    Text,
    VocabularyError,
)

HEAD = "runcoord: 1\nscenario: a\nsays: b\nsteps:\n"
STATES = Choice({"waiting": "waits", "gone": "is gone"})
COLOUR = Record(Argument("colour", Text(), "which", needs="colours"))


def registry() -> Registry:
    made = Registry()
    for name in ("leases", "results", "removal", "colours", "starting"):
        made.capability(name, says=f"{name}, of some kind")
    made.refusal("no", says="not now")
    made.moment("after-a", says="a is done")

    @made.step(
        "work",
        group="work",
        says="Works.",
        arguments=(
            Argument("run", Name("run", defines=True), "which", shorthand=True, needs="results"),
            Argument("lease", Count(0, 9), "how long", default=3, needs="leases"),
            Argument("state", STATES, "how it is", needs={"gone": "removal"}),
            Argument(
                "how", Either(Record(Argument("colour", Text(), "which", needs="colours")), Text()), "how"
            ),
            Argument("most", ListOf(Record(Argument("of", Count(0, 9), "of it", needs="colours"))), "most"),
        ),
        options=("refused", "may_refuse", "crash_at"),
        refusal_needs="starting",
    )
    def work() -> None: ...

    @made.step("wait", group="work", says="Waits.", options=("refused",))
    def wait() -> None: ...

    return made


def read(step: str) -> Scenario:
    [found] = load_text(f"{HEAD}  - {step}\n", registry(), "a.runcoord.yaml").scenarios
    assert isinstance(found, Scenario), found
    return found


@pytest.mark.parametrize(
    ("step", "needs", "column"),
    [
        ("work", None, 0),
        ("work: r1", "results", 5),
        ("work: {run: r1}", "results", 12),
        ("work: {lease: 4}", "leases", 12),
        ("work: {state: waiting}", None, 0),
        ("work: {state: gone}", "removal", 12),
        ("work: {how: {colour: red}}", "colours", 18),
        ("work: {how: red}", None, 0),
        ("work: {most: [{of: 1}]}", "colours", 20),
        ("work: {may_refuse: true}", None, 0),
        ("wait: {refused: 'no'}", None, 0),
        ("work: {refused: 'no'}", "starting", 12),
    ],
)
def test_what_is_stated_is_needed_at_its_place_and_a_default_is_not(
    step: str, needs: str | None, column: int
) -> None:
    found = read(step).needs
    assert found == ({} if needs is None else {needs: Position("a.runcoord.yaml", 5, column)})


def test_the_first_place_counts() -> None:
    text = f"{HEAD}  - work: {{lease: 1}}\n  - work: {{lease: 2}}\n"
    [found] = load_text(text, registry(), "a.runcoord.yaml").scenarios
    assert isinstance(found, Scenario)
    assert found.needs == {"leases": Position("a.runcoord.yaml", 5, 12)}


def test_moments_are_named_with_their_first_place() -> None:
    found = read("work: {crash_at: after-a}")
    assert found.moments == {"after-a": Position("a.runcoord.yaml", 5, 22)}
    assert read("work").moments == {}


def test_a_step_that_must_be_refused_cannot_have_the_choice() -> None:
    [found] = load_text(f"{HEAD}  - work: {{refused: 'no', may_refuse: true}}\n", registry(), "a").scenarios
    assert "a step that must be refused has no choice" in str(getattr(found, "error", found))


@pytest.mark.parametrize(
    "kind",
    [
        Record(Argument("a", Text(), "a", needs="lease")),
        ListOf(Record(Argument("a", Text(), "a", needs="lease"))),
        Mapping(Record(Argument("a", Text(), "a", needs="lease")), Text()),
        Either(Text(), Record(Argument("a", Text(), "a", needs={"b": "lease"}))),
    ],
    ids=["record", "list", "mapping", "either"],
)
def test_a_capability_that_nobody_registered_is_refused_wherever_it_is_asked_for(kind: object) -> None:
    made = registry()
    with pytest.raises(VocabularyError, match="'lease' is not registered; did you mean 'leases'"):
        made.step("other", group="a", says="b", arguments=(Argument("c", kind, "d"),))  # type: ignore[arg-type]
    with pytest.raises(VocabularyError, match="'lease' is not registered"):
        made.step("other", group="a", says="b", arguments=(Argument("c", Text(), "d", needs="lease"),))
    with pytest.raises(VocabularyError, match="'lease' is not registered"):
        made.step("other", group="a", says="b", options=("refused",), refusal_needs="lease")
    assert "other" not in made.steps


def test_the_page_and_the_schema_say_what_is_needed() -> None:
    page = reference_page(registry())
    assert "| `lease` | how long (needs `leases`) |" in page
    assert "| `state` | how it is (`gone` needs `removal`) |" in page
    assert "Options: `refused` (needs `starting`), `may_refuse`, `crash_at`." in page
    text = str(schema(registry()))
    assert "how long (needs leases)" in text
    assert "how it is (gone needs removal)" in text
    assert "which (needs colours)" in text
