"""Who is on the stages of a real scenario: puppets are started and recognised, and looked at all together."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from pytest_runcoord.incarnation import Incarnation
from pytest_runcoord.processes import Handled, NumberTaken, Place, SignalSent
from pytest_runcoord.processes.plans import Plan
from pytest_runcoord.processes.process import signal_number
from pytest_runcoord.real.actors import SCALE, Company, Ordered, RealProcess, RealShim, words_of
from pytest_runcoord.real.forking import command
from pytest_runcoord.real.stage import Stage, StageFailed
from pytest_runcoord.world_errors import CannotBeReal
from runcoord.ports import Scope

COOKIE = "RUNCOORD_COOKIE"
HANDED_OVER = "RUNCOORD_HANDED_OVER"


class Casting:
    """All processes of one scenario, the ended ones too, in the order in which they were met."""

    def __init__(self, world: Company) -> None:
        self.world = world
        self.everyone: list[RealProcess] = []
        self.labelled: dict[str, RealProcess] = {}
        self._known: dict[tuple[int, int], RealProcess] = {}
        self._told: dict[tuple[int, int], Mapping[str, Any]] = {}
        self._serials = itertools.count(1)
        self._keys = itertools.count(1)

    # --- starting ---

    def plant(
        self,
        plan: Plan,
        parent: RealProcess | None,
        *,
        run: str = "",
        environment: dict[str, str] | None = None,
        place: Place | None = None,
        pid: int = 0,
        start: int | None = None,
    ) -> RealProcess:
        """See :func:`pytest_runcoord.processes.plans.plant`."""
        stage = parent.stage if parent is not None else self.world.stage_at(place or Place())
        shimmed = parent is not None and parent.shimmed
        cookie = (environment or (parent.environment if parent else {})).get(COOKIE, "").rpartition(":")[2]
        words, keys = self._words(plan, shimmed, cookie)
        self.world.changed()
        try:
            self._start(stage, words, parent, environment or {}, pid)
            stage.ask("await", labels=keys)
        except StageFailed as failed:
            if pid:
                raise NumberTaken(str(failed)) from failed
            raise CannotBeReal(f"{plan.name}: {failed}") from failed
        self.look(stage, 0.0)
        about = SimpleNamespace(
            run=run or (parent.run if parent is not None else ""),
            place=place or (parent.place if parent is not None else Place()),
            environment={**(parent.environment if parent is not None else {}), **(environment or {})},
        )
        top = self.take_on(stage, plan, words, parent, about, shimmed)
        if pid and start is not None:
            before = [each for each in self.everyone if each.pid == pid and each.start == start]
            if before and top.start != start:
                self.world.alias_start(top, start)
        return top

    def _words(self, plan: Plan, shimmed: bool, cookie: str) -> tuple[dict[str, Any], list[str]]:
        keys: list[str] = []

        def key(each: Plan) -> str:
            keys.append(f"{each.name}~{next(self._keys)}")
            return keys[-1]

        return words_of(plan, key, shimmed=shimmed, cookie=cookie), keys

    def _start(
        self,
        stage: Stage,
        words: dict[str, Any],
        parent: RealProcess | None,
        environment: dict[str, str],
        pid: int,
    ) -> None:
        stage.ask("plans", plans=flat(words))
        remote = self._remote_of(parent)
        if parent is None:
            stage.ask("puppet", label=words["label"], environment=environment, pid=pid)
        elif remote is not None:
            remote.start(command(stage.path, words["label"]), environment)
        else:
            parent.tell("fork", plan=words)

    def _remote_of(self, process: RealProcess | None) -> Any:
        """The owner whose process this is."""
        for incarnation in self.world.real_world.incarnations:
            if self.world.process_of(incarnation) is process and process is not None:
                return incarnation.process
        return None

    def take_on(
        self,
        stage: Stage,
        plan: Plan,
        words: Mapping[str, Any],
        parent: RealProcess | None,
        about: Any,
        shimmed: bool,
    ) -> RealProcess:
        """Know the process of a plan, and everything below it; do to them what only others can."""
        told = [
            each
            for (where, _), each in self._told.items()
            if where == id(stage) and each["label"] == words["label"] and (each["ready"] or each["ended"])
        ]
        environment = {} if plan.clears_environment else dict(about.environment)
        if plan.handed_over:
            environment[HANDED_OVER] = environment.get(COOKIE, "").rpartition(":")[2]
        process = self.enter(
            stage,
            told[-1],
            plan.name,
            run=about.run,
            place=about.place,
            parent=parent,
            environment=environment,
            shimmed=shimmed,
        )
        found: dict[str, str] = stage.ask("environment", member=process.number)["environment"]
        process.environment = found or environment
        process.ignored = {signal_number(name) for name in plan.ignores}
        process.handled = {signal_number(name): Handled(each) for name, each in plan.handles.items()}
        below = SimpleNamespace(run=about.run, place=about.place, environment=environment)
        for child, its_words in zip(plan.children, words["children"], strict=True):
            self.take_on(stage, child, its_words, process, below, shimmed)
        self._finish(process, plan)
        return process

    def _finish(self, process: RealProcess, plan: Plan) -> None:
        process.scans = plan.forks_on_scan
        process.denied = None if "any" in plan.denies else frozenset(map(signal_number, plan.denies))
        if plan.closed:
            raise CannotBeReal("an environment that cannot be read, but whose process can be looked at")
        if plan.first_thread_ended:
            process.tell("end_first_thread")
            process.first_thread_ended = True
        if plan.stopped:
            self.world.real_table.send_quietly(process, signal.SIGSTOP)
        if plan.unkillable:
            process.unkillable = True
        if plan.ends_after is not None:
            self.world.later(plan.ends_after, lambda: self.world.real_table.exit(process, plan.status))

    def enter(
        self, stage: Stage, told: Mapping[str, Any], label: str, *, place: Place, **more: Any
    ) -> RealProcess:
        """Know a process by what the stage told of it; the name means the newest of this name."""
        known = self._known.get((id(stage), told["number"]))
        if known is None:
            known = RealProcess(
                self.world,
                stage,
                told["number"],
                told["pid"],
                told["start"],
                next(self._serials),
                label,
                more.pop("run", ""),
                place,
                more.pop("parent", None),
                more.pop("environment", {}),
                seen=told,
                **more,
            )
            self._known[id(stage), told["number"]] = known
            self.everyone.append(known)
        else:
            for name, value in more.items():
                setattr(known, name, value)
        self.labelled[label] = known
        return known

    # --- trees under shims ---

    def prepare(self, owner: Incarnation, stage: Stage, data: Mapping[str, Any]) -> dict[str, Any]:
        """An owner launches a command: give it the command line of the puppet that plays it."""
        world, cookie = self.world, data["cookie"]
        scope = Scope(data["scope"])
        order = Ordered(cookie, data["environment"], data["program"], scope, data["grace"], owner)
        world.launching[cookie] = order
        plan = world.programs.get(data["program"])
        if plan is None:
            return {"argv": [], "scale": SCALE}
        order.plan = plan
        order.words, order.keys = words, _ = self._words(plan, True, cookie)
        stage.ask("plans", plans=flat(words))
        return {"argv": command(stage.path, words["label"]), "scale": SCALE}

    def began(self, stage: Stage, cookie: str) -> None:
        """The gate is open: the command begins, and its tree comes about."""
        order = self.world.launching[cookie]
        if order.words is None or order.plan is None:
            return
        stage.ask("await", labels=order.keys)
        self.look(stage, 0.0)
        shim = self.world.real_shims.get(cookie)
        run = self.world.run_of(cookie)
        place = shim.process.place if shim is not None else Place()
        about = SimpleNamespace(run=run, place=place, environment=dict(order.environment))
        parent = None if shim is None else shim.process
        leader = self.take_on(stage, order.plan, order.words, parent, about, shimmed=True)
        if shim is not None:
            shim.leader, shim.executed = leader, True

    def _adopt(self, stage: Stage, told: Mapping[str, Any]) -> None:
        """Somebody who is no puppet carries a cookie: a shim, or a command behind its gate."""
        cookie = told["cookies"].rpartition(":")[2]
        order = self.world.launching.get(cookie)
        if order is None or told["ended"] or not told["parent"]:
            return
        seated = map(self.world.process_of, self.world.real_world.incarnations)
        owners = {each.pid for each in seated if each is not None}
        if told["parent"] in owners:
            return  # it forks the shim, and ends
        program, run = order.program, self.world.run_of(cookie)
        place = next((each.place for each in self.everyone if each.stage is stage), Place())
        shim = self.world.real_shims.get(cookie)
        environment = {COOKIE: told["cookies"]}
        if shim is not None and told["parent"] == shim.process.pid:
            shim.leader = self.enter(
                stage,
                told,
                program,
                place=place,
                run=run,
                parent=shim.process,
                environment=environment,
                shimmed=True,
            )
        elif shim is None or shim.process.seen["ended"]:
            label = self.world.shim_names.get(program, f"{program}-shim")
            process = self.enter(
                stage, told, label, place=place, run=run, environment=environment, is_shim=True
            )
            self.world.real_shims[cookie] = RealShim(process, order)

    # --- looking ---

    def look(self, stage: Stage, wait: float) -> None:
        """Take in what is true of everybody on a stage, and what reached whom since the last look."""
        members = stage.members(wait)
        for each in members:
            self._told[id(stage), each["number"]] = each
        for each in members:
            process = self._known.get((id(stage), each["number"]))
            if process is None:
                if each["gate"]:
                    self._adopt(stage, each)
                continue
            process.see(each)
        for each in members:
            process = self._known.get((id(stage), each["number"]))
            if process is not None:
                self._hear(process, each)

    def _hear(self, process: RealProcess, told: Mapping[str, Any]) -> None:
        for number, sender in told["heard"]:
            if number in process.expected:
                process.expected.remove(number)
            else:
                self._unannounced(process, number, sender)
            handled = process.handled.get(number)
            if handled is not None and not process.shimmed:
                self.world.later(handled.seconds, lambda: self._end(process))
        if told["ended"] and process.expected:
            process.expected.clear()
        if told["status"] == -signal.SIGKILL and not process.killed_by:
            process.killed_by = "somebody"
            shim = self._shim_over(process)
            if shim is not None:
                self._sent_by(shim, process, signal.SIGKILL)

    def _end(self, process: RealProcess) -> None:
        if not process.ended:
            self.world.real_table.exit(process, 0)

    def _unannounced(self, process: RealProcess, number: int, sender: int) -> None:
        """Somebody else than an owner that tells sent a signal: a shim, or one who should not have."""
        if sender <= 1:
            return  # the stage itself, for the scenario
        by = self.holder(process.stage, sender)
        if by is not None and by is not process:
            self._sent_by(by, process, number)

    def _sent_by(self, by: RealProcess, process: RealProcess, number: int) -> None:
        claimed = by.cookies[-1] if by.cookies else ""
        whom: Any = process
        self.world.note(SignalSent(by.label, whom, int(number), "sent", "pin", claimed))

    def _shim_over(self, process: RealProcess) -> RealProcess | None:
        for cookie in reversed(process.cookies or tuple(self.world.real_shims)):
            shim = self.world.real_shims.get(cookie)
            if shim is not None and process.shimmed and shim.process.run == process.run:
                return shim.process
        return None

    # --- who ---

    def holder(self, stage: Stage, pid: int) -> RealProcess | None:
        """The newest process with this pid."""
        found = [each for each in self.everyone if each.stage is stage and each.pid == pid]
        return found[-1] if found else None

    def strangers_or_runs(self) -> bool:
        """Whether there is anybody but owners."""
        owners = [self.world.process_of(each) for each in self.world.real_world.incarnations]
        return any(each not in owners for each in self.everyone)

    def fork_behind(self, stage: Stage) -> None:
        """Processes have children where a scan has been already."""
        for parent in list(self.everyone):
            if parent.stage is stage and parent.scans > 0 and not parent.seen["ended"]:
                parent.scans -= 1
                child = Plan(f"{parent.label}+{parent.scans}", forks_on_scan=parent.scans)
                self.plant(child, parent)


def flat(words: Mapping[str, Any], top: bool = True) -> dict[str, Any]:
    """The words of a process and of all below it, by label; only the topmost one has to ask for them."""
    found: dict[str, Any] = {words["label"]: {**words, "top": top}}
    for child in words["children"]:
        found.update(flat(child, False))
    return found
