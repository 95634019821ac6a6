"""Which processes of a simulated table belong to a run, as somebody in one place can see it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from pytest_runcoord.processes.process import SimProcess
from runcoord.ports import Found, Membership, Scope
from runcoord.values import field, record

_COOKIE = re.compile("[0-9a-f]{32}")


@record
class Members:
    """What one pass over a table found."""

    found: dict[SimProcess, set[Found]] = field(default_factory=dict)
    spared: dict[SimProcess, set[Found]] = field(default_factory=dict)
    unreadable: int = 0


def members_among(
    processes: Collection[SimProcess],
    members: Membership,
    *,
    is_recorded: Callable[[SimProcess], bool],
    never: Collection[int],
) -> Members:
    """Find the members of a run. ``never`` are pids that are none, whatever is known of them."""
    alive = [each for each in processes if not each.ended]
    seen = Members()

    def add(process: SimProcess, way: Found) -> None:
        if process.pid not in never:
            seen.found.setdefault(process, set()).add(way)

    for process in alive:
        if is_recorded(process):
            add(process, Found.RECORDED)
        if members.group and process.group == members.group:
            add(process, Found.GROUP)
        if members.scope is Scope.TREE and members.session and process.session == members.session:
            add(process, Found.SESSION)
    if members.scope is Scope.TREE:
        there = set(alive)
        _descend(list(seen.found), seen, there, never)
        _descend([each for each in alive if each.pid == members.ancestor], seen, there, never)
        _find_by_cookie(alive, members.cookie, seen, there, never)
    elif members.former_group and members.cookie:
        for process in alive:
            if process.group == members.former_group and process.pid not in never:
                if belongs(process, members.cookie):
                    seen.found.setdefault(process, set()).update((Found.GROUP, Found.COOKIE))
                seen.unreadable += process.unreadable and process not in seen.found
    _spare(members, seen)
    return seen


def _descend(
    open_ends: list[SimProcess], seen: Members, there: set[SimProcess], never: Collection[int]
) -> None:
    """Everything below these, to the end of every line; of those that were ``there`` when it began."""
    while open_ends:
        for child in open_ends.pop().children:
            ways = seen.found.get(child, set())
            if child not in there or child.pid in never or Found.DESCENDANT in ways:
                continue
            seen.found.setdefault(child, set()).add(Found.DESCENDANT)
            open_ends.append(child)


def _find_by_cookie(
    alive: list[SimProcess], cookie: str, seen: Members, there: set[SimProcess], never: Collection[int]
) -> None:
    if not cookie:
        return
    for process in alive:
        if process in seen.found or process.pid in never:
            continue
        if process.unreadable:
            seen.unreadable += 1
        elif belongs(process, cookie):
            seen.found.setdefault(process, set()).add(Found.COOKIE)
            _descend([process], seen, there, never)


def _spare(members: Membership, seen: Members) -> None:
    """What was handed over is no member, nor is anything below it."""
    if not members.spared:
        return
    marked = []
    for process, ways in seen.found.items():
        if process.unreadable:
            seen.unreadable += 1
            continue
        if belongs(process, members.cookie):
            ways.add(Found.COOKIE)
        if handed_over(process, members.spared):
            marked.append(process)
    while marked:
        process = marked.pop()
        ways = seen.found.pop(process, set())
        if process not in seen.spared:
            seen.spared[process] = ways
            marked += [child for child in process.children if child in seen.found]


def belongs(process: SimProcess, cookie: str) -> bool:
    """Whether the cookie can be read as an element of a well-formed line in its environment."""
    if not cookie or process.unreadable:
        return False
    line = process.cookies
    return cookie in line and all(_COOKIE.fullmatch(each) for each in line)


def handed_over(process: SimProcess, cookie: str) -> bool:
    """Whether it is to outlive the run with this cookie."""
    return not process.unreadable and process.environment.get("RUNCOORD_HANDED_OVER") == cookie


def claimed_by(members: Membership) -> str:
    """For which run somebody looks: its cookie, as far as that is known."""
    return members.cookie or next((each.cookie for each in members.recorded if each.cookie), "")
