"""Bars: who held which run when, as the store said it, and who lived from when to when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_runcoord.history import Entry
from pytest_runcoord.picture.lanes import Lanes, target_of
from pytest_runcoord.picture.model import NOWHERE, LaneKind, Lease, LeaseSeen, Life, Row
from pytest_runcoord.picture.rows import CLOCK, Table

MAX_LEASES = 120
"""Bars of leases in one picture; with more of them nothing is to be seen."""
SAME_SECONDS = 0.001
"""A deadline that moved by less is the same, computed at another moment."""
ACQUIRING = frozenset({"after-claim", "after-begin", "after-reacquire", "after-take-over", "after-recover"})
RENEWING = frozenset({"after-renew"})
ENDING = ACQUIRING | {"after-finish", "after-stop", "after-release"}
ENDED = {"exit": "exit", "killed": "killed", "crash": "crash", "close": "close"}


@dataclass(slots=True)
class _Held:
    seen: LeaseSeen
    first: int
    expires: float | None
    known: int = 0
    """The row since which it is known to end then."""
    renewals: list[int] = field(default_factory=list)


def leases_of(
    seen: Sequence[LeaseSeen], entries: Sequence[Entry], table: Table, lanes: Lanes
) -> tuple[tuple[Lease, ...], int]:
    """The bars, and how many there are beside them. ``seen`` is in the order in which it was seen."""
    held: dict[str, _Held] = {}
    bars: list[Lease] = []
    since = latest = 0
    for each in seen:
        if each.after != latest:  # what is seen now happened since something was seen last
            since, latest = latest, each.after
        current = held.get(each.run)
        if current is not None and not _same(current.seen, each):
            last = table.row_of[_entry(each, entries, since, ENDING)]
            bars.append(_bar(current, last, _how(each), table.rows, lanes))
            del held[each.run]
            current = None
        if current is not None:
            number = _entry(each, entries, since, RENEWING)
            longer = each.expires is not None and each.expires > (current.expires or 0.0) + SAME_SECONDS
            current.expires, current.known = each.expires, table.row_of[number]
            by_a_clock = entries[number - 1].actor == CLOCK  # which moves what is measured by it
            if longer and not by_a_clock and current.known not in current.renewals:
                current.renewals.append(current.known)
        elif each.owner and not each.outcome:
            first = table.row_of[_entry(each, entries, since, ACQUIRING)]
            held[each.run] = _Held(each, first, each.expires)
    end = len(table.rows) - 1
    bars += [_bar(each, end, "", table.rows, lanes) for each in held.values()]
    bars.sort(key=lambda bar: (bar.first, bar.run))
    return tuple(bars[:MAX_LEASES]), max(0, len(bars) - MAX_LEASES)


def _same(a: LeaseSeen, b: LeaseSeen) -> bool:
    return (a.owner, a.epoch, a.outcome) == (b.owner, b.epoch, b.outcome)


def _how(now: LeaseSeen) -> str:
    if now.outcome:
        return f"outcome: {now.outcome}"
    return "taken over" if now.owner else "given back"


def _entry(now: LeaseSeen, entries: Sequence[Entry], since: int, by: frozenset[str]) -> int:
    """The number of the entry since then by which it came so; the last of them where none says so.

    ``by`` names the moments that do it. What is sent about the end of a run comes after it.
    """
    found = 0
    for entry in entries[since : now.after]:
        told = now.run in (entry.data.get("run"), entry.data.get("on"))
        if entry.kind == "message" and told and by is ENDING and found:
            break
        by_moment = entry.what in by and (by is ENDING or entry.actor == now.owner)
        by_moment = by_moment or (entry.kind == "tick" and now.run in entry.data.get("of_runs", ()))
        if by_moment or (told and entry.kind == "verb" and entry.status != "refused"):
            found = entry.number
    return found or min(len(entries), max(1, now.after))


def _bar(held: _Held, last: int, ended: str, rows: Sequence[Row], lanes: Lanes) -> Lease:
    seen, first = held.seen, held.first
    last = max(first, last)
    expired = NOWHERE
    if held.expires is not None:
        late = (place for place in range(max(first, held.known), last + 1) if rows[place].at >= held.expires)
        expired = next(late, NOWHERE)
    return Lease(
        lanes.of(seen.owner), seen.run, seen.epoch, first, last, expired, ended, tuple(held.renewals)
    )


def lives_of(entries: Sequence[Entry], table: Table, lanes: Lanes) -> tuple[Life, ...]:
    """From when to when each owner ran and each process lived, as far as the history says."""
    lives: list[Life] = []
    began: dict[int, int] = {}
    touched: dict[int, int] = {}
    for entry in entries:
        row, lane = table.row_of[entry.number], lanes.of(entry.actor)
        reached = target_of(entry)
        if reached is not None and reached[0] is LaneKind.PROCESS:
            process = lanes.of(reached[1])
            began.setdefault(process, row)
            touched[process] = row
        if entry.kind == "world" and entry.what in ENDED and lanes.lanes[lane].kind in LIVING:
            lives.append(Life(lane, began.pop(lane, row), row, ENDED[entry.what]))
            touched.pop(lane, None)
        elif lanes.lanes[lane].kind in LIVING and (entry.what != "heal"):
            began.setdefault(lane, row)
            touched[lane] = row
    end = len(table.rows) - 1
    for lane, row in began.items():
        # An owner that was not closed ran to the end; nobody says when a process that is not mentioned ended.
        owner = lanes.lanes[lane].kind is LaneKind.OWNER
        lives.append(Life(lane, row, end if owner else touched.get(lane, row), ""))
    return tuple(sorted(lives, key=lambda life: (life.lane, life.first)))


LIVING = (LaneKind.OWNER, LaneKind.PROCESS)
