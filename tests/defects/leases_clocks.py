"""Seeded defects of the clocks that leases are measured on."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from defects.catalogue import Defect
from defects.other_clocks import plan_on
from runcoord import Coordinator, Renewal, _coordinator, _outbox, _recoverer
from runcoord._core import decide as rules
from runcoord._core import limits
from runcoord._core import requests as ask
from runcoord._core.model import Deadline, Instant, Run
from runcoord._heartbeat import Heartbeat
from runcoord._maintenance import Maintenance
from runcoord.ports import Clock


def _wall_time_decides(patch: pytest.MonkeyPatch) -> None:
    """A lease ends at a wall time, on the same boot too."""

    def by_wall(self: Deadline, now: Instant, cap: float = 3600.0) -> float:
        return min(self.wall - now.wall, cap)

    patch.setattr(Deadline, "remaining", by_wall)


def _renews_by_the_wall(patch: pytest.MonkeyPatch) -> None:
    """The next renewal is planned at a wall time, so a clock that is set back puts it off."""
    accept, next_due, tick = Heartbeat._accept, Heartbeat.next_due, Heartbeat.tick
    planned: dict[int, float] = {}

    def accepted(self: Heartbeat, renewal: Renewal) -> None:
        accept(self, renewal)
        planned[id(self)] = self._clock.wall() + self._verbs.settings.renew

    def by_wall(self: Heartbeat) -> None:
        if id(self) in planned:
            self._renew_at = self._clock.boottime() + planned[id(self)] - self._clock.wall()

    def asked(self: Heartbeat) -> float | None:
        by_wall(self)
        return next_due(self)

    def ticked(self: Heartbeat) -> None:
        by_wall(self)
        tick(self)

    patch.setattr(Heartbeat, "_accept", accepted)
    patch.setattr(Heartbeat, "next_due", asked)
    patch.setattr(Heartbeat, "tick", ticked)


def _sweeps_by_the_wall(patch: pytest.MonkeyPatch) -> None:
    """The next sweep is planned at a wall time."""
    plan_on(patch, Maintenance, _the_clock_among, lambda clock: clock.wall())


def _the_clock_among(*args: Any) -> Clock:
    found: Clock = next(each for each in args if hasattr(each, "boottime"))
    return found


def _local_time(patch: pytest.MonkeyPatch) -> None:
    """Times are kept as the clock on the wall shows them, without their zone."""

    def local(clock: Clock) -> Instant:
        shown = datetime.fromtimestamp(clock.wall()).replace(tzinfo=UTC)  # noqa: DTZ006
        return Instant(shown.timestamp(), clock.boottime(), clock.boot_id())

    for module in (_coordinator, _outbox, _recoverer):
        patch.setattr(module, "instant", local)


def _believes_any_expiry(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Deadline, "implausible", lambda self, now, cap=0.0: False)


def _caps_started_runs_only(patch: pytest.MonkeyPatch) -> None:
    def running_only(run: Run, request: ask.Recover, now: Instant) -> rules.Decision:
        if run.state is not rules.State.RUNNING:
            return rules.Decision(run, False)
        return rules._recover(run, request, now)

    patch.setitem(rules._RULES, ask.Recover, running_only)


def _takes_what_it_cannot_believe(patch: pytest.MonkeyPatch) -> None:
    """A lease that is not plausible is taken for expired, though its owner may live on another host."""
    passed = Deadline.passed

    def or_implausible(self: Deadline, now: Instant) -> bool:
        return passed(self, now) or (self.boot_id != now.boot_id and self.wall - now.wall > 3600.0)

    patch.setattr(Deadline, "passed", or_implausible)
    patch.setattr(Deadline, "implausible", lambda self, now, cap=0.0: False)


def _ignores_other_boots(patch: pytest.MonkeyPatch) -> None:
    """Boottimes of different boots are compared as if they were one clock."""

    def by_boottime(self: Deadline, now: Instant, cap: float = 3600.0) -> float:
        return min(self.boottime - now.boottime, cap)

    patch.setattr(Deadline, "remaining", by_boottime)


def _own_runs_are_never_swept(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(limits, "DEFER_SECONDS", float("inf"))


def _counts_from_the_answer(verb: str) -> Any:
    """Trust in a lease begins when the answer to ``verb`` comes, however slow it was."""

    def breaks(patch: pytest.MonkeyPatch) -> None:
        right = getattr(Coordinator, verb)

        def answered(self: Coordinator, *args: Any, **more: Any) -> Any:
            answer, now = right(self, *args, **more), self.clock.boottime()
            if isinstance(answer, Renewal):
                return replace(answer, lease=replace(answer.lease, sent=now))
            return None if answer is None else replace(answer, sent=now)

        patch.setattr(Coordinator, verb, answered)

    return breaks


CLOCKS = [
    Defect(
        "wall-clock-steps",
        "A lease ends at a wall time, so a clock that is set forward takes it from a live owner.",
        "live-lease-kept",
        _wall_time_decides,
    ),
    Defect(
        "wall-clock-steps",
        "Renewals are planned on the wall clock, so one that is set back puts them off.",
        "reached",
        _renews_by_the_wall,
        name="renewals",
    ),
    Defect(
        "wall-clock-steps",
        "Sweeps are planned on the wall clock, so a dead owner's runs wait for an hour more.",
        "run",
        _sweeps_by_the_wall,
        name="sweeps",
        scenario="dead-owner-after-a-step-back",
    ),
    Defect(
        "wall-clock-steps",
        "A lease ends at a wall time, so a clock set back keeps a dead owner's runs for an hour more.",
        "run",
        _wall_time_decides,
        name="set-back",
        variant="UTC-memory",
        scenario="dead-owner-after-a-step-back",
    ),
    Defect(
        "other-boot-lease",
        "An expiry of an earlier boot is believed however far ahead it lies.",
        "answer",
        _believes_any_expiry,
        variant="memory",
    ),
    Defect(
        "other-boot-lease",
        "Only started runs are capped; a claimed one keeps everybody out for a day.",
        "answer",
        _caps_started_runs_only,
        name="claimed",
    ),
    Defect(
        "other-boot-lease",
        "A lease that cannot be believed is taken at once.",
        "live-lease-kept",
        _takes_what_it_cannot_believe,
        name="taken-at-once",
    ),
    Defect(
        "other-boot-lease",
        "Boottimes are compared across a reboot.",
        "claim_next",
        _ignores_other_boots,
        name="one-clock",
        scenario="other-boot-daylight-saving",
    ),
    Defect(
        "other-boot-lease",
        "Expiries are kept in local time, so another zone after the reboot takes or keeps a lease.",
        "live-lease-kept",
        _local_time,
        name="local-time",
        scenario="other-boot-other-zone",
    ),
    Defect(
        "other-boot-lease",
        "Expiries are kept in local time, so the change to summer time ends a lease an hour early.",
        "live-lease-kept",
        _local_time,
        name="daylight-saving",
        scenario="other-boot-daylight-saving",
        variant="America-New_York",
    ),
    *(
        Defect(
            "renewal-hangs",
            f"Trust in a lease is counted from when {verb} was answered, and outlasts the lease.",
            "refused",
            _counts_from_the_answer(verb),
            name=f"{verb.replace('_', '-')}-answered",
            scenario=scenario,
        )
        for verb, scenario in (
            ("claim", "slow-claim-counts-from-its-sending"),
            ("claim_next", "slow-claim-counts-from-its-sending"),
            ("reacquire", "slow-re-acquisition-counts-from-its-sending"),
        )
    ),
    Defect(
        "renewal-stalls-past-lease",
        "A process's own sweep leaves its runs to their holders for as long as they seem to hold them.",
        "run",
        _own_runs_are_never_swept,
        name="own-sweep-waits-for-ever",
        scenario="own-sweep-waits-for-a-moment-only",
    ),
]
