"""Scenarios that the tests of boundary faults try them on: the shipped ones, and some of their own."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from engine.running import text
from pytest_runcoord.bite.choosing import Candidate, candidates
from pytest_runcoord.bite.fault import BoundaryFault
from pytest_runcoord.bite.faults import FAULTS
from pytest_runcoord.bite.trying import Trials
from pytest_runcoord.reference import Reference
from pytest_runcoord.scenario import Scenario, load_file, load_text, variants
from pytest_runcoord.verbs import default_registry

SHIPPED = Path(__file__).parents[2] / "scenarios"

TOOTHLESS = """\
runcoord: 1
scenario: nothing-much
says: A run is submitted.
steps:
  - open: gw1
  - submit: {run: r1}
"""
"""Green whatever the coordinator does with it later."""

FOR_RENEWALS = """\
    steps:
      - open: gw1
      - submit: {run: r1}
      - claim: {run: r1, as: job}
      - advance: 91s
      - renew: {with: job, refused: lease-expired}
    heal: none
"""
BLIND = TOOTHLESS.replace("steps:", "given: {destinations: {chat: accepts}}\nsteps:")
"""A run without a destination, where there are some, and nobody who looks whether it got one."""


def named(name: str) -> BoundaryFault:
    """A shipped fault by its name."""
    [found] = [each for each in FAULTS if each.name == name]
    return found


@cache
def shipped() -> tuple[Candidate, ...]:
    """Every variant of every shipped scenario that faults are tried on."""
    files = [load_file(path, default_registry()) for path in sorted(SHIPPED.rglob("*.runcoord.yaml"))]
    whole = [(each, file.path) for file in files for each in file.scenarios]
    found = [(each, path) for each, path in whole if isinstance(each, Scenario)]
    return tuple(candidates((each, variant, path) for each, path in found for variant in variants(each)))


@cache
def shipped_trials() -> Trials:
    """The shipped scenarios on the reference; what is green without a fault is found out once."""
    return Trials(shipped(), lambda: None, Reference.capabilities, "runcoord")


def trials_of(*bodies: str) -> Trials:
    """Scenarios given as text, each a file of its own, on the reference."""
    found = []
    for number, body in enumerate(bodies, 1):
        path = f"tried{number}.runcoord.yaml"
        source = body if body.startswith("runcoord:") else text(body)
        [scenario] = load_text(source, default_registry(), path).scenarios
        assert isinstance(scenario, Scenario), scenario.error
        found += [(scenario, variant, path) for variant in variants(scenario)]
    return Trials(candidates(found), lambda: None, Reference.capabilities, "runcoord")
