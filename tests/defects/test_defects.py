"""Every seeded defect turns its scenario red by what it was written for; without it the scenario is green."""

from __future__ import annotations

import pytest

from defects.catalogue import AREAS, Defect, defects, run_defect, runs_of, slugs
from pytest_runcoord.verdict import FailureKind, Verdict

ALL = [(area, defect) for area in AREAS for defect in defects(area)]
SLUGS = [(area, slug) for area in AREAS for slug in slugs(area)]


@pytest.mark.parametrize(("area", "defect"), ALL, ids=[f"{area}-{defect.id}" for area, defect in ALL])
def test_a_seeded_defect_turns_its_scenario_red_by_what_it_was_written_for(
    area: str, defect: Defect, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run_defect(area, defect, monkeypatch)
    if result.missing == ("ownership",):
        pytest.skip("only root can give files to another user")
    assert result.verdict is Verdict.FAILED, f"the defect went unnoticed: {defect.says}"
    assert result.failure is not None
    caught_by = result.failure.name if result.failure.kind is not FailureKind.EXPECTATION else _word(result)
    assert caught_by == defect.caught_by, f"caught by {caught_by}: {result.failure}"


def _word(result: object) -> str:
    failure = result.failure  # type: ignore[attr-defined]
    return "refused" if failure.name == "refused" else str(failure.step).split(":")[0]


# Every scenario in every variant: what `pytest -p runcoord --runcoord-suite` runs, and .ci/run with it.
@pytest.mark.soak
@pytest.mark.parametrize(("area", "slug"), SLUGS, ids=[f"{area}-{slug}" for area, slug in SLUGS])
def test_the_scenarios_of_a_failure_mode_are_green_on_the_reference(area: str, slug: str) -> None:
    for ran in runs_of(area, slug):
        verdict = ran.result.verdict
        assert verdict in (Verdict.PASSED, Verdict.SKIPPED), f"{ran.variant}: {ran.result.failure}"
