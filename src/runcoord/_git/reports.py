"""What differs, what was done about it, and how that ended. Values only."""

from __future__ import annotations

import enum
from typing import Any

from runcoord._core.values import value
from runcoord._git.values import Values


class What(enum.StrEnum):
    """What a difference or a step is about."""

    IDENTITY = "identity"
    """``.git`` or the repository is not the one of the snapshot."""
    CONFIG = "config"
    """The values of one key in one file."""
    CONFIG_DAMAGED = "config-damaged"
    """A config file that is gone, cut off, or that git cannot parse."""
    FORMAT = "format"
    """The repository was converted: its format keys describe what is on the disk now."""
    LOCK = "lock"
    """A lock of a config file, new since the snapshot."""
    LOCK_LEFT = "lock-left"
    """Another lock file, of an index or a HEAD, or one that was there before."""
    HEAD = "head"
    HEAD_DAMAGED = "head-damaged"
    """A HEAD that is gone or that git does not accept, so that git sees no repository."""
    SHARED_BRANCH = "shared-branch"
    """Two work trees have the same branch checked out, which git prevents as a rule."""
    REGISTRATION = "registration"
    """A registered worktree, or a file that makes it one, is gone."""
    REGISTRATION_MOVED = "registration-moved"
    """It is registered with another place."""
    WORKTREE_ADDED = "worktree-added"
    """A worktree that was not there before. It is kept."""
    WORKTREE_GONE = "worktree-gone"
    """A worktree's own directory is gone; there is nothing left to register."""
    INDEX = "index"
    BEHAVIOUR = "behaviour"
    REPAIRED = "repaired"
    """git works where it did not at the snapshot. It is left so."""
    UNREADABLE = "unreadable"
    """Something could not be read then or now, so nothing is known about it."""
    FAULT = "fault"
    """An error of runcoord itself."""


@value
class Difference:
    """One thing that is not as it was. ``before`` and ``now`` are the lists of values, or what was seen."""

    what: What
    path: str
    key: str = ""
    before: Values = ()
    now: Values = ()
    detail: str = ""

    def document(self) -> dict[str, Any]:
        return {
            "what": self.what.value,
            "path": self.path,
            "key": self.key,
            "before": list(self.before),
            "now": list(self.now),
            "detail": self.detail,
        }


class Result(enum.StrEnum):
    """What became of one step of a restoration."""

    DONE = "done"
    REPORTED = "reported"
    """It differs, and is none of the things that are put back."""
    SKIPPED = "skipped"
    """It could have been put back, but the snapshot does not hold it, or nothing is left to put it into."""
    REFUSED = "refused"
    """A rule forbade it, so that no other repository and no living process is harmed."""
    FAILED = "failed"


@value
class Step:
    """What became of one difference."""

    result: Result
    difference: Difference
    why: str = ""

    def document(self) -> dict[str, Any]:
        return {"result": self.result.value, **self.difference.document(), "why": self.why}


class Outcome(enum.StrEnum):
    """How a restoration ended."""

    AS_BEFORE = "as-before"
    """Nothing was to be done, and nothing was changed."""
    RESTORED = "restored"
    """Changed back, read again, and git behaves as before."""
    UNVERIFIED = "unverified"
    """Everything that could be compared is as before, but something could not be."""
    NOT_RESTORED = "not-restored"
    """Something is still different."""
    REFUSED = "refused"
    """Nothing was written, because the repository is not the one of the snapshot."""


@value
class RestoreReport:
    """What a restoration did."""

    directory: str
    top: str
    outcome: Outcome
    steps: tuple[Step, ...] = ()
    changed: int = 0
    """Things that were written or moved."""
    git_processes: int = 0
    seconds: float = 0.0

    @property
    def settled(self) -> bool:
        """True when the state is proved to be as before."""
        return self.outcome in {Outcome.AS_BEFORE, Outcome.RESTORED}

    def document(self) -> dict[str, Any]:
        return {
            "directory": self.directory,
            "top": self.top,
            "outcome": self.outcome.value,
            "settled": self.settled,
            "changed": self.changed,
            "git_processes": self.git_processes,
            "seconds": round(self.seconds, 6),
            "steps": [each.document() for each in self.steps],
        }


class Agreement(enum.StrEnum):
    """How a state compares with the one before."""

    AS_BEFORE = "as-before"
    DIFFERS = "differs"
    """Something is not as it was, and git works everywhere as before."""
    BROKEN = "broken"
    """git does not work as before, or will not: a restoration would have something to do, or be refused."""
    UNKNOWN = "unknown"
    """Nothing broken was seen, but something could not be compared."""


@value
class DriftReport:
    """How the state after a run compares with the one before it. Nothing was written."""

    directory: str
    top: str
    agreement: Agreement
    differences: tuple[Difference, ...] = ()
    git_processes: int = 0
    seconds: float = 0.0

    @property
    def works(self) -> bool:
        """True when git was seen to work everywhere as before, whatever else differs."""
        return self.agreement in {Agreement.AS_BEFORE, Agreement.DIFFERS}

    def document(self) -> dict[str, Any]:
        return {
            "directory": self.directory,
            "top": self.top,
            "agreement": self.agreement.value,
            "works": self.works,
            "git_processes": self.git_processes,
            "seconds": round(self.seconds, 6),
            "differences": [each.document() for each in self.differences],
        }
