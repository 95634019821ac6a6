"""Invariants about who holds a run, by what owners were given: they need no epochs and no leases."""

from __future__ import annotations

from pytest_runcoord.deadlines import passed
from pytest_runcoord.history import Entry
from pytest_runcoord.incarnation import RUNNING
from pytest_runcoord.invariants.base import Invariant
from pytest_runcoord.subject import Snapshot
from runcoord.values import value

GIVING = frozenset({"claim", "claim_next", "execute", "execute_next", "supervise"})
"""Verbs that give a run to the one who asks."""
NEXT = frozenset({"claim_next", "execute_next"})
"""Those of them that give whichever is next, and so never the same one twice."""
ENDING = frozenset({"complete", "finish", "release", "settle", "interrupt", "tear_down"})
"""Verbs after which who asked holds the run no more."""
SWEEPING = frozenset({"recover", "startup"})


@value
class Holding:
    """Who was given a run: an owner, the number of its start, and the entry in which that was."""

    owner: str
    start: int
    number: int


def who(entry: Entry) -> tuple[str, int]:
    """Who asked: an owner, and the number of its start."""
    start = entry.data.get("start")
    return entry.actor, start if isinstance(start, int) else 0


class HeldByOne(Invariant):
    """The part of its id for coordinators without leases, or without names of owners."""

    id = "live-lease-kept"
    says = (
        "What an owner holds is given to nobody else while it lives, unless its lease ran out or it gave the "
        "run back."
    )
    instead_of = frozenset({"leases", "owners"})
    hears = frozenset({"verb"})
    verbs = GIVING | ENDING | SWEEPING

    def __init__(self, *world: object) -> None:
        super().__init__(*world)  # type: ignore[arg-type]
        self._held: dict[str, Holding] = {}
        self._leased = "leases" in self.world.subject.capabilities

    def see(self, entry: Entry, before: Snapshot) -> None:
        self._let_go(before)
        asker = who(entry)
        if entry.what in GIVING or entry.what in SWEEPING:
            self._count(asker, entry.data.get("on"))
        if entry.status != "ok":
            return
        if entry.what in GIVING:
            run = entry.data.get("run")
            if isinstance(run, str) and run:
                self._give(run, entry, asker)
        elif entry.what in ENDING:
            run = entry.data.get("on")
            if isinstance(run, str):
                self._held.pop(run, None)

    def _let_go(self, before: Snapshot) -> None:
        """Forget who holds a run no more: it is gone, its lease ran out, or the run has ended."""
        now = self.world.instant()
        for run_id, holding in list(self._held.items()):
            run = before.runs.get(run_id)
            if (
                run is None
                or run.outcome is not None
                or (self._leased and run.lease is None)  # where one is not shown, nothing can be said
                or passed(run.lease, now)
                or not self._lives(holding)
            ):
                del self._held[run_id]

    def _lives(self, holding: Holding) -> bool:
        return any(
            each.owner == holding.owner and each.number == holding.start and each.life in RUNNING
            for each in self.world.incarnations
        )

    def _count(self, asker: tuple[str, int], wanted: object) -> None:
        self.exercised += sum(
            (holding.owner, holding.start) != asker and wanted in (None, run_id)
            for run_id, holding in self._held.items()
        )

    def _give(self, run_id: str, entry: Entry, asker: tuple[str, int]) -> None:
        holding = self._held.get(run_id)
        again = holding is not None and (holding.owner, holding.start) == asker
        if holding is not None and (not again or entry.what in NEXT) and holding.number < entry.number:
            self.fail(
                f"{run_id} was given to {entry.actor} while {holding.owner} holds it",
                expected=f"nobody is given it: {holding.owner} lives, and has neither ended it nor let it go",
                seen=f"{entry.what} gave it",
            )
        self._held[run_id] = Holding(*asker, entry.number)


class StaleHolderRefused(Invariant):
    """The part of its id for coordinators without epochs."""

    id = "stale-owner-refused"
    says = "Nothing that an owner writes about a run has an effect once another one was given it."
    instead_of = frozenset({"epochs"})
    hears = frozenset({"verb"})
    verbs = GIVING | frozenset({"renew", "progress", "publish", "complete", "release"})

    def __init__(self, *world: object) -> None:
        super().__init__(*world)  # type: ignore[arg-type]
        self._newest: dict[str, tuple[str, int]] = {}
        """Who was given a run last."""

    def see(self, entry: Entry, before: Snapshot) -> None:
        asker = who(entry)
        if entry.what in GIVING:
            run = entry.data.get("run")
            if entry.status == "ok" and isinstance(run, str) and run:
                self._newest[run] = asker
            return
        run_id = entry.data.get("on")
        newest = self._newest.get(run_id) if isinstance(run_id, str) else None
        if newest is None or newest == asker or not isinstance(run_id, str):
            return
        self.exercised += 1
        was, seen = before.runs.get(run_id), self.world.snapshot().runs.get(run_id)
        if was is not None and was.outcome is None and entry.status == "ok" and was != seen:
            self.fail(
                f"{entry.what} by {entry.actor} changed {run_id}, which {newest[0]} was given since",
                expected="refused, or without an effect",
                seen="another run than before" if seen is None else f"{seen.state}, outcome {seen.outcome}",
            )
