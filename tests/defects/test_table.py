"""The pages about failure modes and invariants are current, and no failure mode is without its proof."""

from __future__ import annotations

import subprocess
import sys

import pytest

from defects import table
from defects.catalogue import AREAS, defects, scenario_path, scenarios_in, slugs
from pytest_runcoord.invariants import INVARIANTS
from source_tree import ROOT

MUST_BE_THERE: dict[str, frozenset[str]] = {
    "leases": frozenset(
        {
            "claim-of-finished-run",
            "claim-steals-live-lease",
            "stale-owner-writes",
            "same-owner-reclaims",
            "release-erases-fence",
            "recovery-reads-then-writes",
            "renewal-fails-once",
            "renewal-stalls-past-lease",
            "renewal-hangs",
            "lost-lease-is-silent",
            "suspend-longer-than-lease",
            "wall-clock-steps",
            "sweep-outlives-its-own-lease",
            "opening-changes-nothing",
            "two-owners-one-run",
            "local-result-then-interrupted",
            "start-runs-recovery",
            "dead-owner-same-host",
        }
    ),
    "commands": frozenset(
        {
            "accepted-never-claimed",
            "recovery-never-re-executes",
            "stop-survives-crash",
            "stop-during-admission",
            "stop-swallowed-by-takeover",
            "store-hangs-at-submit",
            "reply-lost-on-submit",
            "store-locked-is-retried",
            "cancelled-drain-spins",
            "retry-of-interrupted",
            "poison-run",
            "payload-keeps-its-keys",
            "durable-default",
        }
    ),
    "processes": frozenset(
        {
            "audit-fails",
            "cleanup-pending-does-not-block",
            "force-stop-delivers",
            "foreign-namespace",
            "identity-format-changes",
            "identity-unreadable-at-recovery",
            "identity-unreadable-at-spawn",
            "kill-not-permitted",
            "mutable-records-never-kill",
            "orphan-outlives-crash",
            "pid-out-of-range",
            "pid-recycled-during-audit",
            "pid-reused",
            "reboot-aliases-identity",
            "same-program-at-the-pid",
            "tz-and-locale-drift",
            "wall-clock-step-identity",
        }
    ),
    "depth": frozenset(
        {
            "depth-increments",
            "depth-limit",
            "depth-malformed",
            "depth-per-lineage",
            "live-runs-cap",
            "max-malformed-or-forged",
        }
    ),
    "git": frozenset(
        {
            "bare-before-stays-bare",
            "caller-is-a-linked-worktree",
            "core-bare-left-true",
            "git-dir-escapes",
            "not-a-checkout",
            "restore-fails",
            "snapshot-survives-crash",
            "success-touches-nothing",
            "worktrees-registered",
        }
    ),
    "homes": frozenset(
        {
            "folder-flood",
            "home-replaced-by-symlink",
            "hostile-fields",
            "import-at-scale",
            "import-fails-once",
            "import-fills-live-run",
            "imported-once",
            "one-bad-folder",
            "platform-without-dir-fd",
            "read-error-keeps-its-cause",
            "result-kept",
            "swapped-directory",
            "symlinked-home",
            "untrusted-destination",
        }
    ),
    "outbox": frozenset(
        {
            "empty-destination",
            "destination-refuses",
            "crash-after-send",
            "late-acknowledgement",
            "backlog-larger-than-batch",
            "delivered-once-across-restarts",
            "interrupted-is-not-success",
            "held-reaches-the-operator",
        }
    ),
    "portable": frozenset(
        {
            "accepted-survives",
            "claimed-by-one",
            "clocks-move",
            "dead-owner",
            "event-arrives",
            "finished-stays-finished",
            "given-back",
            "lease-length",
            "live-owner-kept",
            "order-and-others",
            "reopened",
            "result-survives",
            "retry-links",
            "stale-owner",
            "stop-holds",
            "submitted-twice",
        }
    ),
}
"""The failure modes that these areas were written for; files of others may be added."""

EVERY = [(area, slug) for area in AREAS for slug in sorted({*MUST_BE_THERE[area], *slugs(area)})]
SECONDS = 120.0
"""Far more than it takes; only a fault takes that long."""


@pytest.mark.parametrize(("area", "slug"), EVERY, ids=[f"{area}-{slug}" for area, slug in EVERY])
def test_a_failure_mode_has_a_scenario_with_its_origin_and_a_defect(area: str, slug: str) -> None:
    path = scenario_path(area, slug)
    assert path.exists(), f"no {path.relative_to(ROOT)}"
    scenarios = scenarios_in(path)
    assert all(scenario.origin for scenario in scenarios)
    assert table.of(area, slug), f"no seeded defect turns {slug} red"


@pytest.mark.parametrize("slug", slugs("portable"))
def test_each_scenario_that_others_are_judged_by_has_a_defect_of_its_own(slug: str) -> None:
    scenarios = [each.name for each in scenarios_in(scenario_path("portable", slug))]
    assert {each.scenario or scenarios[0] for each in table.of("portable", slug)} == set(scenarios)


def test_a_defect_belongs_to_a_failure_mode_and_differs_from_the_others() -> None:
    for area in AREAS:
        found = defects(area)
        assert {each.slug for each in found} <= set(slugs(area))
        ids = [each.id for each in found]
        assert sorted(ids) == sorted(set(ids))


def test_every_invariant_is_exercised_by_a_scenario_and_catches_a_defect_and_the_pages_say_where() -> None:
    """One test, because every scenario is run for it: two workers would each run all of them."""
    exercised = table.exercised_in()
    for invariant in (kind.id for kind in INVARIANTS):
        assert exercised[invariant], f"nothing exercises {invariant}"
        assert table.caught_by(invariant), f"{invariant} was never seen to fail"
    for name, written in table.PAGES.items():
        current = (table.REFERENCE / name).read_text("utf-8")
        assert current == written(), f"{name}: run: PYTHONPATH=tests python -m defects.table --write"


def test_another_argument_is_refused_and_nothing_is_written() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "defects.table", "--wirte"],
        cwd=ROOT / "tests",
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert result.returncode == 2
    assert "usage" in result.stderr
