"""The processes of a scenario in the real tier: what the world knows of each, and what it can have it do.

They answer to the names that the steps, expectations and invariants use of simulated ones; what is set on one
of them is done to the real process, or refused with :class:`CannotBeReal`.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pytest_runcoord.incarnation import Incarnation
from pytest_runcoord.processes import Handled, Ignored, Life, Place, Sight, SignalSent
from pytest_runcoord.processes.plans import Plan
from pytest_runcoord.processes.process import Disposition, signal_number
from pytest_runcoord.real.stage import Stage, StageFailed
from pytest_runcoord.world import World
from pytest_runcoord.world_errors import CannotBeReal
from runcoord.ports import Scope

SCALE = 0.05
"""Real seconds that a second of a scenario takes where a shim waits, whose clock is the real one."""
BY_THE_WORLD = -1.0
"""In the place of a delay: the world's clocks say when."""


class Company(Protocol):
    """What actors, and those who cast them, need of the world of their processes."""

    programs: dict[str, Plan]
    shim_names: dict[str, str]
    stages: dict[tuple[str, str], Stage]
    real_world: World
    real_table: Any
    casting: Any
    real_shims: dict[str, RealShim]
    launching: dict[str, Ordered]

    def refresh(self) -> None: ...

    def settle(self, least: float = 0.0) -> None: ...

    def later(self, seconds: float, action: Callable[[], None]) -> None: ...

    def changed(self) -> None: ...

    def stage_at(self, place: Place) -> Stage: ...

    def run_of(self, cookie: str) -> str: ...

    def process_of(self, incarnation: Incarnation) -> RealProcess | None: ...

    def note(self, sent: SignalSent) -> None: ...

    def alias_start(self, process: RealProcess, start: int) -> None: ...


@dataclass(slots=True, eq=False, repr=False)
class RealProcess:
    """One process, real. What is true of it is as of the last look."""

    company: Company
    stage: Stage
    number: int
    """The stage's number of it, never used twice."""
    pid: int
    start: int
    serial: int
    label: str
    run: str
    place: Place
    parent: RealProcess | None
    environment: dict[str, str]
    """As far as the scenario says what is in it."""
    shimmed: bool = False
    """It began under a shim, whose clock is the real one."""
    is_shim: bool = False
    seen: Mapping[str, Any] = field(default_factory=dict)
    sight: Sight = Sight.PLAIN
    denied: frozenset[int] | None = frozenset()
    expected: list[int] = field(default_factory=list)
    """Signals that reached it, and of which it has said nothing yet."""
    ignored: set[int] = field(default_factory=set)
    handled: dict[int, Handled] = field(default_factory=dict)
    held: bool = False
    """No signal ends it before it is let go."""
    scans: int = 0
    """Scans behind each of which it still has a child."""
    killed_by: str = ""
    first_thread_ended: bool = False
    """Then the kernel tells others than its parent how that one ended, not how the process did."""

    # --- what is true ---

    def see(self, told: Mapping[str, Any]) -> None:
        """Take in what the stage says of it."""
        ending = [number for number, _ in told["heard"] if number not in self.dispositions]
        if self.first_thread_ended and told["ended"] and told["status"] in (0, None) and ending:
            told = {**told, "status": -ending[-1]}
        elif self.first_thread_ended and self.seen["ended"]:
            told = {**told, "status": self.seen["status"]}
        self.seen = told

    @property
    def ended(self) -> bool:
        self.company.refresh()
        return bool(self.seen["ended"])

    @property
    def status(self) -> int | None:
        self.company.refresh()
        found: int | None = self.seen["status"]
        return found

    @property
    def life(self) -> Life:
        self.company.refresh()
        if self.seen["ended"]:
            return Life.ZOMBIE if self.seen["state"] == "Z" else Life.REAPED
        return Life.STOPPED if self.seen["state"] == "T" else Life.RUNNING

    @property
    def group(self) -> int:
        """Its group; 0 when it is gone."""
        self.company.refresh()
        found: int = self.seen["group"]
        return found

    @property
    def session(self) -> int:
        self.company.refresh()
        found: int = self.seen["session"]
        return found

    @property
    def cookies(self) -> tuple[str, ...]:
        line = self.environment.get("RUNCOORD_COOKIE", "")
        return tuple(line.split(":")) if line else ()

    def line(self) -> list[RealProcess]:
        """Those that it came from, the nearest first."""
        found: list[RealProcess] = []
        at = self.parent
        while at is not None:
            found.append(at)
            at = at.parent
        return found

    def quiet(self) -> bool:
        """Whether it has said something of each signal that reached it, as far as it can."""
        if self.seen["ended"] or self.held:
            return True
        if self.seen["state"] == "T":
            return signal.SIGKILL not in self.expected
        return not self.expected

    # --- what can be done to it ---

    def tell(self, do: str, **more: Any) -> None:
        """Give it an order, and wait until it is carried out. Raises :class:`CannotBeReal`."""
        self.company.changed()
        try:
            self.stage.ask("order", member=self.number, order={"do": do, **more})
        except StageFailed as failed:
            raise CannotBeReal(f"{self.label}: {failed}") from failed

    def signal(self, number: int, *, ended: bool = False) -> None:
        """A signal of nobody that matters; with ``ended`` its end is waited for."""
        self.company.changed()
        self.stage.ask("signal", member=self.number, signal=number, ended=ended)

    @property
    def dispositions(self) -> dict[int, Disposition]:
        found: dict[int, Disposition] = {number: Ignored() for number in self.ignored}
        return {**found, **self.handled}

    @dispositions.setter
    def dispositions(self, wanted: dict[int, Disposition]) -> None:
        self.ignored = {number for number, each in wanted.items() if isinstance(each, Ignored)}
        self.handled = {number: each for number, each in wanted.items() if isinstance(each, Handled)}
        handles = {number: self.delay(each.seconds) for number, each in self.handled.items()}
        self.tell("change", words={"ignores": sorted(self.ignored), "handles": list(handles.items())})

    def delay(self, seconds: float) -> float:
        """How long it really takes for something: by the shim's clock, or as the world's clocks go on."""
        return seconds * SCALE if self.shimmed else BY_THE_WORLD

    @property
    def denies(self) -> frozenset[int] | None:
        return self.denied

    @denies.setter
    def denies(self, numbers: frozenset[int] | None) -> None:
        if self.shimmed and numbers != frozenset():
            raise CannotBeReal("a shim cannot be denied signals to its own tree")
        self.denied = numbers

    @property
    def unkillable(self) -> bool:
        return self.held

    @unkillable.setter
    def unkillable(self, held: bool) -> None:
        self.company.changed()
        try:
            self.stage.ask("seize", member=self.number, on=held)
        except StageFailed as failed:
            raise CannotBeReal(f"{self.label}: {failed}") from failed
        self.held = held

    @property
    def environment_closed(self) -> bool:
        return False

    @environment_closed.setter
    def environment_closed(self, closed: bool) -> None:
        if closed and self.shimmed:
            raise CannotBeReal("to a shim of the same user no environment is closed")

    @property
    def forks_on_scan(self) -> int:
        return self.scans

    @forks_on_scan.setter
    def forks_on_scan(self, scans: int) -> None:
        if self.shimmed and scans:
            raise CannotBeReal("nobody knows when a shim scans")
        self.scans = scans

    @property
    def reaps_after(self) -> float | None:
        return 0.0

    @reaps_after.setter
    def reaps_after(self, seconds: float | None) -> None:
        self.tell("change", words={"never_reaps": True})
        if seconds is not None:
            self.company.later(seconds, lambda: self.tell("change", words={"never_reaps": False}))

    def __repr__(self) -> str:
        return f"{self.label} (pid {self.pid})"


