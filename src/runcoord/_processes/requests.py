"""What every table refuses: numbers that do not mean one process of a run."""

from __future__ import annotations

from runcoord._core.identity import is_pid
from runcoord._core.limits import MAX_PID
from runcoord._core.teardown import Membership
from runcoord.errors import InvalidRequest


def require_pid(pid: object) -> None:
    """Refuse what is no pid of a process of a run, with ``InvalidRequest``."""
    if not is_pid(pid):
        raise InvalidRequest(
            f"{pid!r:.40} is no pid of a process of a run",
            remedy=f"It is a whole number from 2 to {MAX_PID}.",
            pid=repr(pid)[:40],
        )


def require_membership(members: Membership, own: frozenset[int], itself: int) -> None:
    """Refuse clues that would make strangers, or ourselves, members; with ``InvalidRequest``.

    Our own session is a clue only if we lead it, as the process does that a run's tree hangs on.
    """
    for name in ("group", "session", "ancestor", "former_group"):
        number = getattr(members, name)
        if number != 0:
            _require_number(name, number)
    if members.group:
        require_group(members.group, own)
    if members.session and members.session in own and members.session != itself:
        raise InvalidRequest(
            f"session {members.session} is the one of this process, which others share",
            remedy="Leave it out, or let the run's tree begin a session.",
            session=members.session,
        )


def require_group(group: int, own: frozenset[int]) -> None:
    """Refuse a group that must never be signalled from here."""
    _require_number("group", group)
    if group in own:
        raise InvalidRequest(
            f"group {group} is the one of this process: it is not signalled",
            remedy="Give the group that the run's first process leads.",
            group=group,
        )


def _require_number(name: str, number: object) -> None:
    if not is_pid(number):
        raise InvalidRequest(
            f"{name} {number!r:.40} is no number of a run's {name}",
            remedy=f"It is a whole number from 2 to {MAX_PID}; 0 for none.",
            clue=name,
            number=repr(number)[:40],
        )
