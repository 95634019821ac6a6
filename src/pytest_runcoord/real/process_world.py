"""The processes of one scenario in the real tier: its stages, who is on them, what reached whom."""

from __future__ import annotations

import json
import signal
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from pytest_runcoord.incarnation import GONE, RUNNING, Incarnation
from pytest_runcoord.process_world import ProcessWorld
from pytest_runcoord.processes import Place, Sight, SignalSent
from pytest_runcoord.processes.plans import Plan
from pytest_runcoord.real.actors import Ordered, RealProcess, RealShim
from pytest_runcoord.real.asked import HAS_ENDED, SCAN, TORN_DOWN
from pytest_runcoord.real.casting import Casting
from pytest_runcoord.real.stage import Stage
from pytest_runcoord.real.table import RealTable
from pytest_runcoord.reference import STORE_NAME
from pytest_runcoord.world import World
from pytest_runcoord.world_errors import CannotBeReal, ScenarioMistake

SETTLE_SECONDS = 5.0
"""Real time that processes have to do what a signal makes them do, before the world goes on without."""
SHIM_SECONDS = 10.0
"""Real time that is waited for the end of a shim."""
TURN_SECONDS = 0.25
"""Real time of one wait for something to happen."""
OTHERS_SECONDS = 3.0
"""Real time in which what is expected to end by the work of shims may still do so."""

_now = time.monotonic


@dataclass(slots=True)
class RealSeat:
    """One incarnation's own process, and the shims that it has launched."""

    world: RealProcessWorld
    incarnation: Incarnation
    processes: Any

    @property
    def launcher(self) -> Any:
        shims = self.world.real_shims.values()
        return SimpleNamespace(shims=[each for each in shims if each.order.owner is self.incarnation])