@dataclass(slots=True)
class Ordered:
    """What an owner launched: what is known of its order, and of the puppets that play it."""

    cookie: str
    environment: dict[str, str]
    program: str
    scope: Scope
    grace: float
    """Seconds of the scenario."""
    owner: Incarnation
    plan: Plan | None = None
    words: dict[str, Any] | None = None
    keys: list[str] = field(default_factory=list)


@dataclass(slots=True)
class RealShim:
    """The shim of a run: its process, and what it was ordered."""

    process: RealProcess
    order: Ordered
    leader: RealProcess | None = None
    executed: bool = False

    @property
    def alive(self) -> bool:
        return not self.process.ended


def words_of(plan: Plan, key: Callable[[Plan], str], *, shimmed: bool, cookie: str) -> dict[str, Any]:
    """A plan as a puppet is told it; what the world itself does to the process is not in it."""
    if plan.closed and shimmed:
        raise CannotBeReal("to a shim of the same user no environment is closed")
    if plan.denies and shimmed:
        raise CannotBeReal("a shim cannot be denied signals to its own tree")
    if plan.unkillable and shimmed:
        raise CannotBeReal("a shim waits ten real seconds for what nothing ends")
    if plan.forks_on_scan and shimmed:
        raise CannotBeReal("nobody knows when a shim scans")
    scale = SCALE if shimmed else 0.0
    return {
        "label": key(plan),
        "program": (plan.program or plan.name)[:15],
        "ignores": [signal_number(name) for name in plan.ignores],
        "handles": [
            [signal_number(name), seconds * scale if shimmed else BY_THE_WORLD]
            for name, seconds in plan.handles.items()
        ],
        "setsid": plan.setsid,
        "own_group": plan.own_group,
        "double_fork": plan.double_fork,
        "clears_environment": plan.clears_environment,
        "handed_over": cookie if plan.handed_over else "",
        "never_reaps": plan.never_reaps,
        "children": [words_of(each, key, shimmed=shimmed, cookie=cookie) for each in plan.children],
    }
