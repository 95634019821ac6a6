"""What the process fixtures give: a described tree, reuse of pids, a reboot."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pytest_runcoord.patching import real_processes
from pytest_runcoord.patching.guard import KillGuard
from pytest_runcoord.patching.patched import simulated
from pytest_runcoord.patching.popen import OWNED, Program, Programs
from pytest_runcoord.patching.simulated_os import BY, SimulatedOs
from pytest_runcoord.processes import Life, SignalSent, SimProcess, SimTable, signal_name
from pytest_runcoord.processes.plans import Plan, plans_from, plant
from runcoord.testing import ManualClock


@dataclass(frozen=True, slots=True)
class Simulated:
    """One process of the simulation."""

    process: SimProcess
    _tree: ProcessTree

    @property
    def name(self) -> str:
        return self.process.label

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def alive(self) -> bool:
        """It has not ended; a zombie has."""
        self._tree.table.settle()
        return not self.process.ended

    @property
    def reaped(self) -> bool:
        """It has ended, and its parent has asked how."""
        self._tree.table.settle()
        return self.process.life is Life.REAPED

    @property
    def status(self) -> int | None:
        """How it ended: its exit status, or minus the signal that ended it; ``None`` while it lives."""
        self._tree.table.settle()
        return self.process.status

    @property
    def signals(self) -> list[str]:
        """Signals that were sent to it, such as ``SIGTERM``, in order; refused ones are not among them."""
        return [
            each.signal
            for each in self._tree.sent
            if each.process is self.process and each.number and each.result == "sent"
        ]

    def exit(self, status: int = 0) -> None:
        """It ends by itself."""
        self._tree.table.exit(self.process, status)

    def __repr__(self) -> str:
        return repr(self.process)


class PidReuse(Protocol):
    """How a pid is used anew."""

    def __call__(self, name: str, *, same_tick: bool = True, stranger: str = "stranger") -> Simulated: ...


class Reboot(Protocol):
    """How the machine restarts."""

    def __call__(self, seconds: float = 30.0) -> None: ...


class ProcessTree:
    """Simulated processes of one test. Called with a description it starts them, as children of the test.

    ``tree["worker"]`` is one of them, ``tree.guard`` refuses signals to anything else, ``tree.proc`` is the
    fake ``/proc``.
    """

    def __init__(self, clock: ManualClock, directory: Path) -> None:
        self.clock = clock
        self.guard = KillGuard(before=real_processes.everybody() - real_processes.own_children())
        self.table = SimTable(clock)
        self.sent: list[SignalSent] = []
        self.table.signal_watchers.append(self.sent.append)
        self.system = SimulatedOs(self.table, clock, self.guard)
        self.programs = Programs()
        self.proc = directory

    def __call__(self, description: object) -> ProcessTree:
        """Start what is described. ``ValueError`` for an unknown word, or a name that is taken."""
        plans = plans_from(description)
        for plan in plans:
            self._require_new(plan)
        for plan in plans:
            plant(self.table, plan, self.system.own, run=OWNED)
        return self

    def __getitem__(self, name: str) -> Simulated:
        return Simulated(self._find(name), self)

    def program(
        self, name: str, description: object = None, *, stdout: bytes = b"", stderr: bytes = b""
    ) -> None:
        """Declare what happens when the command ``name`` is started: its words, as in a description, and what
        it writes."""
        [plan] = plans_from({name: description})
        self.programs.by_name[name] = Program(plan, stdout, stderr)

    def stranger(self, name: str, *, pid: int = 0, start: int | None = None) -> Simulated:
        """Start a process that the test does not own: signalling it fails the test."""
        return Simulated(self.table.start(name, pid=pid, start=start), self)

    @property
    def alive(self) -> list[str]:
        """Names of the test's own processes that live, in the order of their start."""
        return [each.label for each in self.table.living() if each.run == OWNED]

    @property
    def signals(self) -> list[tuple[str, str]]:
        """Every signal that was sent: the name of the process, and of the signal."""
        return [
            (each.process.label, signal_name(each.number))
            for each in self.sent
            if each.number and each.result == "sent"
        ]

    def reuse(self, name: str, *, same_tick: bool = True, stranger: str = "stranger") -> Simulated:
        """The process ends and is reaped, and a stranger gets its pid; see ``runcoord_pid_reuse``.

        ``ValueError`` while another process is in the group or the session that it began: no kernel gives out
        its number before they have ended."""
        process = self._find(name)
        self._require_free_number(process)
        self.table.exit(process, -int(signal.SIGKILL))
        self.table.reap(process)
        start = process.start if same_tick else None
        if not same_tick:
            self.clock.advance(0.01)
        return self.stranger(stranger, pid=process.pid, start=start)

    def reboot(self, seconds: float = 30.0) -> None:
        """The machine is off for ``seconds`` and starts anew; see ``runcoord_reboot``."""
        self.clock.reboot(seconds)
        self.table.settle()
        self.system.after_reboot()

    def _find(self, name: str) -> SimProcess:
        found = self.table.labelled.get(name)
        if found is None:
            others = sorted(each for each in self.table.labelled if each != BY)
            known = f"there are {', '.join(others)}" if others else "there is none yet"
            raise KeyError(f"there is no process {name!r} in this simulation; {known}")
        return found

    def _require_free_number(self, process: SimProcess) -> None:
        members = [
            each
            for each in self.table.here(process.place)
            if each is not process and process.pid in (each.group, each.session)
        ]
        if members:
            names = ", ".join(each.label for each in members)
            raise ValueError(
                f"the pid of {process.label!r} cannot be given out anew while there is {names}, in the group "
                f"or session that it began: end that first, as tree[{members[0].label!r}].exit() does"
            )

    def _require_new(self, plan: Plan) -> None:
        if plan.name in self.table.labelled and not self.table.labelled[plan.name].ended:
            raise ValueError(f"there is a process {plan.name!r} already; names are unique while it lives")
        for child in plan.children:
            self._require_new(child)


@contextmanager
def process_tree(clock: ManualClock, directory: Path) -> Iterator[ProcessTree]:
    """A simulation in the place of the system's functions, until the block ends. Ask its guard then."""
    tree = ProcessTree(clock, directory)
    with simulated(tree.system, tree.programs, directory) as files:

        def follow() -> None:
            tree.table.settle()
            files.write_times()

        clock.listeners.append(follow)
        try:
            yield tree
        finally:
            clock.listeners.remove(follow)
            tree.system.close()
