"""Seeded defects of acquiring and of writing under a lease."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from defects.catalogue import Defect
from runcoord import Coordinator, StopReceipt
from runcoord._core import decide as rules
from runcoord._core import requests as ask
from runcoord._core.model import Deadline, Instant, Lease, Run, State


def _hands_out_finished_runs(patch: pytest.MonkeyPatch) -> None:
    claim = rules._claim

    def careless(run: Run, request: ask.Claim, now: Instant) -> rules.Decision:
        if run.state is not State.FINISHED:
            return claim(run, request, now)
        return rules.Decision(rules._acquired(run, request.owner, request.seconds, now, run.state), True)

    patch.setitem(rules._RULES, ask.Claim, careless)


def _claims_without_looking_at_the_end(patch: pytest.MonkeyPatch) -> None:
    """The run is claimed anew although it has its outcome, and may be worked on a second time."""

    def careless(run: Run, request: ask.Claim, now: Instant) -> rules.Decision:
        return rules.Decision(rules._acquired(run, request.owner, request.seconds, now, State.CLAIMED), True)

    patch.setitem(rules._RULES, ask.Claim, careless)


def _swallows_the_stop(patch: pytest.MonkeyPatch) -> None:
    stop = Coordinator.stop

    def silent(self: Coordinator, run_id: str, reason: str = "") -> StopReceipt:
        return replace(stop(self, run_id, reason), outcome=None)

    patch.setattr(Coordinator, "stop", silent)


def _steals_live_leases(patch: pytest.MonkeyPatch) -> None:
    def thief(run: Run, request: ask.Claim, now: Instant) -> rules.Decision:
        return rules._claim(replace(run, lease=None), request, now)

    patch.setitem(rules._RULES, ask.Claim, thief)


def _says_no_more_than_no(patch: pytest.MonkeyPatch) -> None:
    held = rules._lease_held

    def terse(run: Run, now: Instant) -> Exception:
        refusal = held(run, now)
        refusal.details = {"run": run.run_id}
        return refusal

    patch.setattr(rules, "_lease_held", terse)


def _forgets_the_end_of_the_lease(patch: pytest.MonkeyPatch) -> None:
    """Whoever asks after the lease has ended is refused too, for ever."""

    def deaf(run: Run, request: ask.Claim, now: Instant) -> rules.Decision:
        if run.lease is not None and run.owner != request.owner:
            raise rules._lease_held(run, now)
        return rules._claim(run, request, now)

    patch.setitem(rules._RULES, ask.Claim, deaf)


def _accepts_stale(request: type) -> Any:
    """A rule for one kind of request that takes every handle for the newest."""

    def breaks(patch: pytest.MonkeyPatch) -> None:
        rule = rules._RULES[request]

        def trusting(run: Run, asked: Any, now: Instant) -> rules.Decision:
            newest = replace(asked.lease, owner=run.owner, epoch=run.epoch)
            return rule(run, replace(asked, lease=newest), now)

        patch.setitem(rules._RULES, request, trusting)

    return breaks


def _keeps_the_epoch_of_its_own_runs(patch: pytest.MonkeyPatch) -> None:
    acquired = rules._acquired

    def unfenced(run: Run, owner: str, seconds: float, now: Instant, state: State) -> Run:
        after = acquired(run, owner, seconds, now, state)
        return replace(after, epoch=run.epoch) if run.owner == owner else after

    patch.setattr(rules, "_acquired", unfenced)


def _asks_for_the_owner_only(patch: pytest.MonkeyPatch) -> None:
    """The fence is the owner's name: an older handle of the same process passes."""
    require = rules._require_holder

    def by_name(run: Run, lease: Lease, now: Instant, **more: bool) -> bool:
        return require(run, replace(lease, epoch=run.epoch), now, **more)

    patch.setattr(rules, "_require_holder", by_name)


def _release_clears_the_epoch(patch: pytest.MonkeyPatch) -> None:
    def clears(run: Run, request: ask.Release, now: Instant) -> rules.Decision:
        decision = rules._release(run, request, now)
        return replace(decision, run=replace(decision.run, epoch=0))

    patch.setitem(rules._RULES, ask.Release, clears)


def _nobody_is_everybody(patch: pytest.MonkeyPatch) -> None:
    """A run without an owner passes every check of its owner."""
    require = rules._require_holder

    def lax(run: Run, lease: Lease, now: Instant, **more: bool) -> bool:
        return False if not run.owner else require(run, lease, now, **more)

    patch.setattr(rules, "_require_holder", lax)


