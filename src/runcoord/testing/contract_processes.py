"""The store contract: owners, and what is recorded of the processes of runs."""

from __future__ import annotations

from dataclasses import replace

from runcoord.ports import (
    Audit,
    BadRow,
    Change,
    Cleanup,
    CleanupState,
    Deadline,
    EventState,
    Fate,
    Habitat,
    Held,
    Owner,
    ProcessIdentity,
    ProcessReport,
    Record,
    RecordedProcess,
    Role,
    Run,
    RunRecord,
    Scope,
    Snapshot,
    SnapshotState,
    State,
    Survivor,
    Teardown,
    TeardownReport,
    Terms,
    UnknownIdentity,
)
from runcoord.testing.contract_case import (
    OWNER,
    StoreCase,
    accepted,
    claimed,
    event,
    finished,
    ids,
    require_equal,
    running,
)

SOMEBODY = ProcessIdentity(
    4242, 77, Habitat("host", "boot", "pid:[1]", "time:[1]", "linux-proc"), "00ff", "c0" * 16
)


def process(run_id: str, number: int, **fields: object) -> RecordedProcess:
    made = RecordedProcess(run_id, number, Role.LEADER, 3, SOMEBODY, Terms(), 5.0)
    return replace(made, **fields)  # type: ignore[arg-type]


def records_of(run_id: str) -> tuple[RunRecord, ...]:
    """One of each kind."""
    report = TeardownReport(True, (ProcessReport(7, Fate.KILLED, ("cookie",), ("TERM", "KILL")),), 1, 2)
    return (
        process(run_id, 1),
        Audit(run_id, 1, '{"pids":[7]}', 6.0),
        Teardown(run_id, 1, report, 7.0),
        Snapshot(run_id, "/saved"),
    )


