"""Faults of what a sweep does, says and costs."""

from __future__ import annotations

from typing import Any

from pytest_runcoord.bite.boundary import Asked, Boundary, FaultySession, every_run
from pytest_runcoord.bite.fault import BoundaryFault, fault
from pytest_runcoord.deadlines import passed
from pytest_runcoord.subject import Answer, RunSeen, Snapshot
from runcoord.ports import Instant

SWEEPING = frozenset({"recover", "startup"})
COUNTED = ("interrupted", "stopped", "retried", "recovered", "delivered", "postponed", "held", "stale", "bad")
EMPTY_REPORT: dict[str, Any] = {**dict.fromkeys(COUNTED, 0), "unfinished": False, "named": [], "imports": []}
ROWS = 20
"""Rows for each run that is stored: more than any ended run may cost."""


class _DoesNothing(Boundary):
    """A sweep is not made, and its report is empty."""

    died = False

    def ended(self, session: FaultySession, crashed: bool) -> None:
        self.died = self.died or crashed

    def call(self, asked: Asked) -> Answer:
        if asked.verb != "recover":
            return asked.go()
        due = self._due(asked)
        if due:
            self.meet()
        return Answer({**EMPTY_REPORT, **self.claims(due)})

    def claims(self, due: int) -> dict[str, Any]:
        """What the report says, where so many runs were due."""
        return {}

    def _due(self, asked: Asked) -> int:
        """How many runs have lost their owner: their lease is over, or where they have none somebody died."""
        clock = asked.session.world.clock
        now = Instant(clock.wall(), clock.boottime(), clock.boot_id())
        held = [run for run in self.look(asked.session).runs.values() if run.state in ("claimed", "running")]
        return sum(self.died if run.lease is None else passed(run.lease, now) for run in held)


class _ClaimsToHave(_DoesNothing):
    """A sweep is not made, and its report says that it was."""

    def claims(self, due: int) -> dict[str, Any]:
        return {"interrupted": due, "recovered": due}


class _HandedOutAgain(Boundary):
    """A run whose owner died at work waits again, to be executed once more."""

    def snapshot(self, seen: Snapshot) -> Snapshot:
        def anew(run: RunSeen) -> dict[str, Any]:
            if run.outcome != "interrupted":
                return {}
            self.meet()
            return {"state": "accepted", "outcome": None, "owner": "", "lease": None}

        return every_run(seen, anew)


class _BadRowEnds(Boundary):
    """A sweep that meets a row which cannot be read does nothing more."""

    def call(self, asked: Asked) -> Answer:
        if asked.verb not in SWEEPING:
            return asked.go()
        bad = self.look(asked.session).bad
        if not bad:
            return asked.go()
        self.meet()
        named = sorted(f"{row.table}/{row.key}" for row in bad)
        return Answer({**EMPTY_REPORT, "bad": len(bad), "named": named})


class _Silent(Boundary):
    """A sweep says of nothing that it skipped, held or ended it."""

    def call(self, asked: Asked) -> Answer:
        answer = asked.go()
        told = {name: EMPTY_REPORT[name] for name in EMPTY_REPORT if answer.values.get(name)}
        told = {name: value for name, value in told.items() if name != "imports"}
        if asked.verb not in (*SWEEPING, "deliver") or not told:
            return answer
        self.meet()
        return Answer({**answer.values, **told}, answer.handle)


class _IdleWrites(Boundary):
    """A sweep writes a row, also where there is nothing to do."""

    def call(self, asked: Asked) -> Answer:
        answer = asked.go()
        if asked.verb in SWEEPING and asked.session.write_rows(1):
            self.meet()
        return answer


class _WritesAll(Boundary):
    """A sweep that has something to do writes every run anew."""

    def call(self, asked: Asked) -> Answer:
        if asked.verb not in SWEEPING:
            return asked.go()
        before = self.look(asked.session)
        answer = asked.go()
        after = self.look(asked.session)
        if after.runs != before.runs and asked.session.write_rows(ROWS * len(after.runs)):
            self.meet()
        return answer


class _ReadingWrites(Boundary):
    """Who looks leaves a note on every run."""

    def __init__(self) -> None:
        super().__init__()
        self.looked = 0

    def call(self, asked: Asked) -> Answer:
        answer = asked.go()
        self.looked += asked.verb in ("look", "read_result")
        return answer

    def snapshot(self, seen: Snapshot) -> Snapshot:
        if not self.looked or not seen.runs:
            return seen
        self.meet()
        return every_run(seen, lambda run: {"progress": f"looked at {self.looked} times"})


FAULTS: tuple[BoundaryFault, ...] = (
    fault(
        "recovery-does-nothing",
        "A sweep is asked for, and nothing is done.",
        _DoesNothing,
        needs="recovery",
        words="recover crash start advance",
        caught_by="run runs delivered event answer converges",
    ),
    fault(
        "recovery-claims-to-have-worked",
        "A sweep is not made, and its report says that it was.",
        _ClaimsToHave,
        needs="recovery",
        words="recover crash start advance",
        caught_by="run runs delivered event answer converges",
    ),
    fault(
        "started-run-handed-out-again",
        "Recovery hands a run out again whose work had begun.",
        _HandedOutAgain,
        needs="interruption",
        words="recover start crash advance",
        caught_by="starts-once",
    ),
    fault(
        "bad-row-stops-the-sweep",
        "A row that cannot be read ends a sweep, and the rest is left.",
        _BadRowEnds,
        needs="recovery reports sqlite",
        words="recover damage lose_row",
        shows_in="damage lose_row",
        caught_by="one-bad-apple",
    ),
    fault(
        "sweep-in-silence",
        "A sweep counts nothing of what it ended, held or skipped.",
        _Silent,
        needs="recovery reports",
        words="recover start advance",
        caught_by="no-silent-zero",
    ),
    fault(
        "idle-sweep-writes",
        "A sweep with nothing to do writes a row.",
        _IdleWrites,
        needs="recovery counters",
        words="recover",
        caught_by="idle-is-free",
    ),
    fault(
        "work-grows-with-what-exists",
        "A sweep that ends one run writes them all.",
        _WritesAll,
        needs="recovery counters",
        words="recover start advance",
        caught_by="work-in-proportion",
    ),
    fault(
        "reading-writes",
        "Looking changes what is stored.",
        _ReadingWrites,
        needs="sqlite",
        words="look read_result",
        shows_in="look read_result report rewrite damage",
        caught_by="nothing-unasked",
    ),
)
