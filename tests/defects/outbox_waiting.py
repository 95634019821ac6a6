"""Seeded defects of what waits: backlogs, slow destinations, back-off, replays, and what is too long."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from defects.catalogue import Defect
from runcoord import _coordinator, _maintenance, _outbox, _recoverer, _sender
from runcoord._core import decide, deliveries, limits
from runcoord._core.model import Deadline, Event, EventState, Instant
from runcoord.ports import Bounded, Clock

Patch = pytest.MonkeyPatch


# --- backlog-larger-than-batch, slow-destination ---


def _one_batch_a_sweep(patch: Patch) -> None:
    drain = _outbox.Outbox.drain

    def once(self: _outbox.Outbox, **more: Any) -> _outbox.DrainReport:
        report = drain(self, **more)
        report.unfinished = False
        return report

    patch.setattr(limits, "DRAIN_BATCHES", 1)
    patch.setattr(_outbox.Outbox, "drain", once)


def _rest_waits_for_the_sweep(patch: Patch) -> None:
    plan = _maintenance.Maintenance._plan

    def patient(self: _maintenance.Maintenance, report: _outbox.DrainReport, *more: Any) -> None:
        plan(self, report, *more)
        if report.unfinished:
            self._drain_at = None

    patch.setattr(_maintenance.Maintenance, "_plan", patient)


def _slow_ones_fill_every_batch(patch: Patch) -> None:
    dispatch = _outbox.Outbox._dispatch

    def whoever_is_first(
        self: _outbox.Outbox, limit: int, drain: Any, *, without: Iterable[str] = (), **more: Any
    ) -> Any:
        return dispatch(self, limit, drain, **more)

    patch.setattr(_outbox.Outbox, "_dispatch", whoever_is_first)
    patch.setattr(limits, "DRAIN_BATCHES", 5)  # it would go round and round


def _slow_ones_first_again(patch: Patch) -> None:
    drain = _outbox.Outbox.drain

    def forgetful(self: _outbox.Outbox, **more: Any) -> _outbox.DrainReport:
        self._slow = set()
        return drain(self, **more)

    patch.setattr(_outbox.Outbox, "drain", forgetful)


def _waits_for_ever(patch: Patch) -> None:
    begun = _sender.Sender.__init__

    class Unbounded:
        def call(self, seconds: float, call: Callable[[], Any]) -> Any:
            return call()

    def patient(self: _sender.Sender, destinations: Any, clock: Clock, bounded: Bounded) -> None:
        begun(self, destinations, clock, Unbounded())

    patch.setattr(_sender.Sender, "__init__", patient)


# --- back-off-is-bounded, replay-of-held, oversize-result ---


def _every_second(patch: Patch) -> None:
    patch.setattr(deliveries, "backoff", lambda failures: 1.0)


def _doubling_for_ever(patch: Patch) -> None:
    patch.setattr(deliveries, "backoff", lambda failures: 2.0 ** (failures - 1))


def _wall_clock_decides(patch: Patch) -> None:
    patch.setattr(Deadline, "remaining", lambda self, now, cap=3600.0: min(self.wall - now.wall, cap))


def _any_wall_is_believed(patch: Patch) -> None:
    patch.setattr(Deadline, "implausible", lambda self, now, cap=3600.0: False)


def _replay_makes_a_new_event(patch: Patch) -> None:
    replay = _coordinator.RunVerbs.replay

    def copied(self: _coordinator.RunVerbs, event_id: str, *, destination: str = "") -> Event:
        with self.store.view("read-run") as view:
            held = view.event(event_id)
        if held is None:
            return replay(self, event_id, destination=destination)
        with self.store.transaction("replay") as tx:
            again = deliveries.replayed(held, destination, _coordinator.instant(self.clock))
            tx.save([_coordinator.Change(new_events=(replace(again, event_id=f"{event_id}/again", seq=0),))])
        return again

    patch.setattr(_coordinator.RunVerbs, "replay", copied)


def _replay_of_anything(patch: Patch) -> None:
    def anything(event: Event, destination: str, now: Instant) -> Event:
        target = destination or event.destination
        return replace(
            event, state=EventState.PENDING, destination=target, reason="", due=Deadline.after(now, 0.0)
        )

    patch.setattr("runcoord._coordinator.replayed", anything)


def _replay_keeps_the_failures(patch: Patch) -> None:
    replayed = deliveries.replayed
    patch.setattr(
        "runcoord._coordinator.replayed",
        lambda event, destination, now: replace(replayed(event, destination, now), failures=event.failures),
    )


def _nothing_is_cut(patch: Patch) -> None:
    patch.setattr(decide, "MAX_RESULT_CHARACTERS", 10**9)


def _cut_in_silence(patch: Patch) -> None:
    finished = decide._finished
    patch.setattr(
        decide, "_finished", lambda *args, **more: replace(finished(*args, **more), result_truncated=False)
    )


# --- one-among-many ---


def _rewriting(when: Callable[[_recoverer.SweepReport], bool]) -> Callable[[Patch], None]:
    """A defect that writes every event again after a sweep."""

    def breaks(patch: Patch) -> None:
        sweep = _recoverer.Recoverer.sweep

        def everything(self: _recoverer.Recoverer, **more: Any) -> _recoverer.SweepReport:
            report = sweep(self, **more)
            if when(report):
                with self._verbs.store.transaction("dispatch") as tx:
                    tx.save([_outbox.Change(events=tuple(tx.events(limit=1_000)))])
            return report

        patch.setattr(_recoverer.Recoverer, "sweep", everything)

    return breaks


def _tries_for_ever(patch: Patch) -> None:
    patch.setattr(deliveries, "MAX_DELIVERY_ATTEMPTS", 1_000_000)


def _replay_remembers_the_failures(patch: Patch) -> None:
    right = deliveries.replayed

    def replayed(event: Event, destination: str, now: Instant) -> Event:
        return replace(right(event, destination, now), failures=event.failures)

    patch.setattr(_coordinator, "replayed", replayed)


def _waits_for_a_claim_of_another_boot(patch: Patch) -> None:
    right = deliveries.may_send

    def may_send(event: Event, now: Instant) -> bool:
        return right(event, now) and (event.state is not EventState.SENDING or event.due.passed(now))

    patch.setattr(deliveries, "may_send", may_send)


WAITING: list[Defect] = [
    Defect(
        "backlog-larger-than-batch",
        "A sweep sends one batch and says nothing of the rest.",
        "no-silent-zero",
        _one_batch_a_sweep,
    ),
    Defect(
        "backlog-larger-than-batch",
        "What a drain had no time for waits for the next sweep.",
        "delivered",
        _rest_waits_for_the_sweep,
        name="rest-waits",
        scenario="backlog-larger-than-a-drain",
    ),
    Defect(
        "slow-destination",
        "The oldest events fill every batch, though there is no time for their destination any more.",
        "one-bad-apple",
        _slow_ones_fill_every_batch,
    ),
    Defect(
        "slow-destination",
        "Whoever was slow last time is served first again.",
        "delivered",
        _slow_ones_first_again,
        name="slow-first",
    ),
    Defect(
        "slow-destination",
        "A destination that never answers is waited for without a bound, and no sweep comes any more.",
        "never-returns",
        _waits_for_ever,
        name="no-bound",
        scenario="destination-never-answers",
    ),
    Defect(
        "back-off-is-bounded",
        "A destination that is down is asked every second.",
        "delivered",
        _every_second,
        name="no-growth",
    ),
    Defect(
        "back-off-is-bounded",
        "The wait doubles without end.",
        "delivered",
        _doubling_for_ever,
        name="no-end",
    ),
    Defect(
        "back-off-is-bounded",
        "The wait is counted on the wall clock: an hour back makes it an hour longer.",
        "delivered",
        _wall_clock_decides,
        name="wall-clock",
    ),
    Defect(
        "back-off-is-bounded",
        "A time of another boot is believed however far ahead it lies.",
        "delivered",
        _any_wall_is_believed,
        name="any-wall",
        scenario="back-off-across-a-reboot",
    ),
    Defect(
        "replay-of-held",
        "A replay sends a copy under another id, and the held event stays.",
        "same-event-same-bytes",
        _replay_makes_a_new_event,
        name="new-event",
    ),
    Defect(
        "replay-of-held",
        "Anything can be replayed, also what has been delivered.",
        "refused",
        _replay_of_anything,
        name="anything",
    ),
    Defect(
        "replay-of-held",
        "A replayed event goes on from where it gave up, and is held again by the next failure.",
        "event",
        _replay_keeps_the_failures,
        name="old-failures",
        scenario="replay-begins-anew",
    ),
    Defect(
        "oversize-result",
        "A result of any length is stored and sent.",
        "bounded-and-clean",
        _nothing_is_cut,
        name="not-cut",
    ),
    Defect(
        "oversize-result",
        "A result is cut, and nobody is told.",
        "result-kept",
        _cut_in_silence,
        name="in-silence",
    ),
    Defect(
        "one-among-many",
        "A sweep that delivered something writes every event again.",
        "work-in-proportion",
        _rewriting(lambda report: report.drain.delivered == 1),
        name="when-busy",
    ),
    Defect(
        "one-among-many",
        "A sweep that found nothing writes every event again.",
        "idle-is-free",
        _rewriting(lambda report: not report.drain.delivered),
        name="when-idle",
    ),
    Defect(
        "back-off-is-bounded",
        "An event that nobody accepts is tried for ever, and the operator never hears of it.",
        "event",
        _tries_for_ever,
        name="for-ever",
        scenario="given-up-after-a-day",
    ),
    Defect(
        "back-off-is-bounded",
        "A replay remembers the failures from before, and is given up at once.",
        "event",
        _replay_remembers_the_failures,
        name="replayed-once",
        scenario="given-up-after-a-day",
    ),
    Defect(
        "back-off-is-bounded",
        "What was being sent before a reboot waits until the wall clock has caught up.",
        "event",
        _waits_for_a_claim_of_another_boot,
        name="sent-before-a-reboot",
        scenario="sent-before-a-reboot",
    ),
]
