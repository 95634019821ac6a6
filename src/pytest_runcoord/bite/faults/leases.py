"""Faults of who holds a run, and under which epoch."""

from __future__ import annotations

from typing import Any, ClassVar

from pytest_runcoord.bite.boundary import Asked, Boundary, FaultySession, StandIn, every_run, with_runs
from pytest_runcoord.bite.fault import BoundaryFault, fault
from pytest_runcoord.bite.faults.accepting import SaysYes
from pytest_runcoord.subject import Answer, RunSeen, Snapshot

ACQUIRING = frozenset({"claim", "claim_next", "reacquire", "execute", "execute_next", "supervise"})


class _StaleWrite(SaysYes):
    """A write by a lower epoch is accepted, and lands."""

    codes = frozenset({"lease-lost", "lease-held", "already-finished"})

    def __init__(self) -> None:
        super().__init__()
        self.landed: dict[str, dict[str, Any]] = {}

    def granted(self, asked: Asked) -> Answer | None:
        if asked.run is None:
            return None
        self.landed.setdefault(asked.run, {}).update(self.writes(asked))
        return Answer({**asked.known, "run": asked.run, "epoch": asked.epoch, **self.says(asked)})

    def writes(self, asked: Asked) -> dict[str, Any]:
        """Fields of the run that are written."""
        return {}

    def says(self, asked: Asked) -> dict[str, Any]:
        """Values of the answer besides the run and its epoch."""
        return {}

    def snapshot(self, seen: Snapshot) -> Snapshot:
        return with_runs(seen, self.landed) if self.landed else seen


class _StaleStart(_StaleWrite):
    verbs = frozenset({"start"})

    def writes(self, asked: Asked) -> dict[str, Any]:
        return {"state": "running"}


class _StaleRenewal(_StaleWrite):
    verbs = frozenset({"renew"})


class _StaleProgress(_StaleWrite):
    verbs = frozenset({"progress", "publish"})

    def writes(self, asked: Asked) -> dict[str, Any]:
        return {"progress": asked.args["text"]} if "text" in asked.args else {}


class _StaleCompletion(_StaleWrite):
    verbs = frozenset({"complete"})

    def writes(self, asked: Asked) -> dict[str, Any]:
        args = asked.args
        told = {name: args[name] for name in ("result", "error") if args.get(name)}
        return {"state": "finished", "outcome": args["outcome"], "lease": None, **told}

    def says(self, asked: Asked) -> dict[str, Any]:
        return {"outcome": asked.args["outcome"], "late": False}


