"""Who has a lane of their own, and in which lane an entry of the history belongs."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_runcoord.history import Entry
from pytest_runcoord.moments import TRANSACTIONS
from pytest_runcoord.picture.model import NOWHERE, Lane, LaneKind
from pytest_runcoord.world_errors import printable

STORE, AROUND = "store", "around"
MOST = {LaneKind.OWNER: 8, LaneKind.DESTINATION: 4, LaneKind.PROCESS: 8}
"""Lanes of each kind: more cannot be followed by eye, and those that came later share the last one."""
OF_OTHERS = {LaneKind.OWNER: "+owners", LaneKind.DESTINATION: "+destinations", LaneKind.PROCESS: "+processes"}
PROCESS_EVENTS = frozenset({"starts", "exit", "killed", "gets the pid", "stopped", "continued"})
BEGINS = ("spawn ", "fork ")
COMMITS = frozenset(f"after-{name}" for name in TRANSACTIONS)


def target_of(entry: Entry) -> tuple[LaneKind, str] | None:
    """Whom an entry reaches beside the one that does it."""
    if entry.kind == "message":
        return LaneKind.DESTINATION, str(entry.data.get("destination", ""))
    if entry.kind == "signal":
        return LaneKind.PROCESS, entry.what.partition(" to ")[2]
    if entry.kind == "world" and entry.what.startswith(BEGINS):
        return LaneKind.PROCESS, entry.what.partition(" ")[2]
    if entry.kind == "verb" and entry.data.get("process") and entry.status == "ok":
        return LaneKind.PROCESS, str(entry.data["process"])
    return None


class Lanes:
    """The lanes of one history: around, owners, the store, destinations, processes."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        names: dict[LaneKind, dict[str, None]] = {kind: {} for kind in LaneKind}
        for entry in entries:
            reached = target_of(entry)
            if reached is not None:
                names[reached[0]].setdefault(reached[1])
            if entry.kind in ("verb", "moment", "tick", "message") or entry.what in ("open", "heal"):
                names[LaneKind.OWNER].setdefault(entry.actor)
                names[LaneKind.STORE].setdefault(STORE)
            elif entry.kind == "signal" or entry.what in PROCESS_EVENTS or entry.what.startswith("fork "):
                names[LaneKind.PROCESS].setdefault(entry.actor)
            elif entry.what.startswith(("is ", "accepted elsewhere")):
                names[LaneKind.DESTINATION].setdefault(entry.actor)
            elif not any(entry.actor in known for known in names.values()):
                names[LaneKind.AROUND].setdefault(AROUND)
        # Who is known as one thing is not shown as another: an owner signals, its process gets signals.
        owners = names[LaneKind.OWNER]
        for kind in (LaneKind.PROCESS, LaneKind.DESTINATION):
            names[kind] = {name: None for name in names[kind] if name not in owners}
        self.lanes: list[Lane] = []
        self._places: dict[str, int] = {}
        for kind in LaneKind:
            self._add(kind, list(names[kind]))
        acting = [place for place, lane in enumerate(self.lanes) if lane.kind is LaneKind.AROUND]
        self._around = acting[0] if acting else 0

    def _add(self, kind: LaneKind, names: list[str]) -> None:
        most = MOST.get(kind, len(names))
        shown = names if len(names) <= most else names[: most - 1]
        for name in shown:
            self._places[name] = len(self.lanes)
            self.lanes.append(Lane(printable(name), kind))
        if len(names) > len(shown):
            for name in names[len(shown) :]:
                self._places[name] = len(self.lanes)
            self.lanes.append(Lane(OF_OTHERS[kind], kind))

    def of(self, name: str) -> int:
        """The lane of one who acts; that of everything around where it has none."""
        return self._places.get(name, self._around)

    def reached(self, entry: Entry) -> int:
        """The lane that an entry reaches, if it is another one than its own."""
        found = target_of(entry)
        if found is None:
            return NOWHERE
        place = self._places.get(found[1], NOWHERE)
        return NOWHERE if place == self.of(entry.actor) else place
