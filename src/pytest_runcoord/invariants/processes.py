"""Invariants about processes: who is signalled, what is written down, who is left."""

from __future__ import annotations

from pytest_runcoord.history import Entry
from pytest_runcoord.invariants.base import Invariant
from pytest_runcoord.processes import SimProcess
from pytest_runcoord.subject import RunSeen, Snapshot
from runcoord.ports import Scope

OWN_TEARDOWNS = frozenset({"tear_down", "settle", "interrupt"})
"""Verbs with which an owner ends a tree of its own, itself where the shim is gone; that needs no audit."""
RESULT_WRITTEN = frozenset({"after-defer", "after-recover"})
"""Moments at which what came of a round of signals is durable."""
RESULTS = frozenset(moment.removeprefix("after-") for moment in RESULT_WRITTEN)
"""Writes that a result is part of."""


def was_handed_over(process: SimProcess, cookie: str) -> bool:
    """Whether it, or one above it, carries the marker that spares it from this run's teardown."""
    line = (process, *process.line())
    return any(each.environment.get("RUNCOORD_HANDED_OVER") == cookie for each in line)


class _AboutProcesses(Invariant):
    needs = frozenset({"processes"})
    about_processes = True

    def left_of(self, run: str) -> list[SimProcess]:
        """Processes that truly belong to a run, live, were not handed over, and are within the scope that was
        chosen for it."""
        processes = self.world.processes
        if not processes.used:
            return []
        cookie = processes.cookie_of(run)
        group = self._only_group_of(run)
        living = processes.living_of(run)
        for inner in self._runs_inside(run):
            living += [each for each in processes.living_of(inner) if each.cookies]  # their shims apart
        return [each for each in living if not was_handed_over(each, cookie) and group in (0, each.group)]

    def _runs_inside(self, run: str) -> list[str]:
        """Every run that was started in this one, or in one of those."""
        found, inside = [run], self.world.processes.inside
        for outer in found:
            found += [inner for inner, of in inside.items() if of == outer and inner not in found]
        return found[1:]

    def _only_group_of(self, run: str) -> int:
        """The group that a run's teardown is limited to; 0 where it reaches as far as it can."""
        processes = self.world.processes
        limited = (each for each in processes.shims() if each.order.scope is Scope.GROUP)
        return next((each.leader.pid for each in limited if each.process.run == run), 0)

    def had_any(self, run: str) -> bool:
        """Whether a process ever belonged to the run."""
        processes = self.world.processes
        return processes.used and any(each.run == run for each in processes.table.everyone)


class NoStrangerSignalled(_AboutProcesses):
    id = "no-stranger-signalled"
    says = "No signal to a process not proved to be the run's own at that moment."
    hears = frozenset({"signal"})

    def see(self, entry: Entry, before: Snapshot) -> None:
        self.exercised += 1
        if entry.status != "sent":
            return
        if not entry.data["of"]:
            self.fail(
                f"{entry.actor} signalled a stranger: {entry.what}",
                expected="no signal to a process that belongs to no run",
                seen=f"sent to pid {entry.data['pid']}, taken for one of {entry.data['meant'] or 'a run'}",
            )

    def end(self, snapshot: Snapshot) -> None:
        # A stranger that was held for a record, and not signalled, is what this is about too.
        self.exercised += self.world.processes.strangers_met


class NothingOfOthers(_AboutProcesses):
    id = "nothing-of-others"
    says = "Parent, siblings, same-named processes, other runs and what was handed over are untouched."
    hears = frozenset({"signal"})

    def see(self, entry: Entry, before: Snapshot) -> None:
        of, meant = entry.data["of"], entry.data["meant"]
        processes = self.world.processes
        others = [each for each in processes.table.everyone if each.run != of and not each.ended]
        self.exercised += bool(others)
        if entry.status != "sent" or not of or not meant:
            return
        if not self._is_inside(of, meant):
            self.fail(
                f"{entry.actor} signalled a process of another run: {entry.what}",
                expected=f"only processes of {meant}",
                seen=f"one of {of}",
            )
        [process] = [each for each in processes.table.everyone if each.serial == entry.data["serial"]]
        if was_handed_over(process, processes.cookie_of(meant)):
            self.fail(
                f"{entry.actor} signalled what was handed over: {entry.what}",
                expected=f"no signal for {meant}",
                seen="sent",
            )

    def _is_inside(self, run: str, outer: str) -> bool:
        """Whether a run is the other one, or was started in it."""
        inside = self.world.processes.inside
        at: str | None = run
        for _ in range(len(inside) + 1):
            if at == outer:
                return True
            at = inside.get(at or "")
        return False


