"""Random lives of runs, owners and hosts; what must hold is looked at after every step."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from core.lives import Lives

SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.filter_too_much]


def test_everything_that_must_hold_does_after_every_step() -> None:
    few = settings(max_examples=60, stateful_step_count=80, deadline=None, suppress_health_check=SLOW_IS_FINE)
    run_state_machine_as_test(Lives, settings=few)


@pytest.mark.soak
def test_everything_that_must_hold_does_after_very_many_steps() -> None:
    many = settings(
        max_examples=1_500, stateful_step_count=100, deadline=None, suppress_health_check=SLOW_IS_FINE
    )
    run_state_machine_as_test(Lives, settings=many)
