"""Reading what is stored: runs, events, and what is recorded of processes. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterable

from runcoord._answers import EventList, RunList
from runcoord._core import limits, submission
from runcoord._core.model import EventState, Instant, Run, State
from runcoord._log import ERROR, Log, say
from runcoord.errors import InvalidRequest, UndecodableRow, UnknownRun
from runcoord.ports import Audit, BadRow, RecordedProcess, Snapshot, Store, Teardown, View

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import TypeVar

    from runcoord._store_ports import R

    E = TypeVar("E", State, EventState)

log = Log("runcoord.coordinator")


class Lookups:
    """What may be asked about runs."""

    store: Store

    def run(self, run_id: str) -> Run:
        """The run as it is stored now. Raises :class:`~runcoord.errors.UnknownRun`."""
        with self.store.view("read-run") as view:
            run = view.run(run_id)
        if run is None:
            raise unknown_run(run_id)
        return run

    def runs(
        self,
        *,
        states: Iterable[State] = (),
        after: str = "",
        newest_first: bool = False,
        limit: int = 100,
    ) -> RunList:
        """Runs in the order of their acceptance, or newest first; at most ``limit`` of them.

        The list goes on after the run ``after``: the id of the last one on the page before. Raises
        :class:`~runcoord.errors.UnknownRun` when there is no such run.
        """
        bad: list[BadRow] = []
        with self.store.view("list-runs") as view:
            found = view.runs(
                states=_members(State, states),
                after=after,
                newest_first=newest_first,
                limit=_limit(limit),
                bad=bad,
            )
        return RunList(found, bad)

    def events(
        self,
        *,
        states: Iterable[EventState] = (),
        run_id: str = "",
        after: int = 0,
        newest_first: bool = False,
        limit: int = 100,
    ) -> EventList:
        """Events in the order of their acceptance, or newest first; at most ``limit`` of them.

        The list goes on after ``after``: the ``seq`` of the last one on the page before.
        """
        bad: list[BadRow] = []
        with self.store.view("list-events") as view:
            found = view.events(
                states=_members(EventState, states),
                run_id=run_id,
                after=after,
                newest_first=newest_first,
                limit=_limit(limit),
                bad=bad,
            )
        return EventList(found, bad)

    # --- processes ---

    def processes(self, run_id: str) -> list[RecordedProcess]:
        """The processes that were recorded for a run, oldest first; none for a run without processes, or for
        no run. A row that makes no sense raises :class:`~runcoord.errors.UndecodableRow`."""
        return self._records(RecordedProcess, run_id)

    def audits(self, run_id: str) -> list[Audit]:
        """What recovery intended to signal, and what came of it; oldest first."""
        return self._records(Audit, run_id)

    def teardowns(self, run_id: str) -> list[Teardown]:
        """The reports on how the run's processes were ended; the newest is the last."""
        return self._records(Teardown, run_id)

    def snapshot(self, run_id: str) -> Snapshot | None:
        """Where the git state before the run is, and what became of it; ``None`` where none was written."""
        found = self._records(Snapshot, run_id)
        return found[0] if found else None

    def _records(self, kind: type[R], run_id: str) -> list[R]:
        bad: list[BadRow] = []
        with self.store.view("read-records") as view:
            found = view.records(kind, run_id, limit=limits.MAX_LIST, bad=bad)
        if bad:
            raise bad[0].error()
        return found


def present(view: View, run_id: str, table: str, key: str) -> Run:
    """The run that a stored row names. Where it is missing that row is damage, and the run not unknown: to
    accept it anew could do its work a second time."""
    run = view.run(run_id)
    if run is None:
        raise UndecodableRow(
            f"row {key!r} of {table} cannot be understood: its run {run_id!r} is missing",
            remedy="Only this row is affected. Restore the run from a backup, or remove the row.",
            table=table,
            key=key,
            run=run_id,
        )
    return run


def next_waiting(view: View, now: Instant) -> Run | None:
    """The oldest run that can be claimed and read; ``None`` when there is none among those that are looked
    at. Rows that cannot be read are passed over, and named or counted in the log."""
    most, looked_at = limits.CLAIM_CANDIDATES, set[str]()
    while True:
        waiting = view.claimable(now, most)
        news = [run_id for run_id in waiting if run_id not in looked_at]
        found = _first(view, news) if looked_at else _first_one_by_one(view, news)
        if found is not None or len(waiting) < most or most >= limits.CLAIM_LOOKED_AT:
            return found
        looked_at |= {*waiting}
        most = min(most * limits.CLAIM_WIDENING, limits.CLAIM_LOOKED_AT)


def _first_one_by_one(view: View, run_ids: Iterable[str]) -> Run | None:
    """Nearly always the first one: the others are not read."""
    for run_id in run_ids:
        try:
            run = view.run(run_id)
        except UndecodableRow as error:
            say(log, ERROR, "a run cannot be claimed", run=run_id, problem=error.problem)
            continue
        if run is not None and run.state is not State.RUNNING:
            return run
    return None


def _first(view: View, run_ids: list[str]) -> Run | None:
    bad: list[BadRow] = []
    found = None
    for begin in range(0, len(run_ids), limits.RECOVERY_BATCH):
        runs = view.load_runs(run_ids[begin : begin + limits.RECOVERY_BATCH], bad)
        found = next((run for run in runs if run.state is not State.RUNNING), None)
        if found is not None:
            break
    if bad:
        say(log, ERROR, "runs cannot be claimed", count=len(bad), run=bad[0].key, problem=bad[0].problem)
    return found


def unknown_run(run_id: str) -> UnknownRun:
    return UnknownRun(f"there is no run {run_id!r}", remedy="List runs to see their ids.", run=run_id)


def _limit(limit: int) -> int:
    submission.require_count("limit", limit, 1, limits.MAX_LIST)
    return limit


def _members(kind: type[E], states: Iterable[E]) -> tuple[E, ...]:
    """The states that a list is asked for, also where a caller gives their names."""
    try:
        return tuple([kind(each) for each in states])
    except ValueError as error:
        raise InvalidRequest(str(error), remedy=f"Use some of: {', '.join(kind)}.", field="states") from None
