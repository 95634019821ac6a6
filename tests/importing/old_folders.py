"""Homes with run folders as an earlier program left them, and coordinators that import them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from runcoord import Coordinator, Settings, open_coordinator
from runcoord.ports import Homes, Ports
from runcoord.testing import ManualClock, ManualSleeper

from .watched_homes import WatchedHomes

STARTED = 1_600_000_000.0


class Home:
    """One home; the folders are in ``runs``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.root = path / "runs"
        self.root.mkdir(parents=True)

    def folder(
        self, name: str, *, tombstone: dict[str, Any] | None = None, result: str = "", **state: Any
    ) -> Path:
        """A folder of a run, under way unless it has a tombstone."""
        folder = self.root / name
        folder.mkdir()
        said = {
            "id": name,
            "agent": "coder",
            "task": "mend it",
            "conversation_key": "c-1",
            "parent_session": "dashboard:main",
            "started": STARTED,
            "updated_at": STARTED + 60,
            "pid": 4_242,
            "pid_recorded_at": STARTED + 1,
        }
        (folder / "state.json").write_text(json.dumps({**said, **state}))
        if tombstone is not None:
            (folder / "tombstone.json").write_text(json.dumps(tombstone))
        if result:
            (folder / "result.txt").write_text(result)
        return folder

    def folders(self, count: int, name: str = "old") -> list[str]:
        """So many folders that were under way."""
        names = [f"{name}-{number:05d}" for number in range(count)]
        for each in names:
            self.folder(each)
        return names

    def bytes(self) -> dict[str, bytes]:
        """All files there are, to see that nothing changed."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
        }


def opened(
    path: Path,
    clock: ManualClock,
    *,
    homes: Homes | None = None,
    settings: Settings | None = None,
    **destinations: Any,
) -> Coordinator:
    """A coordinator on the default store, with a clock that the test moves."""
    return open_coordinator(
        path,
        destinations=destinations,
        settings=settings,
        ports=Ports(clock=clock, sleeper=ManualSleeper(clock), homes=homes or WatchedHomes()),
    )


def events_of(coordinator: Coordinator) -> dict[str, str]:
    """Every event and what became of it."""
    return {event.event_id: event.state.value for event in coordinator.events(limit=1_000).events}