class RealProcessWorld(ProcessWorld):
    """See the module. Where no namespace can be made, ``impossible`` says why; owners are plain children."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.real_world = world
        self.impossible = ""
        self.stages: dict[tuple[str, str], Stage] = {}
        self.real_table = RealTable(self)
        self.casting = Casting(self)
        self._fresh = False
        self._due: list[float] = []
        self._groups: dict[int, list[RealProcess]] = {}
        self.real_shims: dict[str, RealShim] = {}
        self.launching: dict[str, Ordered] = {}
        """Orders under way or carried out, by cookie."""

    # --- stages and owners ---

    def stage_at(self, place: Place) -> Stage:
        """The stage for a place. Raises :class:`CannotBeReal`."""
        if self.impossible:
            raise CannotBeReal(self.impossible)
        found = self.stages.get(place.table)
        if found is None:
            try:
                found = self.stages[place.table] = Stage(self.real_world.directory, scratch=True)
            except CannotBeReal as why:
                self.impossible = str(why)
                raise
        return found

    def stage_for(self, owner: str) -> Stage | None:
        """The stage that an owner lives on; ``None`` where none can be made."""
        try:
            return self.stage_at(self.place_of(owner))
        except CannotBeReal:
            return None

    def incarnated(
        self, incarnation: Incarnation, wire: int, complaints: int, environment: Mapping[str, str]
    ) -> RealProcess:
        """Start the process of an incarnation."""
        place = self.place_of(incarnation.owner)
        stage = self.stage_at(place)
        told = stage.incarnate(incarnation.owner, wire, complaints, environment, int(place.time_offset))
        process = self.casting.enter(stage, told, incarnation.owner, place=place)
        seat: Any = RealSeat(self, incarnation, SimpleNamespace(process=process))
        self._seats[id(incarnation)] = seat
        return process

    def seat(self, incarnation: Incarnation) -> Any:
        found = self._seats.get(id(incarnation))
        if found is None:
            raise CannotBeReal(self.impossible or "owners without a namespace have no processes")
        return found

    def died(self, incarnation: Incarnation) -> None:
        """Its shims notice by themselves."""
        self.changed()

    @property
    def power_off(self) -> bool:
        return False

    @power_off.setter
    def power_off(self, off: bool) -> None:
        if off and self.casting.strangers_or_runs():
            raise CannotBeReal("a machine with processes on it cannot be restarted for real")

    # --- what there is ---

    @property
    def used(self) -> bool:
        return bool(self.casting.everyone)

    @property
    def table(self) -> Any:
        return self.real_table

    def find(self, label: str) -> Any:
        self.refresh()
        found = self.casting.labelled.get(label)
        if found is None:
            if self.impossible:
                raise CannotBeReal(self.impossible)
            raise ScenarioMistake(f"no process is called {label!r} yet", "Spawn it above this step.")
        return found

    def waiting_to_be_let_go(self, owner: str) -> frozenset[int]:
        shims = self.real_shims.values()
        return frozenset(each.process.pid for each in shims if each.order.owner.owner_id == owner)

    def living_of(self, run: str) -> list[Any]:
        self.refresh()
        return [each for each in self.casting.everyone if each.run == run and not each.seen["ended"]]

    def shims(self) -> Iterable[Any]:
        return self.real_shims.values()

    def plant(self, plan: Plan, parent: Any, **more: Any) -> Any:
        """Start the process of a plan and everything below it, for real."""
        return self.casting.plant(plan, parent, **more)

    def until(self, so: Callable[[], bool]) -> None:
        """Give shims, which act by themselves, some real time to bring something about."""
        end = _now() + OTHERS_SECONDS
        while not so() and _now() < end:
            self.changed()
            self.settle(TURN_SECONDS)

    def mend(self) -> None:
        self.real_table.scan_fault = ""
        for process in self.casting.everyone:
            if process.sight is Sight.HANGS:
                process.sight = Sight.PLAIN

    def end(self) -> None:
        for stage in self.stages.values():
            stage.close()

    # --- looking ---

    def changed(self) -> None:
        """Something may be otherwise than at the last look."""
        self._fresh = False

    def refresh(self) -> None:
        if not self._fresh:
            self.settle()

    def settle(self, least: float = 0.0) -> None:
        """Look, and wait until everybody has done what the signals that reached it make it do."""
        end = _now() + SETTLE_SECONDS
        wait = least
        while True:
            if self._fresh:
                return
            self._fresh = not any(not each.process.seen["ended"] for each in self.real_shims.values())
            for stage in list(self.stages.values()):
                self.casting.look(stage, wait)
            self._reap_for_owners()
            if all(each.quiet() for each in self.casting.everyone):
                return
            if _now() >= end:
                for process in self.casting.everyone:
                    process.expected.clear()  # once is enough
                return
            self._fresh, wait = False, TURN_SECONDS

    def _reap_for_owners(self) -> None:
        """Owners ask how the processes that they started have ended, as they would at once."""
        zombies = [
            each
            for each in self.casting.everyone
            if each.seen["state"] == "Z" and each.seen["ended"] and each.seen["parent"] > 1
        ]
        for incarnation in self.world.owners.values() if zombies else ():
            seat = self._seats.get(id(incarnation))
            if seat is None or incarnation.life not in RUNNING:
                continue
            own: Any = seat.processes.process
            if any(each.seen["parent"] == own.pid and each.stage is own.stage for each in zombies):
                remote: Any = incarnation.process
                remote.reap()
                self.casting.look(own.stage, 0.0)

    # --- what owners tell ---

    def announced(self, incarnation: Incarnation, moment: str, data: Mapping[str, Any]) -> dict[str, Any]:
        """An owner is about to do something with processes, or has done it."""
        self.changed()
        if moment == "before-launch":
            return self.casting.prepare(incarnation, self._stage_of(incarnation), data)
        if moment == "after-gate":
            self.casting.began(self._stage_of(incarnation), data["cookie"])
        elif moment == "before-signal":
            leader = self._holder(incarnation, data["pid"])
            if data["way"] == "group":
                self._groups[id(incarnation)] = self._group(incarnation, data["pid"])
            else:
                self._groups[id(incarnation)] = [] if leader is None else [leader]
        elif moment == "after-signal":
            for process in self._groups.pop(id(incarnation), []):
                self.sent(incarnation.owner, process, data)
        return {}

    def met_there(self, incarnation: Incarnation, moment: str, data: Mapping[str, Any]) -> dict[str, Any]:
        """What an owner meets at a moment, as the scenario says."""
        if moment in ("before-identify", "before-probe", "before-look"):
            holder = self._holder(incarnation, data["pid"])
            if holder is None:
                return {}
            self.strangers_met += moment == "before-probe" and not holder.run and not holder.ended
            return {} if holder.sight is Sight.PLAIN else {"sight": holder.sight.value}
        if moment == "before-signal":
            holder = self._holder(incarnation, data["pid"])
            denied = holder is not None and (holder.denied is None or data["signal"] in holder.denied)
            return {"denied": denied}
        if moment == HAS_ENDED:
            shim = self.real_shims.get(data["cookie"])
            return {"ended": shim is not None and shim.leader is not None and shim.leader.ended}
        if moment == TORN_DOWN:
            self.world.time.wait(self._time_of_teardown(data))
        if moment == SCAN:
            stage = self._stage_of(incarnation)
            self.casting.fork_behind(stage)
            hidden = [
                each.pid
                for each in self.casting.everyone
                if each.stage is stage and each.sight is not Sight.PLAIN
            ]
            return {"hidden": hidden, "fault": self.real_table.scan_fault}
        return {}

    def _time_of_teardown(self, data: Mapping[str, Any]) -> float:
        """Seconds of the scenario that a teardown took: the grace when it was used up, else what those who
        ended after a signal needed for that."""
        if "killed" in data["fates"]:
            return float(data["grace"])
        tree = self._tree_of(data["cookie"])
        needed = [each.handled[signal.SIGTERM].seconds for each in tree if signal.SIGTERM in each.handled]
        return min([float(data["grace"]), *needed]) if needed else 0.0

    def _time_of_shim(self, shim: RealProcess) -> float:
        """The same of a teardown that nobody reported on: its shim was alone."""
        cookie = next(cookie for cookie, each in self.real_shims.items() if each.process is shim)
        killed = any(each.seen["status"] == -signal.SIGKILL for each in self._tree_of(cookie))
        fates = ["killed"] if killed else []
        return self._time_of_teardown(
            {"cookie": cookie, "grace": self.launching[cookie].grace, "fates": fates}
        )

    def _tree_of(self, cookie: str) -> list[RealProcess]:
        run = self.run_of(cookie)
        return [each for each in self.casting.everyone if each.run == run]

    def sent(self, by: str, process: RealProcess, data: Mapping[str, Any]) -> None:
        """A signal was sent, or tried; what it does is waited for at the next look."""
        number, result = data["signal"], data["result"]
        if result == "sent":
            if process.seen["ready"] or number == signal.SIGKILL:  # nobody else than a puppet reports
                process.expected.append(number)
            if number == signal.SIGKILL:
                process.killed_by = by
        whom: Any = process
        self._signalled(SignalSent(by, whom, number, result, data["way"], data["claimed"]))

    def wait_for(self, incarnation: Incarnation, pids: list[int], seconds: float) -> None:
        """An owner waits until processes have ended: for what signals do in real time, for the rest on the
        world's clocks."""
        self.changed()
        self.settle()
        awaited = [each for pid in pids if (each := self._holder(incarnation, pid)) is not None]
        shims = [
            each.process
            for each in self.real_shims.values()
            if self._is_about_to_end(incarnation, each, awaited)
        ]
        end = _now() + SHIM_SECONDS
        while any(not each.seen["ended"] for each in shims) and _now() < end:
            self.changed()
            self.settle(TURN_SECONDS)
        took = [
            self._time_of_shim(each.process)
            for each in self.real_shims.values()
            if each.process in shims and each.process.seen["ended"] and each.order.owner is not incarnation
        ]
        if took:
            self.world.time.wait(min(seconds, max(took)))
        if all(each.seen["ended"] for each in awaited):
            return
        here = self.world.clock.boottime()
        self._due = [each for each in self._due if each > here]
        self.world.time.wait(min([seconds, *(each - here for each in self._due)]))
        self.changed()
        self.settle()

    def _is_about_to_end(self, waits: Incarnation, shim: RealShim, awaited: list[RealProcess]) -> bool:
        """Whether a shim is waited for that ends by itself: its owner is gone, or has told it to."""
        owner = shim.order.owner
        told = owner is waits or owner.life in GONE
        return told and shim.process in awaited and not shim.process.seen["ended"]

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        """Do something as the world's clocks have gone on for so long."""
        self._due.append(self.world.clock.boottime() + seconds)
        self.world.time.alarm(seconds, action)

    # --- who ---

    def process_of(self, incarnation: Incarnation) -> RealProcess | None:
        """The process that an incarnation lives, or lived, in."""
        seat: Any = self._seats.get(id(incarnation))
        return None if seat is None else seat.processes.process

    def note(self, sent: SignalSent) -> None:
        """A signal that was seen, or heard of."""
        self._signalled(sent)

    def _stage_of(self, incarnation: Incarnation) -> Stage:
        process: RealProcess = self.seat(incarnation).processes.process
        return process.stage

    def _holder(self, incarnation: Incarnation, pid: int) -> RealProcess | None:
        """The newest process with a pid where this owner lives."""
        if id(incarnation) not in self._seats:
            return None
        return self.casting.holder(self._stage_of(incarnation), pid)

    def _group(self, incarnation: Incarnation, group: int) -> list[RealProcess]:
        stage = self._stage_of(incarnation)
        self.refresh()
        return [
            each
            for each in self.casting.everyone
            if each.stage is stage and each.seen["group"] == group and not each.seen["ended"]
        ]

    def alias_start(self, process: RealProcess, start: int) -> None:
        """What is recorded of a process that had this pid gets the start value of the one that has it now,
        as if both had begun in the same tick; which of two processes begins when nobody can arrange."""
        path = self.real_world.directory / STORE_NAME
        if not path.exists():
            return
        connection = sqlite3.connect(path, isolation_level=None, timeout=1)
        try:
            for table in ("processes", "owners"):
                for (text,) in connection.execute(f"SELECT identity FROM {table}").fetchall():
                    recorded = _document(text)
                    if recorded.get("pid") == process.pid and recorded.get("start") == start:
                        changed = json.dumps({**recorded, "start": process.start})
                        connection.execute(
                            f"UPDATE {table} SET identity = ? WHERE identity = ?", (changed, text)
                        )
        finally:
            connection.close()
        self.real_world.changed = True


def _document(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
