"""Which processes of a simulated table belong to a run, as somebody in one place can see it."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pytest_runcoord.processes.process import SimProcess
from runcoord.ports import Found, Membership, ProcessIdentity, Scope


def members_among(
    processes: Iterable[SimProcess],
    members: Membership,
    *,
    recorded: Collection[int],
    never: Collection[int],
) -> tuple[dict[SimProcess, set[Found]], list[SimProcess], int]:
    """Members with the ways in which each was found, those that were handed over, and how many could not be
    seen through. ``recorded`` are the serials of recorded processes, ``never`` pids that are no members."""
    alive = [each for each in processes if not each.ended and each.pid not in never]
    clues = {each: _clues(each, members, each.serial in recorded) for each in alive}
    found = {each: ways for each, ways in clues.items() if ways}
    if members.scope is Scope.TREE:
        _add_descendants(alive, found, members)
    spared = _spared(alive, members.spared)
    unreadable = sum(1 for each in alive if each.environment_closed and each not in found)
    kept = {each: ways for each, ways in found.items() if each not in spared}
    return kept, [each for each in alive if each in spared], unreadable if members.cookie else 0


def _clues(process: SimProcess, members: Membership, recorded: bool) -> set[Found]:
    found = set()
    if recorded:
        found.add(Found.RECORDED)
    if members.group and process.group == members.group:
        found.add(Found.GROUP)
    if members.scope is Scope.GROUP:
        return found
    if members.session and process.session == members.session:
        found.add(Found.SESSION)
    if process.belongs(members.cookie):
        found.add(Found.COOKIE)
    return found


def _add_descendants(
    alive: list[SimProcess], found: dict[SimProcess, set[Found]], members: Membership
) -> None:
    """Whoever has the run's subreaper or a member above it, to the end of every line."""
    known = set(found)
    for process in alive:
        for above in process.line():
            if (members.ancestor and above.pid == members.ancestor) or above in known:
                found.setdefault(process, set()).add(Found.DESCENDANT)
                break


def _spared(alive: list[SimProcess], marker: str) -> set[SimProcess]:
    if not marker:
        return set()
    marked = {each for each in alive if each.environment.get("RUNCOORD_HANDED_OVER") == marker}
    return marked | {each for each in alive if any(above in marked for above in each.line())}


def claimed_by(members: Membership) -> str:
    """For which run somebody looks: its cookie, as far as that is known."""
    return members.cookie or next((each.cookie for each in members.recorded if each.cookie), "")


def without_cookie(identity: ProcessIdentity, cookie: str) -> ProcessIdentity:
    """The identity with what was found of the cookie that was looked for."""
    return ProcessIdentity(identity.pid, identity.start, identity.habitat, identity.handle, cookie)
