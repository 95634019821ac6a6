"""The one place where edges meet the middle: opens a coordinator on a store, with real ports or others."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from types import TracebackType

from runcoord._bounded import ThreadBounded
from runcoord._clock import SystemClock, SystemIds, SystemSleeper, new_owner_id
from runcoord._coordinator import RunVerbs
from runcoord._core import limits
from runcoord._core.model import Delivery
from runcoord._core.settings import Settings
from runcoord._core.submission import require_count, require_id
from runcoord._executor import Execution, ExecutionReport, Executor, Work
from runcoord._folder_verbs import Folders
from runcoord._late import once
from runcoord._maintenance import Maintenance
from runcoord._outbox import DrainReport, Outbox
from runcoord._supervisor.commanding import Commands
from runcoord._supervisor.folders import folders_beside
from runcoord._ticker import Ticker
from runcoord.errors import InvalidConfiguration
from runcoord.ports import Destination, Homes, Ports, Processes, Store

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from runcoord._importer import Importer
    from runcoord._recoverer import Recoverer, Recovery, SweepReport
    from runcoord._supervisor.running import Supervisor

SQLITE_SCHEME = "sqlite:///"


class Coordinator(RunVerbs, Commands, Folders):
    """A durable run coordinator. Open one with :func:`open_coordinator`, once per process and store.

    Safe to use from several threads. A context manager: leaving it ends its threads and closes the store;
    what it holds stays held until the leases run out.
    """

    def __init__(
        self,
        store: Store,
        ports: Ports,
        owner: str,
        settings: Settings,
        destinations: dict[str, Destination] | None,
        folders: str | None = None,
    ) -> None:
        clock = ports.clock or SystemClock()
        table = ports.processes
        super().__init__(
            store,
            clock,
            ports.ids or SystemIds(),
            owner,
            settings,
            destinations,
            _real_table() if table is None else lambda: table,
        )
        self._ports, self._folders = ports, folders
        self._sleeper = ports.sleeper or SystemSleeper()
        # Of its own: destinations that do not return must not use up what heartbeats need.
        sending = ports.bounded or ThreadBounded(limits.MAX_STUCK_DESTINATIONS)
        self._outbox = Outbox(store, clock, owner, destinations, sending, self.registration)
        self._executor = Executor(self, self._outbox, ports.bounded or ThreadBounded(), self._sleeper)
        self.maintenance = Maintenance(self._outbox, clock, settings.sweep, self._recoverer)
        self.on_event = self.maintenance.deliver_soon
        self._ticker: Ticker | None = None
        self._recoveries: list[Recovery] = []
        """Empty until the first sweep; of several that threads made at once, the first is used by all."""

    # --- recovering and delivering ---

    def startup(self) -> SweepReport:
        """The start call of a program: recover what a dead predecessor left, tell the operator, deliver,
        prune. Then keep doing so: call :meth:`serve`, or tick :attr:`maintenance` yourself."""
        return self.recover()

    def recover(self) -> SweepReport:
        """One recovery sweep now. Started runs whose lease ran out end as interrupted (or as stopped, if
        that was asked for); nothing is executed again."""
        return self.maintenance.sweep()

    def serve(self) -> Coordinator:
        """Sweep and deliver periodically from a thread, until :meth:`close`. Calling it twice changes
        nothing."""
        if self._ticker is None:
            self._ticker = Ticker(self.maintenance, self.clock, "runcoord-maintenance")
            self._ticker.__enter__()
        return self

    def deliver(self) -> DrainReport:
        """Send every event that is due to its destination, until none is left or time is up."""
        return self.maintenance.deliver()

    def dispatch(self, limit: int = limits.DELIVERY_BATCH) -> list[Delivery]:
        """Claim events that are due, to send them by other means; answer each with :meth:`acknowledge`,
        :meth:`postpone` or :meth:`refuse` before its ``until``.

        Raises :class:`~runcoord.errors.InvalidRequest` for a ``limit`` outside 1 to 1,000."""
        require_count("limit", limit, 1, limits.MAX_LIST)
        return self._outbox.dispatch(limit)

    def acknowledge(self, delivery: Delivery) -> None:
        """The destination accepted this attempt. Repeating it changes nothing."""
        self._outbox.acknowledge(delivery)

    def postpone(self, delivery: Delivery, reason: str) -> None:
        """This attempt failed; the event is sent again after a growing wait."""
        self._outbox.postpone(delivery, reason)

    def refuse(self, delivery: Delivery, reason: str) -> None:
        """The destination refused for good; the event is held, visible and replayable."""
        self._outbox.refuse(delivery, reason)

    # --- working ---

    def begin(self, run_id: str) -> Execution:
        """Claim and start a run whose heartbeat the caller ticks."""
        return self._executor.begin(run_id)

    def begin_next(self) -> Execution | None:
        """The same for the oldest run that can be claimed; ``None`` when there is none."""
        return self._executor.begin_next()

    def execute(self, run_id: str, work: Work) -> ExecutionReport:
        """Claim a run, do ``work`` under a renewed lease, record its outcome, deliver its event."""
        return self._executor.execute(run_id, work)

    def execute_next(self, work: Work) -> ExecutionReport | None:
        """The same for the oldest run that can be claimed; ``None`` when there is none."""
        return self._executor.execute_next(work)

    @functools.cached_property
    def commands(self) -> Supervisor:
        """For who drives commands step by step, with clocks of its own; :meth:`run_command` does it all."""
        from runcoord._launching import ShimLauncher
        from runcoord._supervisor.running import Supervisor

        return Supervisor(self, self._executor, self._ports.launcher or ShimLauncher(), self._folders)

    # --- what is made, and loaded, when it is first needed ---

    def _open_homes(self) -> Homes:
        """The machine's own directories, or those of the ports. What the system can do is asked when a home
        is opened."""
        if self._ports.homes is not None:
            return self._ports.homes
        from runcoord._homes import open_homes

        return open_homes()

    @functools.cached_property
    def _importer(self) -> Importer:
        """With threads of its own: homes that hang must not use up what others need."""
        from runcoord._importer import Importer

        bounded = self._ports.bounded or ThreadBounded(limits.MAX_STUCK_HOMES)
        return Importer(self.store, self.clock, self._open_homes, bounded)

    def _recoverer(self, *, by_timer: bool) -> Recoverer:
        made = self._recoveries
        if not made:
            from runcoord._recoverer import Recovery

            probing = self._ports.bounded or ThreadBounded(limits.MAX_STUCK_PROBES)
            made.append(Recovery(self, self._outbox, probing, self._sleeper, lambda: self._importer))
        return made[0].recoverer(self._executor.holds if by_timer else None)

    # --- closing ---

    def close(self) -> None:
        """End the threads and close the store. Closing twice changes nothing.

        A delivery that is under way is waited for, a bounded time, and recorded; nothing more is sent.
        """
        self._outbox.stop()
        if self._ticker is not None:
            self._ticker.stop()
            self._ticker = None
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_coordinator(
    url: str | Path,
    *,
    destinations: Mapping[str, Destination] | None = None,
    settings: Settings | None = None,
    owner: str = "",
    create: bool = True,
    ports: Ports | None = None,
) -> Coordinator:
    """Open the coordinator on the store at ``url``: a path, or ``sqlite:///path``.

    Opening changes nothing of an existing store. A missing one is created, unless ``create`` is false.

    ``destinations`` is the whole table of places that events can go to; events for any other name are held.
    ``None`` (the default) means that this process delivers nothing and leaves events to those that do.
    ``owner`` names this start of this process; the default is unique. Give one only if it is too.

    With ``ports.store`` that store is used, and ``url`` is not looked at.

    Raises :class:`~runcoord.errors.InvalidConfiguration` or :class:`~runcoord.errors.InvalidRequest` before
    anything is opened, :class:`~runcoord.errors.StoreUnavailable`, :class:`~runcoord.errors.StoreDamaged`,
    :class:`~runcoord.errors.StoreTooNew` or :class:`~runcoord.errors.StoreReadOnly`.
    """
    ports = ports or Ports()
    owner = require_id("owner", owner or new_owner_id())
    table = None if destinations is None else _checked(destinations)
    store, folders = ports.store, None
    if store is None:
        from runcoord._stores.sqlite import open_sqlite  # not needed with a store of another kind

        store = open_sqlite(
            _sqlite_path(url),
            clock=ports.clock or SystemClock(),
            sleeper=ports.sleeper or SystemSleeper(),
            create=create,
        )
        folders = folders_beside(url)
    return Coordinator(ports.wrap_store(store), ports, owner, settings or _usual_settings(), table, folders)


_usual_settings = once(Settings)
"""Checked once. Settings cannot be changed, so all who give none share them."""


def _real_table() -> Callable[[], Processes]:
    """The machine's own table of processes, opened when it is first asked for."""

    def table() -> Processes:
        from runcoord._processes import open_processes

        return open_processes()

    return once(table)


def _checked(destinations: Mapping[str, Destination]) -> dict[str, Destination]:
    for name, destination in destinations.items():
        if not isinstance(name, str) or not name or not callable(destination):
            raise InvalidConfiguration(
                f"destination {name!r} is {destination!r}",
                remedy="Map each destination's name to a callable that takes a Message.",
                destination=str(name),
            )
    return dict(destinations)


def _sqlite_path(url: str | Path) -> str:
    if isinstance(url, os.PathLike):
        return os.fspath(url)
    if not isinstance(url, str):
        raise InvalidConfiguration(
            f"{url!r} names no store", remedy=f"Use a file path or {SQLITE_SCHEME}PATH.", url=repr(url)
        )
    path = url.removeprefix(SQLITE_SCHEME)
    if "://" in path or path.startswith((":memory:", "file:")):
        raise InvalidConfiguration(
            f"cannot open a store at {url!r}",
            remedy=f"Use a file path or {SQLITE_SCHEME}PATH; nothing else is durable here.",
            url=url,
        )
    if not path:
        raise InvalidConfiguration("the store's path is empty", remedy="Name a file.", url=url)
    return path
