"""Whatever a subject shows, an invariant holds or is violated; it never fails by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_runcoord.reference import Reference
from pytest_runcoord.runner import run_variant
from pytest_runcoord.scenario import Scenario, load_file, variants
from pytest_runcoord.subject import Answer, EventSeen, RunSeen, Session, Snapshot, SubjectWorld
from pytest_runcoord.verbs import default_registry
from pytest_runcoord.verdict import Verdict

SCENARIOS = Path(__file__).parents[2] / "scenarios"
OF_THE_HARNESS = "the harness or the subject raised"
AREAS = ("leases", "outbox", "homes")


def defaults(seen: Snapshot) -> Snapshot:
    """Nothing but what a snapshot must have."""
    runs = {name: RunSeen(name, run.state, run.outcome) for name, run in seen.runs.items()}
    return Snapshot(runs, {name: EventSeen(name, event.run_id) for name, event in seen.events.items()})


def bodies(text: str) -> Callable[[Snapshot], Snapshot]:
    """Events that say something else than anybody expects."""

    def changed(seen: Snapshot) -> Snapshot:
        events = {
            name: EventSeen(
                name, event.run_id, event.kind, event.state, event.destination, event.attempt, text
            )
            for name, event in seen.events.items()
        }
        return Snapshot(seen.runs, events)

    return changed


def nothing(seen: Snapshot) -> Snapshot:
    """Nobody is there."""
    return Snapshot({}, {})


def silent(values: Mapping[str, Any]) -> dict[str, Any]:
    """Verbs that answer nothing."""
    return {}


def words(values: Mapping[str, Any]) -> dict[str, Any]:
    """Verbs whose numbers are words, and whose words are numbers."""
    return {
        name: value
        if name in ("run", "epoch", "event", "attempt")
        else 7
        if isinstance(value, str)
        else "many"
        for name, value in values.items()
    }


SUBJECTS: dict[str, tuple[Callable[[Snapshot], Snapshot], Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "defaults": (defaults, silent),
    "nothing": (nothing, words),
    "bodies of no JSON": (bodies("{"), words),
    "bodies that are a list": (bodies("[1, 2]"), silent),
}


class Nonsense:
    """Claims to be able to do anything, does it, and shows something else."""

    name = "nonsense"
    capabilities = Reference.capabilities
    announces_writes = True

    def __init__(
        self, shows: Callable[[Snapshot], Snapshot], answers: Callable[[Mapping[str, Any]], dict[str, Any]]
    ) -> None:
        self._whole, self._shows, self._answers = Reference(), shows, answers

    def open(self, owner: str, world: SubjectWorld) -> Session:
        return Odd(self._whole.open(owner, world), self._answers)  # type: ignore[return-value]

    def refusal(self, error: BaseException) -> str | None:
        return self._whole.refusal(error)

    def finish(self, world: SubjectWorld) -> None:
        self._whole.finish(world)

    def snapshot(self, world: SubjectWorld) -> Snapshot:
        return self._shows(self._whole.snapshot(world))


class Odd:
    """A session whose answers are not what was expected."""

    def __init__(self, whole: Any, answers: Callable[[Mapping[str, Any]], dict[str, Any]]) -> None:
        self._whole, self._answers = whole, answers

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._whole, name)

        def verb(*args: Any, **named: Any) -> Any:
            answer = found(*args, **named)
            return (
                Answer(self._answers(answer.values), answer.handle) if isinstance(answer, Answer) else answer
            )

        return verb if callable(found) else found


@pytest.mark.parametrize("area", AREAS)
@pytest.mark.parametrize(("shows", "answers"), SUBJECTS.values(), ids=SUBJECTS)
def test_an_invariant_never_fails_by_itself(area: str, shows: Any, answers: Any) -> None:
    wrong, judged = [], 0
    for path in sorted((SCENARIOS / area).glob("*.runcoord.yaml")):
        for scenario in load_file(path, default_registry()).scenarios[:1]:
            assert isinstance(scenario, Scenario)
            result = run_variant(scenario, variants(scenario)[0], subject=Nonsense(shows, answers))
            judged += result.verdict is not Verdict.SKIPPED
            if result.failure is not None and OF_THE_HARNESS in result.failure.problem:
                wrong.append(f"{scenario.name}: {result.failure.problem}")
    assert judged
    assert not wrong, "\n".join(wrong)
