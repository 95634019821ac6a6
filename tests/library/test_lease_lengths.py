"""How long a lease lasts is decided when a run is acquired, not by what a handle says later."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from runcoord import Lease, Ports, open_coordinator
from runcoord.testing import ManualClock


@pytest.mark.parametrize("seconds", [math.inf, math.nan, -90.0, 0.0, 3600.0])
def test_a_handle_whose_length_was_changed_renews_and_re_acquires_for_the_length_of_the_claim(
    tmp_path: Path, seconds: float
) -> None:
    clock = ManualClock()
    with open_coordinator(tmp_path / "runs.db", ports=Ports(clock=clock)) as coordinator:
        coordinator.submit(run_id="r1")
        lease = coordinator.claim("r1", lease=120.0)
        coordinator.start(lease)
        changed: Lease = replace(lease, seconds=seconds)

        clock.advance(60.0)
        renewed = coordinator.renew(changed).lease
        assert (renewed.seconds, renewed.until.remaining(clock.now())) == (120.0, 120.0)

        clock.advance(121.0)
        again = coordinator.reacquire(replace(renewed, seconds=seconds)).lease
        assert (again.epoch, again.seconds, again.until.remaining(clock.now())) == (2, 120.0, 120.0)
