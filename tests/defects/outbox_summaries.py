"""Seeded defects of what the outbox sums up: groups, and digests of what is held."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from defects.catalogue import Defect
from runcoord import _changes, _recoverer
from runcoord._coordinator import instant
from runcoord._core import submission
from runcoord._core.decide import retry_of
from runcoord._core.events import digest_event, group_event
from runcoord._core.model import EventKind, Group, Outcome, Run, Spec
from runcoord._stores.writing import SqliteTransaction
from runcoord.ports import Change

Patch = pytest.MonkeyPatch


def _counts_as(outcome: Outcome) -> Any:
    """A defect that counts an interrupted member under another outcome."""

    def breaks(patch: Patch) -> None:
        counted = submission.counted

        def wrong(group: Group, run: Run) -> Group:
            return counted(
                group, replace(run, outcome=outcome) if run.outcome is Outcome.INTERRUPTED else run
            )

        patch.setattr(submission, "counted", wrong)

    return breaks


def _nothing_failed(patch: Patch) -> None:
    patch.setattr(Group, "successful", property(lambda group: group.failed == 0))


def _first_ended_is_all(patch: Patch) -> None:
    count = _changes.Groups.count

    def early(self: _changes.Groups, run: Run, now: Any) -> _changes.Counted:
        counted = count(self, run, now)
        group = counted.group
        if group is not None and counted.summary is None and run.outcome is Outcome.STOPPED:
            return replace(counted, summary=group_event(group, now))
        return replace(counted, summary=None)

    patch.setattr(_changes.Groups, "count", early)


def _nobody_is_told(patch: Patch) -> None:
    patch.setattr(_recoverer.Recoverer, "_write_digest", lambda self, report: None)


def _one_message_each(patch: Patch) -> None:
    def each_alone(self: _recoverer.Recoverer, report: _recoverer.SweepReport) -> None:
        verbs = self._verbs
        with verbs.store.transaction("digest") as tx:
            now = instant(verbs.clock)
            untold = tx.untold_held(1_000)
            messages = [
                digest_event(verbs.ids.new("held"), verbs.settings.operator, [event], 1, now)
                for event in untold
            ]
            tx.mark_held_told()
            tx.save([Change(new_events=tuple(messages))] if messages else [])
        report.digest = bool(messages)

    patch.setattr(_recoverer.Recoverer, "_write_digest", each_alone)


def _told_every_time(patch: Patch) -> None:
    patch.setattr(SqliteTransaction, "mark_held_told", lambda self: None)


def _digest_about_digests(patch: Patch) -> None:
    def as_a_note(*args: Any) -> Any:
        return replace(digest_event(*args), kind=EventKind.NOTE)

    patch.setattr(_recoverer, "digest_event", as_a_note)


def _a_retry_by_hand_is_a_member(patch: Patch) -> None:
    patch.setattr(submission, "explicit_retry", retry_of)


def _any_size_will_do(patch: Patch) -> None:
    joined = submission.joined
    patch.setattr(submission, "joined", lambda group, spec: None if group else joined(group, spec))


def _joins_what_was_summed_up(patch: Patch) -> None:
    joined = submission.joined

    def late(group: Group | None, spec: Spec) -> Group | None:
        return None if group is not None and group.ended == group.size else joined(group, spec)

    patch.setattr(submission, "joined", late)


def _each_end_is_counted_alone(patch: Patch) -> None:
    count = _changes.Groups.count

    def alone(self: _changes.Groups, run: Run, now: Any) -> Any:
        counted = count(self, run, now)
        self._seen.clear()
        return counted

    patch.setattr(_changes.Groups, "count", alone)


SUMMARIES: list[Defect] = [
    Defect(
        "interrupted-is-not-success",
        "An interrupted member counts as a completed one.",
        "group-adds-up",
        _counts_as(Outcome.COMPLETED),
        name="as-completed",
    ),
    Defect(
        "interrupted-is-not-success",
        "An interrupted member counts as a failed one.",
        "group-adds-up",
        _counts_as(Outcome.FAILED),
        name="as-failed",
    ),
    Defect(
        "interrupted-is-not-success",
        "A group in which nothing failed is a success.",
        "group-adds-up",
        _nothing_failed,
        name="nothing-failed",
    ),
    Defect(
        "interrupted-is-not-success",
        "The summary is written when a member was stopped, and not when the last one has ended.",
        "events",
        _first_ended_is_all,
        name="too-early",
        scenario="every-outcome-is-counted-as-itself",
    ),
    Defect(
        "held-reaches-the-operator",
        "The digest is gone: what is held waits unseen.",
        "held-is-told",
        _nobody_is_told,
        name="no-digest",
    ),
    Defect(
        "held-reaches-the-operator",
        "The operator gets one message for each held event.",
        "delivered",
        _one_message_each,
        name="one-each",
    ),
    Defect(
        "held-reaches-the-operator",
        "The operator is told of the same events by every sweep.",
        "held-is-told",
        _told_every_time,
        name="every-time",
    ),
    Defect(
        "held-reaches-the-operator",
        "A digest that is held is told of by another digest, which is held.",
        "rows",
        _digest_about_digests,
        name="about-itself",
        scenario="digest-itself-is-held",
    ),
    Defect(
        "interrupted-is-not-success",
        "A member that was retried by hand counts twice, and the group is summed up before it has ended.",
        "group-adds-up",
        _a_retry_by_hand_is_a_member,
        name="retried-by-hand",
        scenario="a-member-that-was-retried-by-hand",
    ),
    Defect(
        "interrupted-is-not-success",
        "A member may say another size than the group has.",
        "refused",
        _any_size_will_do,
        name="another-size",
        scenario="a-member-that-was-retried-by-hand",
    ),
    Defect(
        "interrupted-is-not-success",
        "A run may join a group that was summed up, and no summary ever counts it.",
        "refused",
        _joins_what_was_summed_up,
        name="after-the-summary",
        scenario="a-member-that-was-retried-by-hand",
    ),
    Defect(
        "interrupted-is-not-success",
        "Of members that one sweep ends together only one is counted, and no summary comes.",
        "delivered",
        _each_end_is_counted_alone,
        name="one-of-a-batch",
        scenario="members-ended-by-one-sweep",
    ),
]
