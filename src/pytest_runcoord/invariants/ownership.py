"""Invariants about who owns a run."""

from __future__ import annotations

from pytest_runcoord.deadlines import live, passed, seconds_left
from pytest_runcoord.history import Entry
from pytest_runcoord.incarnation import Life
from pytest_runcoord.invariants.base import Invariant
from pytest_runcoord.subject import RunSeen, Snapshot
from runcoord.ports import Deadline, Instant

ACQUIRING = frozenset({"claim", "claim_next", "reacquire", "execute", "execute_next", "supervise"})
TAKING = frozenset({"claim", "claim_next", "execute", "execute_next", "recover", "startup"})
WRITING = frozenset(
    {"start", "renew", "reacquire", "release", "progress", "publish", "complete", "record_process", "launch"}
)
"""Writes that name the epoch of their handle; an execution re-acquires by itself and is not among them."""


class EpochRises(Invariant):
    id = "epoch-rises"
    says = "Every acquisition raises the epoch; it never falls or empties."
    needs = frozenset({"epochs"})
    hears = frozenset({"verb"})
    verbs = ACQUIRING
    about_runs = True

    def __init__(self, *world: object) -> None:
        super().__init__(*world)  # type: ignore[arg-type]
        self._given: dict[str, set[int]] = {}
        """Epochs that verbs gave."""
        self._stored: dict[str, list[tuple[int, int]]] = {}
        """Epochs that were seen in the store, each with the number of the newest entry by then."""

    def see(self, entry: Entry, before: Snapshot) -> None:
        if entry.status != "ok":
            return
        run, epoch = entry.data.get("run"), entry.data.get("epoch")
        if not isinstance(run, str) or not isinstance(epoch, int):
            return
        given = self._given.setdefault(run, set())
        # What was stored while the verb was under way may be its own doing.
        known = max((seen for number, seen in self._stored.get(run, ()) if number < entry.number), default=0)
        if known or given:
            self.exercised += 1
        if epoch <= known or epoch in given:
            self.fail(
                f"{entry.actor} acquired {run} without a new epoch",
                expected=f"an epoch above {known}, given to nobody else",
                seen=f"epoch {epoch}",
            )
        given.add(epoch)

    def compare(self, before: Snapshot, after: Snapshot) -> None:
        for run_id, seen in after.runs.items():
            earlier = before.runs.get(run_id)
            if earlier is None or seen is earlier:
                continue
            if seen.epoch < earlier.epoch:
                self.fail(
                    f"the epoch of {run_id} fell", expected=f"at least {earlier.epoch}", seen=str(seen.epoch)
                )
            if seen.epoch != earlier.epoch:
                self.exercised += 1
                number = len(self.world.history.entries)
                self._stored.setdefault(run_id, []).append((number, seen.epoch))
            elif seen.owner and earlier.owner and seen.owner != earlier.owner:
                self.fail(
                    f"{run_id} changed its owner without a new epoch",
                    expected=f"an epoch above {earlier.epoch}",
                    seen=f"owner {earlier.owner} became {seen.owner} at epoch {seen.epoch}",
                )


class StaleOwnerRefused(Invariant):
    id = "stale-owner-refused"
    says = "No write by a lower epoch lands."
    needs = frozenset({"epochs"})
    hears = frozenset({"verb"})
    verbs = WRITING

    def __init__(self, *world: object) -> None:
        super().__init__(*world)  # type: ignore[arg-type]
        self._released: dict[str, int] = {}

    def see(self, entry: Entry, before: Snapshot) -> None:
        run, epoch = entry.data.get("on"), entry.data.get("with_epoch")
        newest = before.runs.get(run) if isinstance(run, str) else None
        if newest is None or not isinstance(run, str) or not isinstance(epoch, int):
            return
        if epoch >= newest.epoch and epoch > self._released.get(run, 0):
            if entry.what == "release" and entry.status == "ok":
                self._released[run] = epoch
            return
        if entry.what == "start" and "starting" not in self.world.subject.capabilities:
            return  # where claiming is starting it says nothing, and can refuse nothing
        self.exercised += 1
        if entry.status == "ok":
            self.fail(
                f"{entry.what} by {entry.actor} landed on {run}, which was given back or acquired since",
                expected=f"refused: its epoch is {epoch}, the newest is {newest.epoch}",
                seen="accepted",
            )


