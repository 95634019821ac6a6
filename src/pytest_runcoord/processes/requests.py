"""What every table refuses: numbers that do not mean one process of a run."""

from __future__ import annotations

import signal
from collections.abc import Collection

from runcoord.errors import InvalidRequest
from runcoord.ports import Membership, is_pid


def require_pid(pid: object) -> None:
    """Refuse what is no pid of a process of a run, with ``InvalidRequest``."""
    _require_number("pid", pid)


def require_not_own(number: int, own: Collection[int]) -> None:
    """Refuse to signal this process, its group or its session."""
    if number in own:
        raise InvalidRequest(
            f"{number} is this process, its group, its session or init: it is not signalled", pid=number
        )


def require_signal(number: object) -> None:
    """Refuse what is no signal; 0 is one, which does nothing."""
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < signal.NSIG:
        raise InvalidRequest(f"{number!r:.40} is no signal", signal=repr(number)[:40])


def require_membership(members: Membership, own: Collection[int], itself: int) -> None:
    """Refuse clues that would make strangers, or ourselves, members. Our own session is one only if we lead
    it, as the process does that a run's tree hangs on."""
    for name in ("group", "session", "ancestor"):
        number = getattr(members, name)
        if number != 0 or isinstance(number, bool):
            _require_number(name, number)
    if members.group:
        require_not_own(members.group, own)
    if members.session in own and members.session != itself:
        raise InvalidRequest(
            f"session {members.session} is the one of this process, which others share",
            session=members.session,
        )


def _require_number(name: str, number: object) -> None:
    if not is_pid(number):
        raise InvalidRequest(
            f"{name} {number!r:.40} is not the number of a {name} of a run",
            remedy="Nothing is signalled; correct the record.",
            clue=name,
            number=repr(number)[:40],
        )
