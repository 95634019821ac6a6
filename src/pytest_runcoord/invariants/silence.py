"""The invariant about what must not change anything."""

from __future__ import annotations

from pytest_runcoord.history import Entry
from pytest_runcoord.invariants.base import Invariant
from pytest_runcoord.subject import Snapshot

SEVERAL_STEPS = frozenset(
    {"supervise", "execute", "effect", "finish", "startup", "recover", "deliver", "dispatch"}
)
"""Verbs that do several things in turn: what came before the refusal stands."""


class NothingUnasked(Invariant):
    id = "nothing-unasked"
    says = (
        "Opening, closing, reading and refusals change nothing that is durable; opening and closing where "
        "that is promised."
    )

    hears = frozenset({"verb", "world"})

    def __init__(self, *world: object) -> None:
        super().__init__(*world)  # type: ignore[arg-type]
        self._quiet = "quiet" in self.world.subject.capabilities

    def see(self, entry: Entry, before: Snapshot) -> None:
        if entry.changed is None or entry.what in SEVERAL_STEPS:
            return
        if entry.kind == "world" and not self._quiet:
            return  # somebody who opens or closes may hand on what is his own
        self.exercised += 1
        if entry.changed:
            refused = f", refused as {entry.data.get('code')}," if entry.status == "refused" else ""
            self.fail(
                f"{entry.what} by {entry.actor}{refused} changed what is stored",
                expected="the same runs and events as before",
                seen="others",
            )
