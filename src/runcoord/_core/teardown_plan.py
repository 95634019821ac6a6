"""Ending all processes of a run, the order of things: a pure plan.

It is told what a scan saw and how much time went by, and says what to do next.

    ask     TERM and CONT to every member that was not asked yet, also to those born meanwhile (a stopped one
            cannot hear TERM alone); with a grace of zero this phase is left out
    kill    KILL to every member, again and again, because members may fork while they die
    done    two scans in a row found nobody, or time is up and who is left is named

The emptiness of the whole set drives it, not the end of the first process. A zombie is nobody.
"""

from __future__ import annotations

import enum

from runcoord._core.limits import (
    CLEAN_SCANS,
    DENIED_SECONDS,
    KILL_SECONDS,
    TEARDOWN_FIRST_PAUSE_SECONDS,
    TEARDOWN_MAX_PAUSE_SECONDS,
    TEARDOWN_PAUSE_PER_MEMBER_SECONDS,
    TEARDOWN_ROUNDS,
)
from runcoord._core.teardown import Scan
from runcoord._core.values import field, record, value


class Phase(enum.StrEnum):
    ASK = "ask"
    KILL = "kill"
    DONE = "done"


@value
class NextStep:
    """What to do now with the members of the scan, and how long to wait for all of them to end."""

    phase: Phase
    wait: float = 0.0
    """Seconds at most before the next scan. 0: scan again at once."""


@record
class TeardownPlan:
    """Decides each step of one teardown. ``seconds`` are counted from its beginning and do not fall."""

    grace: float
    kill_seconds: float = KILL_SECONDS
    hurried: bool = False
    """The grace was ended early."""
    kill_since: float | None = None
    """When killing began; ``None`` before."""
    rounds: int = 0
    clean: int = 0
    """Scans in a row that found nobody."""
    growing: bool = False
    """The last scan saw members that no scan before saw: more may have been born behind its back."""
    blind: bool = False
    """The last scan did not come to its end."""
    _known: set[tuple[int, int]] = field(default_factory=set)
    """Members (pid and start) of earlier scans of the present phase."""
    _ever: set[tuple[int, int]] = field(default_factory=set)
    """The same of all scans."""
    _pause: float = TEARDOWN_FIRST_PAUSE_SECONDS

    def hurry(self) -> None:
        """End the grace now: a second Ctrl-C."""
        self.hurried = True

    @property
    def emptied(self) -> bool:
        """Whether enough complete scans in a row found nobody."""
        return self.clean >= CLEAN_SCANS

    @property
    def unseen(self) -> str:
        """Why somebody may live whom no scan saw; empty when nothing says so."""
        if self.emptied:
            return ""
        if self.blind:
            return "the processes could not be read to the end"
        return "it did not converge: members were still being born when time was over" if self.growing else ""

    def next_step(self, scan: Scan, seconds: float, beyond_reach: frozenset[int] = frozenset()) -> NextStep:
        """What to do after this scan. ``beyond_reach``: members that cannot be signalled, whatever is tried;
        when nobody else is left, they are not waited for as long."""
        self.rounds += 1
        self.blind = not scan.complete
        if not scan.members and scan.complete:
            self.clean += 1
            self.growing = False
            if self.emptied or self.rounds >= TEARDOWN_ROUNDS:
                return NextStep(Phase.DONE)
            return NextStep(Phase.ASK if self._asking(seconds) else Phase.KILL)
        self.clean = 0
        self.growing = not _keys(scan) <= self._ever
        self._ever |= _keys(scan)
        if self._asking(seconds):
            left = self.grace - seconds
        else:
            if self.kill_since is None:
                self.kill_since = seconds
                self._known.clear()
                self._pause = TEARDOWN_FIRST_PAUSE_SECONDS
            left = self._killing_left(scan, seconds, beyond_reach)
        if left <= 0 or self.rounds >= TEARDOWN_ROUNDS:
            return NextStep(Phase.DONE)
        phase = Phase.ASK if self.kill_since is None else Phase.KILL
        return NextStep(phase, min(left, self._next_pause(scan)))

    def _asking(self, seconds: float) -> bool:
        return not self.hurried and self.kill_since is None and seconds < self.grace

    def _killing_left(self, scan: Scan, seconds: float, beyond_reach: frozenset[int]) -> float:
        assert self.kill_since is not None
        hopeless = bool(scan.members) and all(each.identity.pid in beyond_reach for each in scan.members)
        longest = min(self.kill_seconds, DENIED_SECONDS) if hopeless else self.kill_seconds
        return self.kill_since + longest - seconds

    def _next_pause(self, scan: Scan) -> float:
        """Short while members are being born, longer and longer when all are known."""
        members = _keys(scan)
        if not members <= self._known:
            self._known |= members
            self._pause = TEARDOWN_FIRST_PAUSE_SECONDS
        pause = self._pause
        self._pause = min(2 * pause, TEARDOWN_MAX_PAUSE_SECONDS)
        return min(pause + TEARDOWN_PAUSE_PER_MEMBER_SECONDS * len(members), TEARDOWN_MAX_PAUSE_SECONDS)


def _keys(scan: Scan) -> set[tuple[int, int]]:
    return {(each.identity.pid, each.identity.start) for each in scan.members}
