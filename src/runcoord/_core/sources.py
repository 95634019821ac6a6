"""Where an imported run comes from, and what is known of run folders that were refused.

What an untrusted file says of routing or of processes is a claim: shown, never acted on.
"""

from __future__ import annotations

import enum

from runcoord._core.values import value


class SourceState(enum.StrEnum):
    """What is left to do about the folder of an imported run."""

    OPEN = "open"
    """It has no tombstone; it gets one when the run's event was delivered."""
    CLOSED = "closed"
    """It has a tombstone: it was history when it was imported, or was tombstoned since."""
    GONE = "gone"
    """It is not there any more, so that the row may be pruned like any other."""


@value
class KeptResult:
    """A result that stays in the folder; see :meth:`Coordinator.read_result`."""

    file: str
    size: int
    """Bytes, when it was imported."""


@value
class Claims:
    """What the folder says and nobody acts on: where its event should go, what it belonged to, and which
    process worked on it. Nobody is ever signalled for such a number."""

    destination: str = ""
    conversation_key: str = ""
    pid: int | None = None
    pid_recorded_at: float | None = None


@value(slots=False)  # no slots: see evolving.py
class Source:
    """The folder that a run was imported from. It has the run's id as its name."""

    root: str
    """Resolved path of the directory that the folder is in."""
    mark: str
    """Of its state file: changes when the file does."""
    state: SourceState
    imported_at: float
    result: KeptResult | None = None
    claims: Claims = Claims()
    notes: tuple[str, ...] = ()
    """What was left out or cut on the way in, and why."""
    below: str = "."
    """Where the root is below its home, which alone is trusted: from there on no link is followed."""


@value
class RefusedFolder:
    """A folder that was not imported, remembered so that it is looked at again only when it changed."""

    root: str
    name: str
    mark: str
    kind: str
    reason: str
    seen_at: float


@value
class KnownFolders:
    """What the store knows of the folders of one root, in a range of names."""

    marks: dict[str, str]
    """Of imported runs by name, in its order: the marks of their state files."""
    gone: frozenset[str]
    """Those of them whose folders were not there at the last look."""
    refused: dict[str, RefusedFolder]
    upto: str
    """Up to this name it is complete."""


@value
class ClosableFolders:
    """Folders of a root whose runs have nothing left to tell, in the order of their names."""

    delivered: tuple[str, ...]
    """Without a tombstone."""
    old: tuple[str, ...]
    """With one, of runs that ended before a given time."""