class AuditBeforeSignal(_AboutProcesses):
    id = "audit-before-signal"
    says = "A durable intent precedes every signal that recovery sends, and its result follows."
    needs = frozenset({"processes", "ports", "recovery"})
    hears = frozenset({"signal", "moment", "verb", "world"})

    def __init__(self, *world: object) -> None:
        super().__init__(*world)  # type: ignore[arg-type]
        self._intended: set[str] = set()
        """Owners with an intent that is durable and has no result."""
        self._unknown: set[tuple[str, int]] = set()
        """Rounds, by run and number, whose owner crashed: nobody will ever know what came of them."""
        self._refused = False
        self._bare: dict[str, list[Entry]] = {}
        """Signals that owners sent without one; a teardown of their own tree needs none."""

    def see(self, entry: Entry, before: Snapshot) -> None:
        actor = entry.actor
        if entry.kind == "signal":
            if actor not in self.world.owners:
                return  # a shim ends its own tree
            if actor in self._intended:
                self.exercised += 1
            elif not self._ends_its_own(entry):
                self._bare.setdefault(actor, []).append(entry)
        elif entry.kind == "moment" and entry.what == "after-intend":
            self._intended.add(actor)
        elif entry.kind == "moment" and entry.what in RESULT_WRITTEN:
            self._intended.discard(actor)
        elif entry.kind == "world" and entry.what.startswith("fault ") and entry.data["on"] in RESULTS:
            self._refused = True  # the store did not take the result
        elif entry.kind == "world" and entry.what == "crash":
            self._intended.discard(actor)  # unknown what came of it, and said so by the open audit
            self._unknown |= _open_audits(self.world.snapshot())
        elif entry.kind == "verb":
            self._end_of_verb(entry)

    def _ends_its_own(self, entry: Entry) -> bool:
        """Whether a supervisor ends the tree that it started itself, when that is due and no verb asks; it
        continues the shim for that, which it takes for nobody's by its cookie."""
        incarnation = self.world.owners[entry.actor]
        shims = self.world.processes.seat(incarnation).launcher.shims
        run = entry.data["meant"] or entry.data["of"]
        return any(each.process.run == run for each in shims)

    def _end_of_verb(self, entry: Entry) -> None:
        bare = self._bare.pop(entry.actor, [])
        if entry.what not in OWN_TEARDOWNS:
            self._refuse(bare)
        if entry.status == "ok" and entry.actor in self._intended and entry.what in ("recover", "startup"):
            self.fail(
                f"{entry.actor} never wrote down what came of its signals",
                expected="the result after the intent",
                seen="a sweep that ended without it",
            )

        if entry.status == "ok" and entry.what in ("recover", "startup"):
            self._require_results()

    def _require_results(self) -> None:
        left = _open_audits(self.world.snapshot()) - self._unknown
        if self._refused:
            self._unknown |= left
            self._refused = False
        elif left and not self.world.busy:  # nobody is in the middle of a round
            self.fail(
                f"what came of the signals to {', '.join(sorted({run for run, _ in left}))} is not stored",
                expected="an audit of each round with its result",
                seen="one without",
            )

    def end(self, snapshot: Snapshot) -> None:
        for bare in self._bare.values():
            self._refuse(bare)
        self._require_results()

    def _refuse(self, bare: list[Entry]) -> None:
        for entry in bare:
            self.fail(
                f"{entry.actor} signalled without having written it down: {entry.what}",
                expected="a durable intent before the first signal",
                seen="none",
            )


def _open_audits(snapshot: Snapshot) -> set[tuple[str, int]]:
    """Rounds of signals, by run and number, of which no result is stored."""
    return {
        (run.run_id, number)
        for run in snapshot.runs.values()
        for number, (_, result) in enumerate(run.audits)
        if result is None
    }


class NoOrphanLeft(_AboutProcesses):
    id = "no-orphan-left"
    says = "After a run ends none of its processes lives, or the survivor is named."

    def end(self, snapshot: Snapshot) -> None:
        for run in snapshot.runs.values():
            if run.outcome is None or not self.had_any(run.run_id):
                continue
            self.exercised += 1
            # What a survivor has started since nobody could name.
            unnamed = [
                each
                for each in self.left_of(run.run_id)
                if not any(_is_named(run, above) for above in (each, *each.line()))
            ]
            if unnamed:
                self.fail(
                    f"processes of {run.run_id} live on, and nobody says so",
                    expected="none, or each of them named as a survivor",
                    seen=", ".join(map(repr, unnamed[:10])),
                )


class OutcomeAfterQuiescence(_AboutProcesses):
    id = "outcome-after-quiescence"
    says = "The outcome is not recorded while the run's tree still works unreported."

    def compare(self, before: Snapshot, after: Snapshot) -> None:
        if not self.world.processes.used:
            return
        for run_id, run in after.runs.items():
            earlier = before.runs.get(run_id)
            if run.outcome is None or (earlier is not None and earlier.outcome is not None):
                continue
            if not self.had_any(run_id):
                continue
            self.exercised += 1
            waiting = self.world.processes.waiting_to_be_let_go(run.owner)
            left = [each for each in self.left_of(run_id) if each.pid not in waiting]
            if left and run.cleanup != "pending" and not all(_is_named(run, each) for each in left):
                self.fail(
                    f"the outcome of {run_id} was recorded while its processes worked on",
                    expected="their end first, or that they are named, or a clean-up that is pending",
                    seen=f"{run.outcome}, clean-up {run.cleanup or 'none'}, alive: {left[:10]!r}",
                )


def _is_named(run: RunSeen, process: SimProcess) -> bool:
    """Whether a process is among the survivors that a run names, or may be among those it only counts."""
    return process.pid in run.survivors or run.survivors_unnamed > 0 or None in run.survivors


PROCESS_INVARIANTS: tuple[type[Invariant], ...] = (
    NoStrangerSignalled,
    AuditBeforeSignal,
    NoOrphanLeft,
    OutcomeAfterQuiescence,
    NothingOfOthers,
)