def _any_length_will_do(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("runcoord._coordinator.require_lease_seconds", lambda seconds, least, most: seconds)


def _only_too_short_is_refused(patch: pytest.MonkeyPatch) -> None:
    """``not seconds < least`` lets what is no number through, and nothing bounds it above."""

    def least_only(seconds: float, least: float, most: float) -> float:
        return rules.require_lease_seconds(least if seconds < least else most, most, most) and seconds

    patch.setattr("runcoord._coordinator.require_lease_seconds", least_only)


def _settings_take_any_lease(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("runcoord._core.settings.Settings.__post_init__", lambda self: None)


STALE = {
    "renews": ask.Renew,
    "records-progress": ask.Progress,
    "writes-an-event": ask.Publish,
    "releases": ask.Release,
    "completes": ask.Complete,
    "starts": ask.Start,
    "re-acquires": ask.Reacquire,
}


def _also_when_it_ran_out(request: type) -> Any:
    """A rule that looks at who holds a run, and not at whether the lease has ended."""

    def breaks(patch: pytest.MonkeyPatch) -> None:
        rule = rules._RULES[request]

        def careless(run: Run, asked: Any, now: Instant) -> rules.Decision:
            if run.lease is None or not run.lease.passed(now):
                return rule(run, asked, now)
            return rule(replace(run, lease=Deadline.after(now, 1.0)), asked, now)

        patch.setitem(rules._RULES, request, careless)

    return breaks


FENCES = [
    Defect(
        "claim-of-finished-run",
        "A claim gives a fresh fence on a run that has ended.",
        "one-outcome",
        _hands_out_finished_runs,
        variant="memory",
    ),
    Defect(
        "claim-of-finished-run",
        "A claim that was overtaken by a stop is granted, and the run comes back to life.",
        "one-outcome",
        _claims_without_looking_at_the_end,
        name="comes-back",
        scenario="claim-overtaken-by-a-stop",
        variant="memory",
    ),
    Defect(
        "claim-of-finished-run",
        "A stop of a run that ended meanwhile is answered as if it were under way.",
        "stop-wins",
        _swallows_the_stop,
        name="stop-vanishes",
        scenario="stop-overtaken-by-recovery",
    ),
    Defect(
        "claim-steals-live-lease",
        "A claim looks neither at the lease nor at its owner.",
        "live-lease-kept",
        _steals_live_leases,
    ),
    Defect(
        "claim-steals-live-lease",
        "The refusal says neither who holds the run nor until when.",
        "answer",
        _says_no_more_than_no,
        name="says-nothing",
    ),
    Defect(
        "claim-steals-live-lease",
        "The lease is taken for held also after the end that the refusal named.",
        "claim_next",
        _forgets_the_end_of_the_lease,
        name="never-free",
        scenario="expired-lease-is-free",
    ),
    *(
        Defect(
            "stale-owner-writes",
            f"An owner that lost its run still {name.replace('-', ' ')}.",
            "stale-owner-refused",
            _accepts_stale(request),
            name=name,
        )
        for name, request in STALE.items()
    ),
    Defect(
        "same-owner-reclaims",
        "A run that its own last owner claims again keeps its epoch.",
        "epoch-rises",
        _keeps_the_epoch_of_its_own_runs,
    ),
    Defect(
        "same-owner-reclaims",
        "The fence is the owner's name alone, so its older handles pass.",
        "stale-owner-refused",
        _asks_for_the_owner_only,
        name="by-name",
    ),
    Defect(
        "same-owner-reclaims",
        "A lease that is taken again after it ran out keeps its epoch.",
        "epoch-rises",
        _keeps_the_epoch_of_its_own_runs,
        name="re-acquires",
        scenario="same-owner-re-acquires",
    ),
    Defect(
        "release-erases-fence",
        "A release sets the epoch back to nothing.",
        "epoch-rises",
        _release_clears_the_epoch,
    ),
    Defect(
        "release-erases-fence",
        "After a release nobody owns the run, and every handle passes for its owner's.",
        "stale-owner-refused",
        _nobody_is_everybody,
        name="nobody-is-everybody",
    ),
    Defect(
        "invalid-lease",
        "The length of a lease is not looked at.",
        "refused",
        _any_length_will_do,
    ),
    Defect(
        "invalid-lease",
        "The length of a lease is compared with its least only, so endless and no number pass.",
        "refused",
        _only_too_short_is_refused,
        name="least-only",
    ),
    Defect(
        "invalid-lease",
        "The lease of the settings is not looked at.",
        "refused",
        _settings_take_any_lease,
        name="settings",
        scenario="lease-setting-that-is-no-number",
    ),
    *(
        Defect(
            "stale-owner-writes",
            f"An owner may still {request.__name__.lower()} under a lease that ran out.",
            "refused",
            _also_when_it_ran_out(request),
            name=f"{request.__name__.lower()}-expired",
            scenario="expired-and-nobody-else",
        )
        for request in (ask.Start, ask.Progress, ask.Publish)
    ),
]
