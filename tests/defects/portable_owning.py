"""Seeded defects of who is given a run, for how long, and what becomes of it when its owner is gone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from defects.catalogue import Defect
from defects.commands_starting import _expired_claims_are_in_no_list, _replays
from defects.leases_clocks import _wall_time_decides
from defects.leases_fences import (
    _accepts_stale,
    _any_length_will_do,
    _forgets_the_end_of_the_lease,
    _steals_live_leases,
)
from defects.portable_keeping import _changed_by_opening, alive_again
from defects.rules import Rule, broken_rule
from pytest_runcoord.reference import ReferenceSession
from pytest_runcoord.subject import Answer
from runcoord import Coordinator, _coordinator, _recoverer
from runcoord._core import decide as rules
from runcoord._core import requests as ask
from runcoord._core.decide import Decision
from runcoord._core.model import Instant, Outcome, Run, State
from runcoord._stores import statements
from runcoord.ports import Change

Patch = pytest.MonkeyPatch
PUT_BACK = (
    "UPDATE runs SET state = 'accepted', owner = '', lease_wall = NULL, lease_boottime = NULL, "
    "lease_boot = NULL, version = version + 1 WHERE state = 'running' OR state = 'claimed'"
)


def _put_back(run: Run) -> Run:
    return replace(
        alive_again(run), state=State.ACCEPTED, version=run.version + 1, owner="", lease=None, started_at=None
    )


def _read_before_it_is_claimed(patch: Patch) -> None:
    """What is next is looked up once, and given to whoever asks meanwhile."""
    waiting = _coordinator.next_waiting
    first: list[str] = []

    def remembered(view: Any, now: Instant) -> Run | None:
        known = view.run(first[0]) if first else waiting(view, now)
        first[:] = [known.run_id] if known is not None else []
        return known

    patch.setattr(_coordinator, "next_waiting", remembered)
    _steals_live_leases(patch)


def _sweeps_put_back(which: Callable[[Run, Instant], bool]) -> Callable[[Patch], None]:
    """A sweep makes runs claimable again that it had better left alone."""

    def breaks(patch: Patch) -> None:
        sweep = _recoverer.Recoverer.sweep

        def putting_back(self: _recoverer.Recoverer, **more: Any) -> _recoverer.SweepReport:
            store = self._verbs.store
            now = _coordinator.instant(self._verbs.clock)
            with store.transaction("recover") as tx:
                runs = [run for run in tx.runs(limit=100) if which(run, now)]
                tx.save([Change(before=run, run=_put_back(run)) for run in runs])
            return sweep(self, **more)

        patch.setattr(_recoverer.Recoverer, "sweep", putting_back)

    return breaks


def _under_way(run: Run, now: Instant) -> bool:
    return run.state in (State.CLAIMED, State.RUNNING)


def _nothing_is_recovered(patch: Patch) -> None:
    """A sweep reports that it looked, and does nothing."""
    patch.setitem(rules._RULES, ask.Recover, lambda run, asked, now: Decision(run, False))


def _waits_for_its_turn(patch: Patch) -> None:
    """Runs are given out strictly in order: who is held up holds up all behind him."""
    waiting = _coordinator.next_waiting

    def in_order(view: Any, now: Instant) -> Run | None:
        runs = view.runs(limit=100)
        oldest = next((run for run in runs if run.state is not State.FINISHED), None)
        found = waiting(view, now)
        return found if oldest is None or found is None or found.run_id == oldest.run_id else None

    patch.setattr(_coordinator, "next_waiting", in_order)


def _renewal_is_forgotten(right: Rule, run: Run, asked: ask.Renew, now: Instant) -> Decision:
    right(run, asked, now)
    return Decision(run, False)


def _half_of_it(patch: Patch) -> None:
    """A lease is half as long as was asked for."""
    acquired = rules._acquired

    def shorter(run: Run, owner: str, seconds: float, now: Instant, state: State) -> Run:
        return acquired(run, owner, seconds / 2, now, state)

    patch.setattr(rules, "_acquired", shorter)


def _completes_what_has_not_begun(patch: Patch) -> None:
    rule = rules._RULES[ask.Complete]

    def begun(run: Run, asked: Any, now: Instant) -> Decision:
        started = replace(run, state=State.RUNNING) if run.state is State.CLAIMED else run
        return rule(started, asked, now)

    patch.setitem(rules._RULES, ask.Complete, begun)


def _overwrites_the_end(right: Rule, run: Run, asked: ask.Complete, now: Instant) -> Decision:
    """A late owner writes its result over the one that is there."""
    if run.state is not State.FINISHED:
        return right(run, asked, now)
    return Decision(replace(run, version=run.version + 1, result=asked.result), True)


def _start_takes_all(patch: Patch) -> None:
    """The start call puts back whatever is under way, as if nobody else could be alive."""
    right = ReferenceSession.startup

    def startup(self: ReferenceSession) -> Answer:
        store = self._coordinator.store
        with store.transaction("recover") as tx:
            runs = [run for run in tx.runs(limit=100) if run.state is not State.FINISHED]
            tx.save([Change(before=run, run=_put_back(run)) for run in runs])
        return right(self)

    patch.setattr(ReferenceSession, "startup", startup)


def _the_wall_decides(patch: Patch) -> None:
    """A lease ends at a wall time, for every question that is asked."""
    _wall_time_decides(patch)
    for name in ("CLAIMABLE_EXPIRED", "RECOVERABLE"):
        statement: str = getattr(statements, name)
        by_wall = statement.replace("lease_boottime <= :boottime", "lease_wall <= :wall")
        assert by_wall != statement
        patch.setattr(statements, name, by_wall)


def _release_does_nothing(patch: Patch) -> None:
    patch.setattr(Coordinator, "release", lambda self, lease: None)


def _trusts_every_handle(patch: Patch) -> None:
    """Whoever was given a run once may complete it, whoever was given it since."""
    _completes_what_has_not_begun(patch)
    _accepts_stale(ask.Complete)(patch)


def _ended_by_a_sweep(run: Run, now: Instant) -> bool:
    return run.outcome is Outcome.INTERRUPTED


OWNING: list[Defect] = [
    Defect(
        "claimed-by-one",
        "A claim looks neither at the lease nor at its owner.",
        "live-lease-kept",
        _steals_live_leases,
    ),
    Defect(
        "claimed-by-one",
        "What is next is looked up before it is claimed, and given to all who ask meanwhile.",
        "live-lease-kept",
        _read_before_it_is_claimed,
        name="read-then-written",
        scenario="each-gets-another",
    ),
    Defect(
        "live-owner-kept",
        "Whoever opens the store puts back what is under way.",
        "nothing-unasked",
        _changed_by_opening(PUT_BACK),
    ),
    Defect(
        "live-owner-kept",
        "A sweep puts back whatever is under way.",
        "starts-once",
        _sweeps_put_back(_under_way),
        name="swept",
        scenario="another-one-recovers",
    ),
    Defect(
        "live-owner-kept",
        "The start call puts back whatever is under way, as if nobody else could be alive.",
        "starts-once",
        _start_takes_all,
        name="started",
        scenario="another-one-starts-up",
    ),
    Defect(
        "dead-owner",
        "A sweep looks, and does nothing about what a dead owner left.",
        "run",
        _nothing_is_recovered,
    ),
    Defect(
        "dead-owner",
        "A run that was claimed and not begun stays claimed by a dead owner for ever.",
        "answer",
        _expired_claims_are_in_no_list,
        name="claimed-for-ever",
        scenario="died-before-it-began",
    ),
    Defect(
        "dead-owner",
        "What had begun is given out again, although it may have had effects.",
        "starts-once",
        broken_rule(ask.Recover, _replays),
        name="begins-again",
        scenario="begun-and-died-ends-as-interrupted",
    ),
    Defect(
        "dead-owner",
        "The same sweep, where nobody is left of all owners.",
        "runs",
        _nothing_is_recovered,
        name="nobody-left",
        scenario="all-owners-die",
    ),
    Defect(
        "dead-owner",
        "Runs are given out strictly in their order: what a dead owner holds keeps all behind it waiting.",
        "run",
        _waits_for_its_turn,
        name="in-turn",
        scenario="blocks-nobody",
    ),
    Defect(
        "dead-owner",
        "The next sweep puts back what the one before has ended.",
        "one-outcome",
        _sweeps_put_back(_ended_by_a_sweep),
        name="ended-and-put-back",
        scenario="recovered-twice",
    ),
    Defect(
        "dead-owner",
        "An owner that comes back is not given what its earlier self had claimed.",
        "run",
        _expired_claims_are_in_no_list,
        name="not-its-own",
        scenario="comes-back-itself",
    ),
    Defect(
        "stale-owner",
        "An owner that comes late writes its result over the one that is there.",
        "stale-owner-refused",
        broken_rule(ask.Complete, _overwrites_the_end),
    ),
    Defect(
        "stale-owner",
        "Whoever was given a run once may complete it, while another one works on it.",
        "stale-owner-refused",
        _trusts_every_handle,
        name="any-handle",
        scenario="completes-what-another-works-on",
    ),
    Defect(
        "stale-owner",
        "The same, once its lease ran out.",
        "stale-owner-refused",
        _trusts_every_handle,
        name="past-its-lease",
        scenario="past-its-lease",
    ),
    Defect(
        "stale-owner",
        "Whoever held a run once may renew, and takes it from the one who holds it.",
        "stale-owner-refused",
        _accepts_stale(ask.Renew),
        name="renews",
        scenario="renews-what-another-holds",
    ),
    Defect(
        "lease-length",
        "A lease is half as long as was asked for.",
        "refused",
        _half_of_it,
    ),
    Defect(
        "lease-length",
        "A lease is taken for held after its end, too.",
        "work_off",
        _forgets_the_end_of_the_lease,
        name="never-ends",
        scenario="ends-by-itself",
    ),
    Defect(
        "lease-length",
        "Who asks by name for a run whose lease ran out is refused for ever.",
        "claim",
        _forgets_the_end_of_the_lease,
        name="never-free",
        scenario="free-after-its-end",
    ),
    Defect(
        "lease-length",
        "A renewal is answered, and not written.",
        "live-lease-kept",
        broken_rule(ask.Renew, _renewal_is_forgotten),
        name="forgotten",
        scenario="renewed-in-time",
    ),
    Defect(
        "lease-length",
        "A lease may be of any length, also of none that makes sense.",
        "refused",
        _any_length_will_do,
        name="senseless",
        scenario="senseless-lengths",
    ),
    Defect(
        "clocks-move",
        "A lease ends at a wall time, and a clock that is set forth ends it.",
        "live-lease-kept",
        _the_wall_decides,
    ),
    Defect(
        "clocks-move",
        "A lease ends at a wall time, and a clock that is set back lengthens it.",
        "run",
        _the_wall_decides,
        name="set-back",
        scenario="the-clock-steps-back",
    ),
    Defect(
        "clocks-move",
        "A sweep in the hour in which the clock is ahead takes the work of a live owner.",
        "live-lease-kept",
        _the_wall_decides,
        name="for-a-while",
        scenario="the-clock-steps-forth-and-back",
    ),
    Defect(
        "clocks-move",
        "An owner that slept through its lease completes what another one was given.",
        "stale-owner-refused",
        _trusts_every_handle,
        name="slept",
        scenario="the-machine-sleeps",
    ),
    Defect(
        "given-back",
        "Giving back is answered, and not written.",
        "nothing-lost",
        _release_does_nothing,
    ),
    Defect(
        "given-back",
        "Whoever gave a run back can complete it, while another one works on it.",
        "stale-owner-refused",
        _trusts_every_handle,
        name="any-handle",
    ),
    Defect(
        "given-back",
        "Giving back is answered, and not written; the next one asks in vain.",
        "nothing-lost",
        _release_does_nothing,
        name="in-vain",
        scenario="given-back-and-done",
    ),
]