class _Stolen(SaysYes):
    """A claim that is refused is granted all the same, and shows in the store."""

    verbs = frozenset({"claim"})
    codes = frozenset({"lease-held", "already-finished", "already-started", "not-claimable", "unknown-run"})
    """Names under which claims are refused, by coordinators that tell more and less apart."""
    of_ended: ClassVar[bool]
    """Of runs that have ended, or of those that somebody holds."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: dict[str, dict[str, Any]] = {}

    def granted(self, asked: Asked) -> Answer | None:
        run = self.look(asked.session).runs.get(asked.run or "")
        if run is None or (run.outcome is not None) is not self.of_ended or run.state == "accepted":
            return None
        epoch = run.epoch + 1
        self.taken[run.run_id] = {"state": "claimed", "owner": asked.session.owner, "epoch": epoch}
        values = {"run": run.run_id, "epoch": epoch, "owner": asked.session.owner}
        return Answer(values, StandIn(run.run_id, epoch))

    def snapshot(self, seen: Snapshot) -> Snapshot:
        return with_runs(seen, self.taken) if self.taken else seen


class _StolenLive(_Stolen):
    of_ended = False


class _StolenFinished(_Stolen):
    of_ended = True


class _SameEpoch(Boundary):
    """Whoever acquires a run after the first is given the epoch of the first."""

    def __init__(self) -> None:
        super().__init__()
        self.first: dict[str, int] = {}

    def call(self, asked: Asked) -> Answer:
        answer = asked.go()
        run, epoch = answer.values.get("run"), answer.values.get("epoch")
        if asked.verb not in ACQUIRING or not isinstance(run, str) or not isinstance(epoch, int):
            return answer
        first = self.first.setdefault(run, epoch)
        if first == epoch:
            return answer
        self.meet()
        return Answer({**answer.values, "epoch": first}, answer.handle)

    def snapshot(self, seen: Snapshot) -> Snapshot:
        return every_run(seen, self._as_first)

    def _as_first(self, run: RunSeen) -> dict[str, Any]:
        first = self.first.get(run.run_id, run.epoch)
        if run.epoch <= first:
            return {}
        self.meet()
        return {"epoch": first}


class _FallenEpoch(Boundary):
    """Giving a run back, or ending it, empties its epoch."""

    def snapshot(self, seen: Snapshot) -> Snapshot:
        def emptied(run: RunSeen) -> dict[str, Any]:
            if not run.epoch or (run.owner and run.outcome is None):
                return {}
            self.meet()
            return {"epoch": 0}

        return every_run(seen, emptied)


class _PassedOver(Boundary):
    """Who asks for any run is given none, though some wait."""

    def call(self, asked: Asked) -> Answer:
        if asked.verb != "claim_next":
            return asked.go()
        waiting = [run for run in self.look(asked.session).runs.values() if run.state == "accepted"]
        if not waiting:
            return asked.go()
        self.meet()
        return Answer({"run": None})


class _LateRenewal(SaysYes):
    verbs = frozenset({"renew"})
    codes = frozenset({"lease-expired"})

    def granted(self, asked: Asked) -> Answer | None:
        return Answer({**asked.known, "run": asked.run, "epoch": asked.epoch, "stop_requested": False})


class _NotTold(SaysYes):
    """Who lost its run goes on as if it had it."""

    verbs = frozenset({"effect", "finish"})
    codes = frozenset({"lease-lost", "lease-expired", "already-finished"})

    def call(self, asked: Asked) -> Answer:
        answer = super().call(asked)
        if asked.verb == "hold" and answer.values.get("hold") != "held":
            self.meet()
            return Answer({**answer.values, "hold": "held", "reports": []}, answer.handle)
        if asked.verb == "finish" and answer.values.get("ended") == "lost":
            self.meet()
            told = {"ended": "recorded", "outcome": asked.args["outcome"]}
            return Answer({**answer.values, **told}, answer.handle)
        return answer

    def granted(self, asked: Asked) -> Answer | None:
        return Answer({**asked.known, "outcome": asked.args.get("outcome"), "ended": "recorded"})


class _OpeningTakes(Boundary):
    """Opening hands the oldest run that waits to whoever opens."""

    def opened(self, session: FaultySession) -> None:
        waiting = [run for run in self.look(session).runs.values() if run.state == "accepted"]
        if waiting:
            session.inner.claim(run=waiting[0].run_id)  # type: ignore[attr-defined]
            self.meet()


class _OpeningWrites(Boundary):
    """Opening notes on every run that somebody was here."""

    def __init__(self) -> None:
        super().__init__()
        self.noted = ""

    def opened(self, session: FaultySession) -> None:
        self.noted = f"seen by {session.owner}"

    def snapshot(self, seen: Snapshot) -> Snapshot:
        if not self.noted or len(self.sessions) < 2 or not seen.runs:
            return seen
        self.meet()
        return every_run(seen, lambda run: {"progress": self.noted})


def _stale(name: str, what: str, boundary: type[_StaleWrite], needs: str) -> BoundaryFault:
    return fault(
        f"stale-{name}-accepted",
        f"{what} by an owner that lost the run to another one is accepted, and lands.",
        boundary,
        needs=f"runs {needs}",
        words=f"{' '.join(sorted(boundary.verbs))} lease-lost claim advance",
        shows_in=" ".join(sorted(boundary.verbs)),
        caught_by="stale-owner-refused refused",
        origin="etcd#11456",
    )


FAULTS: tuple[BoundaryFault, ...] = (
    _stale("completion", "An outcome", _StaleCompletion, "leases"),
    _stale("renewal", "A renewal", _StaleRenewal, "leases renewal"),
    _stale("progress", "Progress", _StaleProgress, "leases progress"),
    _stale("start", "The begin of work", _StaleStart, "leases starting"),
    fault(
        "live-lease-stolen",
        "A claim is granted while another owner holds an unexpired lease.",
        _StolenLive,
        needs="runs",
        words="claim lease-held",
        shows_in="claim",
        caught_by="live-lease-kept",
    ),
    fault(
        "finished-run-claimed-again",
        "A run that has ended is handed out again.",
        _StolenFinished,
        needs="runs",
        words="claim already-finished",
        shows_in="claim",
        caught_by="one-outcome",
    ),
    fault(
        "epoch-does-not-rise",
        "Whoever acquires a run is given the epoch of the owner before.",
        _SameEpoch,
        needs="epochs",
        words="claim lease-lost advance release",
        caught_by="epoch-rises",
    ),
    fault(
        "epoch-falls",
        "Giving a run back, or ending it, empties its epoch.",
        _FallenEpoch,
        needs="epochs",
        words="release claim",
        caught_by="epoch-rises",
    ),
    fault(
        "waiting-run-passed-over",
        "A run waits, and nobody who asks for work is given it.",
        _PassedOver,
        needs="claim-next recovery",
        words="claimable",
        caught_by="answer run converges",
    ),
    fault(
        "late-renewal-accepted",
        "A lease that has run out is renewed as if it had not.",
        _LateRenewal,
        needs="renewal reacquire",
        words="renew lease-expired",
        shows_in="renew",
        caught_by="live-lease-kept refused",
    ),
    fault(
        "owner-not-told",
        "Who lost its run is not told, and its effects go through.",
        _NotTold,
        needs="executor",
        words="effect finish hold pause stall",
        shows_in="execute execute_next",
        caught_by="owner-told",
    ),
    fault(
        "opening-takes-work",
        "Opening a coordinator hands a waiting run to whoever opens.",
        _OpeningTakes,
        needs="runs quiet",
        words="open submit restart",
        caught_by="nothing-unasked",
    ),
    fault(
        "opening-writes",
        "Opening a coordinator writes to what is stored.",
        _OpeningWrites,
        needs="runs quiet",
        words="open submit restart",
        caught_by="nothing-unasked",
    ),
)
