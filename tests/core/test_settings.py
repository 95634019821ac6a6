"""Settings are checked together before anything is opened."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.refusals import refusal_of
from core.strategies import SOME
from runcoord import Lease, Settings, State, open_coordinator
from runcoord._core import limits
from runcoord._core.decide import require_lease_seconds
from runcoord.errors import InvalidConfiguration, InvalidRequest
from runcoord.ports import Ports
from runcoord.testing import ManualClock, MemoryStore

NO_LENGTH = [
    -1,
    0,
    -0.0,
    float("inf"),
    float("-inf"),
    float("nan"),
    True,
    False,
    "90",
    "90s",
    b"90",
    None,
    1j,
    Fraction(90),
    10**400,
    -(10**400),
]
SHORT_OR_LONG = [0.05, 3600.5, 86_400]


def test_the_defaults_fit_together() -> None:
    settings = Settings()
    assert 2 * settings.renew < settings.lease * limits.TRUST_FRACTION


@pytest.mark.parametrize("value", [*NO_LENGTH, *SHORT_OR_LONG], ids=lambda value: repr(value)[:20])
def test_a_lease_that_is_no_length_is_refused_before_anything_is_opened(tmp_path: Path, value: Any) -> None:
    with pytest.raises(InvalidConfiguration, match="lease") as caught:
        open_coordinator(tmp_path / "runs.db", settings=Settings(lease=value, renew=0.01))
    assert caught.value.details["setting"] == "lease"
    assert caught.value.remedy
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "value",
    [value for value in [*NO_LENGTH, *SHORT_OR_LONG] if value is not None],
    ids=lambda value: repr(value)[:20],
)
def test_a_claim_for_no_length_is_refused_and_changes_nothing(value: Any) -> None:
    store = MemoryStore()
    with open_coordinator("unused", ports=Ports(store=store, clock=ManualClock())) as coordinator:
        coordinator.submit(run_id="r1")
        before = dict(store.data.runs)
        with pytest.raises(InvalidRequest, match="is not possible") as caught:
            coordinator.claim("r1", lease=value)
        assert caught.value.remedy
        with pytest.raises(InvalidRequest, match="is not possible"):
            coordinator.claim_next(lease=value)
        assert store.data.runs == before


@SOME
@given(st.one_of(st.floats(), st.integers()))
def test_a_lease_is_a_number_of_seconds_within_its_bounds(seconds: float) -> None:
    least, most = limits.MIN_LEASE_SECONDS, limits.MAX_LEASE_SECONDS
    refusal = refusal_of(lambda: require_lease_seconds(seconds, least, most))
    assert (refusal is None) == (least <= seconds <= most)


@pytest.mark.parametrize("name", ["renew", "sweep", "prune_after"])
@pytest.mark.parametrize("value", NO_LENGTH, ids=lambda value: repr(value)[:20])
def test_an_interval_that_is_no_length_is_refused(name: str, value: Any) -> None:
    if name == "prune_after" and value is None:
        assert Settings(prune_after=None).prune_after is None
        return
    with pytest.raises(InvalidConfiguration, match=name) as caught:
        Settings(**{name: value})
    assert caught.value.details["setting"] == name
    assert caught.value.remedy


@SOME
@given(st.floats(0.1, 3600), st.floats(0.001, 4000))
def test_a_second_renewal_fits_into_the_time_for_which_a_holder_trusts_its_lease(
    lease: float, renew: float
) -> None:
    refusal = refusal_of(lambda: Settings(lease=lease, renew=renew))
    assert (refusal is None) == (2 * renew < lease * limits.TRUST_FRACTION)
    assert refusal is None or refusal.details["setting"] == "renew"


def test_a_renewal_interval_too_long_for_the_lease_says_which_one_would_do() -> None:
    with pytest.raises(InvalidConfiguration, match=r"renew 30 s is too long for a lease of 60 s") as caught:
        Settings(lease=60.0)
    assert "Renew at least every 27 s" in caught.value.remedy


@pytest.mark.parametrize("value", [-1, 101, True, 1.0, "1", None], ids=repr)
def test_a_budget_that_is_no_count_is_refused(value: Any) -> None:
    with pytest.raises(InvalidConfiguration, match="interruption_budget"):
        Settings(interruption_budget=value)


@pytest.mark.parametrize("value", [None, 7, b"ops", "x" * 201], ids=lambda value: repr(value)[:20])
def test_an_operator_that_is_no_name_is_refused(value: Any) -> None:
    with pytest.raises(InvalidConfiguration, match="operator"):
        Settings(operator=value)


def test_a_forged_handle_cannot_lengthen_its_lease() -> None:
    clock, store = ManualClock(), MemoryStore()
    with open_coordinator("unused", ports=Ports(store=store, clock=clock)) as coordinator:
        coordinator.submit(run_id="r1")
        lease = coordinator.claim("r1")
        for seconds in (float("inf"), float("nan"), -5.0, 1e12):
            forged = Lease("r1", lease.owner, lease.epoch, seconds, lease.sent, lease.until)
            renewed = coordinator.renew(forged).lease
            assert renewed.until.remaining(clock.now()) == Settings().lease
        assert coordinator.run("r1").state is State.CLAIMED
