"""What may be asked of one run. Plain values; :mod:`runcoord._core.decide` answers them."""

from __future__ import annotations

from dataclasses import dataclass

from runcoord._core.model import Lease, Outcome


@dataclass(frozen=True, slots=True)
class Claim:
    """Become the owner of an accepted run, to start its work."""

    owner: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Start:
    """Record that the work begins. Before this nothing of the run may execute."""

    lease: Lease


@dataclass(frozen=True, slots=True)
class Renew:
    lease: Lease


@dataclass(frozen=True, slots=True)
class Reacquire:
    """Take a lease that ran out once more, if nobody acquired the run since."""

    lease: Lease


@dataclass(frozen=True, slots=True)
class Release:
    """Give back a claimed run whose work has not begun."""

    lease: Lease


@dataclass(frozen=True, slots=True)
class Progress:
    lease: Lease
    text: str


@dataclass(frozen=True, slots=True)
class Publish:
    """Write an event other than the terminal one."""

    lease: Lease
    body: str


@dataclass(frozen=True, slots=True)
class Complete:
    lease: Lease
    outcome: Outcome
    result: str = ""
    error: str = ""
    deliverer: str = ""
    """Owner to whom the first delivery attempt of the terminal event belongs at once, if ``serves`` has its
    destination; saves a commit."""
    serves: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Stop:
    reason: str


@dataclass(frozen=True, slots=True)
class Recover:
    """End a started run whose lease ran out. ``retry_id`` is the id for an automatic retry, if due."""

    owner: str
    retry_id: str


Request = Claim | Start | Renew | Reacquire | Release | Progress | Publish | Complete | Stop | Recover
