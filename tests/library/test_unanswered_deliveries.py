"""Events whose senders die of them, or never say what came of an attempt."""

from __future__ import annotations

from pathlib import Path

from runcoord import EventState, Settings
from runcoord._core import limits
from runcoord.testing import ManualClock

from .default_store import Places, ended, opened, states

CLAIM_ENDS = limits.DELIVERY_CLAIM_SECONDS + 1.0


def handed_out(path: Path, clock: ManualClock, places: Places, owner: int, *, dies_of: str) -> list[str]:
    """What one sender is given until there is nothing, or until it dies of one event and answers nothing of
    that batch. Then its claims end."""
    seen: list[str] = []
    with opened(path, clock, places, owner=f"sender-{owner}") as sender:
        while batch := sender.dispatch():
            seen += [made.event.event_id for made in batch]
            if dies_of in seen:
                break
            for made in batch:
                sender.acknowledge(made)
    clock.advance(CLAIM_ENDS)
    return seen


def test_an_event_that_no_sender_lives_to_answer_is_held_and_told_of_and_can_be_replayed(
    path: Path, clock: ManualClock, places: Places
) -> None:
    with opened(path, clock, places, settings=Settings(operator="ops")) as coordinator:
        ended(coordinator, "r1", "mail")
        for number in range(limits.MAX_UNANSWERED_ATTEMPTS):
            assert handed_out(path, clock, places, number, dies_of="r1/finished") == ["r1/finished"]

        report = coordinator.recover()

        [held] = coordinator.events(states=[EventState.HELD]).events
        assert (report.drain.held, report.digest, held.attempt) == (1, True, limits.MAX_UNANSWERED_ATTEMPTS)
        assert held.reason == "gave up after 8 unanswered attempts in a row: its senders died or hung"
        assert places.ids("mail") == []
        assert handed_out(path, clock, places, 99, dies_of="") == []
        coordinator.replay("r1/finished")
        assert coordinator.deliver().delivered == 1
        assert places.ids("mail") == ["r1/finished"]


def test_an_event_that_kills_its_senders_takes_no_others_with_it(
    path: Path, clock: ManualClock, places: Places
) -> None:
    with opened(path, clock, places) as coordinator:
        for run_id in ("a", "killer", "b"):
            ended(coordinator, run_id)
        together = ["a/finished", "killer/finished", "b/finished"]
        trusted = limits.TRUSTED_UNANSWERED_ATTEMPTS + 1
        for number in range(trusted):
            assert handed_out(path, clock, places, number, dies_of="killer/finished") == together
        ended(coordinator, "fresh")

        # Fresh ones first, then one by one, those that were tried less often before the others.
        third = handed_out(path, clock, places, trusted, dies_of="killer/finished")
        assert third == ["fresh/finished", "a/finished", "killer/finished"]
        fourth = handed_out(path, clock, places, trusted + 1, dies_of="killer/finished")
        assert fourth == ["b/finished", "killer/finished"]
        assert states(coordinator) == {
            **dict.fromkeys(["a/finished", "b/finished", "fresh/finished"], "delivered"),
            "killer/finished": "sending",
        }