class ProcessesOfRunsContract(StoreCase):
    def recorded(self, *records: Record) -> None:
        self.save(Change(records=records))

    def require_records(self, run_id: str, *expected: RunRecord) -> None:
        with self.open().view("look") as view:
            found: list[RunRecord] = [
                *view.records(RecordedProcess, run_id, limit=99),
                *view.records(Audit, run_id, limit=99),
                *view.records(Teardown, run_id, limit=99),
                *view.records(Snapshot, run_id, limit=99),
            ]
        require_equal(found, list(expected))

    def test_what_is_recorded_is_given_back_by_run_in_the_order_of_its_numbers(self) -> None:
        terms = Terms(Scope.GROUP, 0.5, "/words", "c0")
        several = [
            process("r1", 1, role=Role.SHIM, terms=terms),
            process("r1", 2, identity=UnknownIdentity("its environment is closed", 9), fate=Fate.UNKNOWN),
            process("r1", 10, identity=UnknownIdentity("nobody knows"), role=Role.MEMBER),
        ]
        self.recorded(*several[::-1], *records_of("r2"))
        self.require_records("r1", *several)
        self.require_records("r2", *records_of("r2"))
        self.require_records("r3")
        with self.store.view("look") as view:
            require_equal(view.records(RecordedProcess, "r1", limit=2), several[:2])

    def test_a_record_takes_the_place_of_the_one_with_the_same_key(self) -> None:
        self.recorded(*records_of("r1"), *records_of("r2"))
        _, audit, teardown, _ = records_of("r1")
        assert isinstance(audit, Audit), "the second record is no audit"
        later = (
            process("r1", 1, fate=Fate.KILLED),
            replace(audit, result='{"killed":1}'),
            teardown,
            Snapshot("r1", "/saved", SnapshotState.REFUSED, '{"why":"swapped"}'),
        )
        self.recorded(*later)
        self.require_records("r1", *later)
        self.require_records("r2", *records_of("r2"))

    def test_records_of_a_block_that_raises_are_not_there(self) -> None:
        self.recorded(*records_of("r1"))
        try:
            with self.store.transaction("undo") as tx:
                tx.save([Change(records=(process("r1", 1, fate=Fate.DENIED), Owner("me", SOMEBODY, 1.0)))])
                tx.save([Change(records=records_of("r2"))])
                raise LookupError
        except LookupError:
            pass
        self.require_records("r1", *records_of("r1"))
        self.require_records("r2")
        with self.store.view("look") as view:
            require_equal(view.owners(9), [])

    def test_a_record_that_makes_no_sense_is_named_alone(self) -> None:
        self.recorded(process("r1", 1), process("r1", 2), process("r1", 3), *records_of("r2"))
        for table, key, column, value in (
            ("processes", "r1/2", "role", "king"),
            ("audits", "r2/1", "at", "noon"),
            ("teardowns", "r2/1", "report", "{}"),
            ("snapshots", "r2", "state", "lost"),
        ):
            self.plant(self.store, table, key, column, value)
        bad: list[BadRow] = []
        with self.store.view("look") as view:
            found = view.records(RecordedProcess, "r1", limit=9, bad=bad)
            require_equal([each.number for each in found], [1, 3])
            require_equal(view.records(Audit, "r2", limit=9, bad=bad), [])
            require_equal(view.records(Teardown, "r2", limit=9, bad=bad), [])
            require_equal(view.records(Snapshot, "r2", limit=9, bad=bad), [])
            require_equal(view.records(Snapshot, "r2", limit=9), [], "without a list for bad rows")
        keys = [("processes", "r1/2"), ("audits", "r2/1"), ("teardowns", "r2/1"), ("snapshots", "r2")]
        require_equal([(row.table, row.key) for row in bad], keys)

    def test_pruning_a_run_removes_its_records_and_no_others(self) -> None:
        self.saved(finished("r1", 1.0), finished("r2", 2.0), running("r3", Deadline.after(self.now, 9.0)))
        self.recorded(*records_of("r1"), *records_of("r2"), *records_of("r3"), Owner("me", SOMEBODY, 1.0))
        with self.store.transaction("prune") as tx:
            tx.remove_runs(["r1", "r3"])
        self.require_records("r1")
        self.require_records("r2", *records_of("r2"))
        self.require_records("r3", *records_of("r3"))
        with self.store.view("look") as view:
            require_equal(len(view.owners(9)), 1)

    # --- owners ---

    def test_owners_are_listed_by_id_a_page_at_a_time(self) -> None:
        made = [Owner(f"gw{n}", replace(SOMEBODY, pid=n + 10), float(n)) for n in (1, 2, 3)]
        self.recorded(made[2], made[0], made[1])
        with self.store.view("look") as view:
            require_equal(view.owners(9), made)
            require_equal(view.owners(2), made[:2])
            require_equal(view.owners(9, "gw2"), made[2:])

    def test_an_owner_is_registered_anew_and_forgotten(self) -> None:
        again = Owner("gw1", replace(SOMEBODY, pid=9), 8.0)
        self.recorded(Owner("gw1", SOMEBODY, 1.0), Owner("gw2", UnknownIdentity("?"), 2.0))
        self.recorded(again)
        with self.store.transaction("forget") as tx:
            tx.remove_owner("gw2")
            tx.remove_owner("nobody")
        with self.store.view("look") as view:
            require_equal(view.owners(9), [again])

    def test_an_owner_row_that_makes_no_sense_is_named_alone(self) -> None:
        self.recorded(*(Owner(f"gw{n}", SOMEBODY, 1.0) for n in (1, 2, 3)))
        self.plant(self.store, "owners", "gw2", "since", "noon")
        bad: list[BadRow] = []
        with self.store.view("look") as view:
            require_equal([each.owner for each in view.owners(9, bad=bad)], ["gw1", "gw3"])
        require_equal([(row.table, row.key) for row in bad], [("owners", "gw2")])

    def test_what_an_owner_holds_is_what_is_leased_to_it_and_what_it_is_sending(self) -> None:
        live, past = Deadline.after(self.now, 60.0), Deadline.after(self.now, -1.0)
        pending = Cleanup(processes=1, due=live)
        self.saved(
            running("r2", live),
            claimed("r1", past),
            running("r3", live, owner="other"),
            accepted("r4", self.now),
            finished("r5", 1.0),
            finished("r6", 1.0, cleanup=pending),
            finished("r7", 1.0, cleanup=pending, owner="other"),
        )
        self.saved_events(
            event("e2/x", live, EventState.SENDING),
            event("e1/x", past, EventState.SENDING),
            event("e3/x", live, EventState.SENDING, owner="other"),
            event("e4/x", live),
        )
        with self.store.view("look") as view:
            require_equal(view.held_by(OWNER, 9), Held(("r1", "r2", "r6"), ("e2/x", "e1/x")))
            require_equal(view.held_by(OWNER, 1), Held(("r1",), ("e2/x",)))
            require_equal(view.held_by(OWNER, 9, after="r1").runs, ("r2", "r6"))
            require_equal(view.held_by("nobody", 9), Held())

    # --- runs ---

    def test_what_is_known_of_a_runs_processes_is_given_back(self) -> None:
        live = Deadline.after(self.now, 60.0)
        survivors = (Survivor(7, "stuck", "survived", "state D"), Survivor(None, "", "unknown", "/proc"))
        runs = [
            running("r1", live, cleanup=Cleanup(processes=2, attempts=3, deferred=True)),
            finished("r2", 1.0, cleanup=Cleanup(processes=2, rounds=1, due=live), exit_status=-9),
            finished("r3", 1.0, cleanup=Cleanup(CleanupState.DONE, 1, 1), exit_status=0),
            finished("r4", 1.0, cleanup=Cleanup(CleanupState.SURVIVED, survivors=survivors, unnamed=4)),
            accepted("r5", self.now, lineage="first", depth=2),
        ]
        self.saved(*runs)
        with self.open().view("look") as view:
            require_equal(view.load_runs([each.run_id for each in runs], []), runs)

    def test_a_finished_run_whose_processes_are_due_is_recoverable_and_is_not_pruned(self) -> None:
        live, past = Deadline.after(self.now, 60.0), Deadline.after(self.now, -1.0)
        elsewhere = Deadline(self.now.wall - 1.0, 9e9, "another boot")
        never = Deadline(self.now.wall + 90_000.0, 0.0, "another boot")
        for run_id, due in (("r1", live), ("r2", past), ("r3", elsewhere), ("r4", never)):
            self.saved(finished(run_id, 1.0, cleanup=Cleanup(processes=1, due=due)))
        self.saved(finished("r5", 1.0, cleanup=Cleanup(CleanupState.DONE, 1, 1)))
        with self.store.view("look") as view:
            require_equal(view.recoverable(self.now, 9), ["r2", "r3", "r4"])
            require_equal(view.recoverable(self.now, 9, after="r2"), ["r3", "r4"])
            require_equal(view.claimable(self.now, 9), [])
            require_equal(view.finished_before(9.0, 9), ["r5"])
            require_equal(ids(view.runs(states=[State.FINISHED], limit=9)), ["r1", "r2", "r3", "r4", "r5"])
        [run] = self.loaded("r2")
        settled = Cleanup(CleanupState.DONE, 1, 1)
        self.save(Change(before=run, run=replace(run, version=run.version + 1, cleanup=settled)))
        with self.store.view("look") as view:
            require_equal(view.recoverable(self.now, 9), ["r3", "r4"])
            require_equal(view.finished_before(9.0, 9), ["r2", "r5"])

    def loaded(self, *run_ids: str) -> list[Run]:
        with self.store.view("look") as view:
            return [*view.load_runs(run_ids, [])]

    def test_a_clean_up_that_makes_no_sense_is_named_and_the_others_are_recovered(self) -> None:
        past = Deadline.after(self.now, -1.0)
        for n in "123":
            self.saved(running(f"r{n}", past, cleanup=Cleanup(processes=1)))
        self.plant(self.store, "runs", "r2", "cleanup", "tidy")
        bad: list[BadRow] = []
        with self.store.view("look") as view:
            require_equal(ids(view.load_runs(view.recoverable(self.now, 9), bad)), ["r1", "r3"])
        require_equal([row.key for row in bad], ["r2"])

    def test_the_unfinished_runs_of_one_lineage_are_counted(self) -> None:
        live = Deadline.after(self.now, 60.0)
        self.saved(
            accepted("r1", self.now, lineage="one"),
            claimed("r2", live, lineage="one"),
            running("r3", live, lineage="one"),
            finished("r4", 1.0, lineage="one"),
            accepted("r5", self.now, lineage="other"),
            accepted("r6", self.now),
        )
        with self.store.view("look") as view:
            require_equal([view.count_unfinished(each) for each in ("one", "other", "none")], [3, 1, 0])

    def test_lineage_and_depth_are_fixed_when_the_run_is_accepted(self) -> None:
        run = accepted("r1", self.now, lineage="one", depth=1)
        self.saved(run)
        self.save(Change(before=run, run=replace(run, version=2, lineage="two", depth=9)))
        [stored] = self.loaded("r1")
        require_equal(stored, replace(run, version=2))
