"""A coordinator as it is opened by default, on a file, with a clock that the test moves."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path

from runcoord import Coordinator, DestinationRefused, Lease, Message, Settings, open_coordinator
from runcoord.ports import Change, Deadline, EventState, Ports
from runcoord.testing import ManualClock, ManualSleeper
from runcoord.testing import contract_case as rows


class Places:
    """Destinations that do what ``moods`` says, and remember what they were offered and what they took."""

    def __init__(self, clock: ManualClock, *names: str) -> None:
        self._clock = clock
        self.moods: dict[str, str | float] = dict.fromkeys(names, "takes")
        """``takes``, ``is down``, ``refuses``, or the seconds that each message takes."""
        self.offered: list[Message] = []
        self.taken: list[Message] = []
        self.table: Mapping[str, Callable[[Message], None]] = dict.fromkeys(names, self.offer)

    def offer(self, message: Message) -> None:
        self.offered.append(message)
        mood = self.moods[message.destination]
        if mood == "is down":
            raise ConnectionError("down")
        if mood == "refuses":
            raise DestinationRefused("no such room")
        if not isinstance(mood, str):
            self._clock.advance(mood)
        self.taken.append(message)

    def ids(self, destination: str = "") -> list[str]:
        """Ids of the events that were taken, by one destination or by all."""
        return [each.event_id for each in self.taken if destination in ("", each.destination)]


def opened(
    path: Path,
    clock: ManualClock,
    places: Places | None = None,
    *,
    settings: Settings | None = None,
    ports: Ports | None = None,
    owner: str = "",
) -> Coordinator:
    return open_coordinator(
        path,
        destinations=None if places is None else places.table,
        settings=settings,
        owner=owner,
        ports=ports or Ports(clock=clock, sleeper=ManualSleeper(clock)),
    )


def running(coordinator: Coordinator, run_id: str, destination: str = "chat", **fields: object) -> Lease:
    """A run whose work has begun."""
    coordinator.submit(run_id=run_id, destination=destination, **fields)  # type: ignore[arg-type]
    lease = coordinator.claim(run_id)
    coordinator.start(lease)
    return lease


def ended(coordinator: Coordinator, run_id: str, destination: str = "chat", **fields: object) -> None:
    """A run that ended, with its event waiting."""
    coordinator.submit(run_id=run_id, destination=destination, **fields)  # type: ignore[arg-type]
    coordinator.stop(run_id)


def states(coordinator: Coordinator) -> dict[str, str]:
    """Every event, and what became of it."""
    return {event.event_id: event.state.value for event in coordinator.events(limit=1_000).events}


def damage(path: Path, statement: str, *params: object) -> None:
    """What a hand, or another program, does to the file."""
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(statement, params).rowcount > 0


# --- many at once, in one commit ------------------------------------------------------------------


def fill(coordinator: Coordinator, changes: Iterable[Change]) -> None:
    with coordinator.store.transaction("fill") as tx:
        tx.save(list(changes))


def many_waiting(coordinator: Coordinator, clock: ManualClock, count: int, to: str = "chat") -> list[str]:
    """Finished runs whose events are due; the ids of the events."""
    ids = [f"{to}-{number:05d}" for number in range(count)]
    due = Deadline.after(clock.now(), 0.0)
    fill(
        coordinator,
        (
            Change(
                run=rows.finished(run_id, clock.wall()),
                new_events=(rows.event(f"{run_id}/finished", due, destination=to),),
            )
            for run_id in ids
        ),
    )
    return [f"{run_id}/finished" for run_id in ids]


def many_done(coordinator: Coordinator, count: int) -> None:
    """Finished runs whose events were delivered long ago."""
    due = Deadline(0.0, 0.0, "boot-0")
    fill(
        coordinator,
        (
            Change(
                run=rows.finished(f"done-{number:05d}", 1_000.0 + number),
                new_events=(rows.event(f"done-{number:05d}/finished", due, EventState.DELIVERED),),
            )
            for number in range(count)
        ),
    )


def many_running(
    coordinator: Coordinator, clock: ManualClock, count: int, seconds: float, name: str = "live"
) -> list[str]:
    """Runs at work, under leases that end in so many seconds."""
    ids = [f"{name}-{number:05d}" for number in range(count)]
    until = Deadline.after(clock.now(), seconds)
    fill(coordinator, (Change(run=rows.running(run_id, until)) for run_id in ids))
    return ids
