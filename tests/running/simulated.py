"""A machine of simulated processes with a coordinator on it, on a clock that a test moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from library.failing_store import FailingStore
from pytest_runcoord.processes import Place, SimProcesses, SimTable
from pytest_runcoord.processes.launching import SimLauncher
from pytest_runcoord.processes.plans import Plan
from runcoord import Coordinator, Message, Ports, open_coordinator
from runcoord._supervisor.accepting import Intake
from runcoord._supervisor.command import CommandRun
from runcoord._supervisor.running import order_of
from runcoord.ports import LaunchOrder, Store
from runcoord.testing import CountingIds, ManualClock

T = TypeVar("T")


class Directly:
    """Bounded calls that answer at once."""

    def call(self, seconds: float, call: Callable[[], T]) -> T:
        return call()


class Quiet:
    """A probe that nothing happens at."""

    def reach(self, moment: str, **data: object) -> None: ...

    def fault(self, verb: str) -> str | None:
        return None

    def hang(self) -> None: ...

    def send(self, message: Message) -> None: ...


@dataclass
class Sleeper:
    """Waiting lets time pass, and what is due in the table happen."""

    clock: ManualClock
    table: SimTable

    def sleep(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.table.settle()


@dataclass
class Machine:
    """One machine, one store, and programs by name."""

    directory: Path
    programs: dict[str, Plan] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.clock = ManualClock()
        self.table = SimTable(self.clock)
        self.sleeper = Sleeper(self.clock, self.table)
        self.store_fails: FailingStore | None = None
        self.opened: list[Coordinator] = []
        self._ids = CountingIds()

    def coordinator(self, owner: str = "gw") -> Coordinator:
        own = self.table.start(owner, place=Place(host="here"), environment={}, name="gateway")
        processes = SimProcesses(self.table, own, Quiet(), self.sleeper, by=owner)
        ports = Ports(
            clock=self.clock,
            ids=self._ids,
            sleeper=self.sleeper,
            bounded=Directly(),
            processes=processes,
            launcher=SimLauncher(self, processes, self.sleeper, Directly()),
            wrap_store=self._wrapped,
        )
        opened = open_coordinator(self.directory / "runs.db", owner=f"{owner}:1", ports=ports)
        self.opened.append(opened)
        return opened

    def _wrapped(self, store: Store) -> Store:
        self.store_fails = FailingStore(store)
        return self.store_fails

    def command(
        self, coordinator: Coordinator, name: str = "sleep", intake: Intake | None = None, **order: Any
    ) -> CommandRun:
        given = order_of([name], directory=self.directory, environment={"PATH": "/usr/bin:/bin"}, **order)
        intake = intake or Intake()
        return coordinator.commands.command(coordinator.commands.launch(given, intake.run_id), intake)

    def advance(self, seconds: float, command: CommandRun) -> None:
        """Time passes, and the command is ticked whenever that is due."""
        end = self.clock.boottime() + seconds
        while (due := command.next_due()) is not None and due <= end:
            self.sleeper.sleep(max(0.0, due - self.clock.boottime()))
            command.tick()
        self.sleeper.sleep(max(0.0, end - self.clock.boottime()))
        command.tick()

    def living(self) -> list[str]:
        return [each.label for each in self.table.living() if not each.label.startswith("gw")]

    # --- what the launcher asks; see pytest_runcoord.processes.launching.Launching ---

    def label_for(self, order: LaunchOrder) -> str:
        return order.argv[0]

    def shim_label_for(self, order: LaunchOrder) -> str:
        return f"{order.argv[0]}-shim"

    def run_of(self, cookie: str) -> str:
        return cookie