class LiveLeaseKept(Invariant):
    id = "live-lease-kept"
    says = "No takeover of an unexpired lease without proof of death."
    needs = frozenset({"leases", "owners"})
    hears = frozenset({"verb"})
    verbs = TAKING
    about_runs = True

    def __init__(self, *world: object) -> None:
        super().__init__(*world)  # type: ignore[arg-type]
        self._ends: dict[str, Deadline] = {}
        """Ends of the leases by the world's own clocks, whatever wall time the subject has stored."""

    def see(self, entry: Entry, before: Snapshot) -> None:
        now = self.world.instant()
        actor = f"{entry.actor}#{entry.data.get('start')}"
        wanted = entry.data.get("on")
        for run in before.runs.values():
            if live(run, now) and run.owner != actor and wanted in (None, run.run_id):
                self.exercised += 1

    def compare(self, before: Snapshot, after: Snapshot) -> None:
        now = self.world.instant()
        for run_id, seen in after.runs.items():
            was = before.runs.get(run_id)
            if seen is was:
                continue
            if was is not None:
                self._require_end(run_id, was, seen, now)
            if seen.lease is not None:
                self._anchor(run_id, seen.lease, now)

    def _require_end(self, run_id: str, was: RunSeen, seen: RunSeen, now: Instant) -> None:
        """Another has a run than before: its lease had ended, or its holder is dead."""
        if was.lease is None or (seen.owner in ("", was.owner) and not self._ended_by_another(was, seen)):
            return
        end = self._ends.get(run_id, was.lease)
        if not passed(end, now) and not self.world.provably_dead(was.owner, seen.owner):
            self.fail(
                f"the live lease of {was.owner} on {run_id} was taken",
                expected=f"nobody acquires it for another {seconds_left(end, now):.1f} s",
                seen=f"{seen.owner} has it as {seen.state} at epoch {seen.epoch}",
            )

    def _anchor(self, run_id: str, lease: Deadline, now: Instant) -> None:
        known = self._ends.get(run_id)
        if lease.boot_id == now.boot_id and (known is None or known.boottime != lease.boottime):
            left = lease.boottime - now.boottime
            self._ends[run_id] = Deadline(now.wall + left, lease.boottime, lease.boot_id)

    def _ended_by_another(self, was: RunSeen, seen: RunSeen) -> bool:
        """Interrupted under a live lease: only its owner may do that, and it did not."""
        return seen.outcome == "interrupted" and seen.epoch != was.epoch


class OwnerTold(Invariant):
    id = "owner-told"
    says = "A holder that lost its run has no effect afterwards, and is told."
    needs = frozenset({"executor", "owners"})
    hears = frozenset({"verb"})
    verbs = frozenset({"effect", "finish", "hold"})

    def __init__(self, *world: object) -> None:
        super().__init__(*world)  # type: ignore[arg-type]
        self._lost: set[str] = set()

    def see(self, entry: Entry, before: Snapshot) -> None:
        run_id = str(entry.data.get("on"))
        run = before.runs.get(run_id)
        if run is None or run.owner in ("", f"{entry.actor}#{entry.data.get('start')}"):
            return
        self.exercised += 1
        landed = entry.status == "ok" and (
            entry.what == "effect" or (entry.what == "finish" and entry.data.get("ended") != "lost")
        )
        if landed:
            self.fail(
                f"{entry.actor} lost {run_id} to {run.owner} and had an effect afterwards",
                expected=f"{entry.what} is refused",
                seen="it went through",
            )

    def settle(self) -> None:
        snapshot = self.world.snapshot()
        for handle in self.world.handles.values():
            if handle.kind != "execution" or handle.run is None:
                continue
            run = snapshot.runs.get(handle.run)
            incarnation = self.world.owners.get(handle.owner)
            alive = incarnation is not None and incarnation.life is Life.ALIVE
            if run is None or not alive or incarnation is None or incarnation.number != handle.incarnation:
                continue
            if run.owner == incarnation.owner_id or incarnation.process is None:
                continue
            self.exercised += 1
            hold = incarnation.process.call("hold", {}, handle.name)
            if hold.get("hold") == "held":
                self.fail(
                    f"{handle.owner} lost {handle.run} to {run.owner} and was never told",
                    expected="its hold ends",
                    seen="it still believes that it holds the run",
                )
