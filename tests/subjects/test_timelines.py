"""The timeline of a failure shows the leases of subjects that say less of them than the reference."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from pytest_runcoord.picture.text import timeline
from pytest_runcoord.subjects import RunSeen, Snapshot, SubjectWorld
from subjects.toy import ToySubject
from subjects.trying import tried

TAKEN_OVER = """
    steps:
      - open: w1
      - submit: {run: r1}
      - claim: {run: r1, lease: 10s}
      - crash: w1
      - advance: 20s
      - open: w2
      - claim: {run: r1, by: w2}
      - claim: {run: r1, by: w2}
"""


def less(run: RunSeen) -> RunSeen:
    """As many queues are: nobody knows who has it, or how many times it was claimed."""
    return dataclasses.replace(run, owner="", epoch=0)


def bare(run: RunSeen) -> RunSeen:
    """The owner by the name that the scenario has for it."""
    return dataclasses.replace(run, owner=run.owner.partition("#")[0])


@pytest.mark.parametrize(("shown", "epochs"), [(less, " "), (bare, "12")])
def test_a_lease_stands_in_the_lane_of_whom_acquired_it_last(
    shown: Callable[[RunSeen], RunSeen], epochs: str
) -> None:
    class Subject(ToySubject):
        promises = ()  # type: ignore[assignment]

        def snapshot(self, world: SubjectWorld) -> Snapshot:
            seen = super().snapshot(world)
            return Snapshot({name: shown(run) for name, run in seen.runs.items()}, {})

    result = tried(TAKEN_OVER, Subject())
    assert result.picture is not None
    lines = timeline(result.picture, 100)
    [head] = [line for line in lines if "time" in line and "w1" in line]
    [first, second, refused] = [line for line in lines if " claim r1" in line]
    ours, theirs = head.index("w1"), head.index("w2")
    assert first[ours : ours + 3] == f"●┃{epochs[0]}"
    assert second[theirs : theirs + 3] == f"●┃{epochs[-1]}"
    assert refused[ours : ours + 3].isspace()
    assert refused[theirs : theirs + 2] == "●┃"
