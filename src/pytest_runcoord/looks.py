"""What the invariants looked at, kept for who draws it if the scenario fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_runcoord.subject import Snapshot

MAX_RUNS_DRAWN = 64
"""Runs whose leases are followed; the bars of more would cover each other."""
MAX_LOOKS = 5_000
"""Snapshots that are kept: far more than a picture shows, and some megabytes at most."""


class Look:
    """A snapshot that differs from the one before it. ``after``: entries that the history had by then."""

    __slots__ = ("after", "boot_id", "snapshot")

    def __init__(self, after: int, boot_id: str, snapshot: Snapshot) -> None:
        self.after, self.boot_id, self.snapshot = after, boot_id, snapshot
