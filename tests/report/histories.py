"""Histories to draw, made by hand: each entry as a world would record it."""

from __future__ import annotations

from typing import Any

from pytest_runcoord.history import Entry, History
from pytest_runcoord.picture import LeaseSeen
from runcoord.testing import ManualClock


class Story:
    """A history under a manual clock, and what was seen of leases meanwhile."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.history = History(self.clock)
        self.seen: list[LeaseSeen] = []

    @property
    def entries(self) -> list[Entry]:
        return self.history.entries

    def add(self, line: int, kind: str, actor: str, what: str, status: str = "", **data: Any) -> Entry:
        self.history.step = line
        return self.history.add(kind, actor, what, status, **data)

    def see(self, run: str, epoch: int, owner: str, expires: float | None = None, outcome: str = "") -> None:
        self.seen.append(LeaseSeen(len(self.entries), run, epoch, owner, expires, outcome))


def taken_over() -> Story:
    """gw1 claims and crashes; its lease runs out, gw2 takes over, finishes and tells chat."""
    story = Story()
    story.add(5, "world", "gw1", "open", "ok", start=1)
    story.add(6, "verb", "gw1", "submit", "ok", start=1, on="r1", run="r1", state="accepted")
    story.add(6, "moment", "gw1", "after-accept")
    story.see("r1", 0, "")
    story.add(7, "verb", "gw1", "claim", "ok", start=1, on="r1", run="r1", epoch=1, owner="gw1#1")
    story.add(7, "moment", "gw1", "after-claim")
    story.see("r1", 1, "gw1", 90.0)
    story.add(8, "world", "clock", "advance", seconds=30.0)
    story.clock.advance(30.0)
    story.add(8, "moment", "gw1", "after-renew")
    story.see("r1", 1, "gw1", 120.0)
    story.add(9, "world", "gw1", "crash")
    story.add(10, "world", "clock", "advance", seconds=100.0)
    story.clock.advance(100.0)
    story.add(11, "world", "gw2", "open", "ok", start=1)
    story.add(12, "verb", "gw2", "claim", "ok", start=1, on="r1", run="r1", epoch=2, owner="gw2#1")
    story.add(12, "moment", "gw2", "after-claim")
    story.see("r1", 2, "gw2", 220.0)
    story.add(13, "verb", "gw2", "complete", "ok", on="r1", run="r1", outcome="completed")
    story.add(13, "moment", "gw2", "after-finish")
    story.see("r1", 2, "", None, "completed")
    story.add(
        14, "message", "gw2", "send to chat", "accepted", event="r1/finished", attempt=1, destination="chat"
    )
    story.add(14, "moment", "gw2", "after-send", event="r1/finished", attempt=1)
    story.add(14, "moment", "gw2", "after-acknowledge")
    return story
