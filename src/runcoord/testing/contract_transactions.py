"""The store contract: what a transaction is."""

from __future__ import annotations

from dataclasses import replace

from runcoord.errors import StoreUnavailable, VersionConflict
from runcoord.ports import Change, Command, Deadline, Group, State
from runcoord.testing.contract_case import (
    OWNER,
    Refusal,
    StoreCase,
    accepted,
    claimed,
    event,
    finished,
    life,
    require_equal,
)


class _BlockError(Exception):
    """Raised by a test inside a block."""


class TransactionContract(StoreCase):
    def test_what_a_transaction_saved_is_there_for_every_opener(self) -> None:
        run = accepted("r1", self.now)
        command, group = Command("k", "r1", "hash", 5.25), Group("g", 3, "chat", completed=1)
        told = event("r1/finished", Deadline.after(self.now, 1.0))
        self.save(Change(run=run, command=command, group=group, new_events=(told,)))
        with self.open().view("look") as view:
            require_equal(view.run("r1"), run)
            require_equal(view.command("k"), command)
            require_equal(view.group("g"), group)
            require_equal(view.event("r1/finished"), replace(told, seq=1))

    def test_a_transaction_sees_what_it_has_saved(self) -> None:
        with self.store.transaction("both") as tx:
            tx.save([Change(run=accepted("r1", self.now))])
            require_equal(tx.claimable(self.now, 5), ["r1"])

    def test_a_block_that_raises_changes_nothing(self) -> None:
        self.saved(accepted("r1", self.now))
        self.saved_events(event("e1", Deadline.after(self.now, 1.0)))
        before, rows = self.everything(), self.store.counters.rows_written
        with Refusal(_BlockError), self.store.transaction("fails") as tx:
            run = tx.run("r1")
            assert run is not None
            tx.save([Change(before=run, run=replace(run, version=2, progress="half"))])
            tx.save([Change(run=accepted("r2", self.now), command=Command("k", "r2", "h", 1.0))])
            tx.save(
                [Change(group=Group("g", 1, "chat"), new_events=(event("e2", run.lease or _soon(self)),))]
            )
            tx.remove_runs(["r1"])
            raise _BlockError
        require_equal(self.everything(), before)
        require_equal(self.store.counters.rows_written, rows, "rows written")
        with self.open().view("look") as view:
            require_equal([view.command("k"), view.group("g"), view.event("e2"), view.run("r2")], [None] * 4)

    def test_numbers_given_in_a_block_that_raised_are_given_again(self) -> None:
        with Refusal(_BlockError), self.store.transaction("fails") as tx:
            tx.save([Change(new_events=(event("lost", _soon(self)),))])
            raise _BlockError
        self.saved_events(event("kept", _soon(self)))
        with self.store.view("look") as view:
            require_equal([each.seq for each in view.events(limit=9)], [1])

    def test_a_save_on_an_outdated_version_is_refused_and_the_whole_transaction_is_undone(self) -> None:
        run, other = accepted("r1", self.now), accepted("r2", self.now)
        self.saved(run, other)
        self.save(Change(before=run, run=replace(run, version=2, progress="newer")))
        before = self.everything()
        with Refusal(VersionConflict) as refusal, self.store.transaction("late") as tx:
            tx.save([Change(run=accepted("r3", self.now))])
            tx.save(
                [
                    Change(before=other, run=replace(other, version=2)),
                    Change(before=run, run=replace(run, version=2, progress="older")),
                ]
            )
        assert "r1" in str(refusal.error), f"the run is not named: {refusal.error}"
        require_equal(self.everything(), before)

    def test_a_save_on_a_version_that_the_store_has_not_reached_is_refused(self) -> None:
        run = accepted("r1", self.now)
        self.saved(run)
        with Refusal(VersionConflict), self.store.transaction("ahead") as tx:
            tx.save([Change(before=replace(run, version=5), run=replace(run, version=6))])
        require_equal(self.everything()["runs"], [run])

    def test_a_conflict_that_the_block_swallows_still_undoes_everything(self) -> None:
        run = accepted("r1", self.now)
        self.saved(run)
        self.save(Change(before=run, run=replace(run, version=2)))
        before = self.everything()
        with Refusal(VersionConflict), self.store.transaction("swallows") as tx:
            tx.save([Change(run=accepted("r2", self.now))])
            with Refusal(VersionConflict):
                tx.save([Change(before=run, run=replace(run, version=2))])
        require_equal(self.everything(), before)

    def test_a_save_of_a_run_that_is_gone_is_refused(self) -> None:
        run = accepted("r1", self.now)
        with Refusal(VersionConflict), self.store.transaction("gone") as tx:
            tx.save([Change(before=run, run=replace(run, version=2))])
        require_equal(self.everything()["runs"], [])

    def test_what_exists_already_is_not_saved_as_new(self) -> None:
        due = _soon(self)
        self.save(Change(run=accepted("r1", self.now), command=Command("k", "r1", "h", 1.0)))
        self.saved_events(event("e1", due))
        before = self.everything()
        for change in (
            Change(run=accepted("r1", self.now)),
            Change(run=accepted("r2", self.now), command=Command("k", "r2", "h", 1.0)),
            Change(new_events=(event("e0", due), event("e1", due))),
        ):
            with Refusal(VersionConflict), self.store.transaction("again") as tx:
                tx.save([change])
            require_equal(self.everything(), before)

    def test_an_event_that_is_gone_cannot_be_changed(self) -> None:
        with Refusal(VersionConflict), self.store.transaction("gone") as tx:
            tx.save([Change(run=accepted("r1", self.now)), Change(events=(event("e1", _soon(self)),))])
        require_equal(self.everything(), {"runs": [], "events": [], "untold": 0})

    def test_one_save_may_take_a_run_through_several_versions(self) -> None:
        self.save(*life("r1", self.clock))
        with self.store.view("look") as view:
            run = view.run("r1")
        assert run is not None
        require_equal((run.state, run.version, run.result), (State.FINISHED, 4, "done"))

    def test_two_openers_that_decided_on_the_same_version_cannot_both_save(self) -> None:
        run = accepted("r1", self.now)
        self.saved(run)
        mine = claimed("r1", _soon(self), version=2)
        with self.open().transaction("first") as tx:
            tx.save([Change(before=run, run=mine)])
        with Refusal(VersionConflict), self.open().transaction("second") as tx:
            tx.save([Change(before=run, run=replace(mine, owner="worker-2"))])
        with self.store.view("look") as view:
            seen = view.run("r1")
        require_equal(seen and seen.owner, OWNER)

    def test_a_group_is_created_once_and_then_counts(self) -> None:
        self.save(Change(group=Group("g", 2, "chat")))
        self.save(Change(group=Group("g", 2, "chat", failed=1)))
        with self.store.view("look") as view:
            require_equal(view.group("g"), Group("g", 2, "chat", failed=1))

    def test_reading_and_a_transaction_without_changes_write_nothing(self) -> None:
        self.save(*life("r1", self.clock))
        rows, commits = self.store.counters.rows_written, self.store.counters.commits
        self.everything()
        with self.store.transaction("idle") as tx:
            tx.save([])
            require_equal(tx.recoverable(self.now, 9), [])
        require_equal((self.store.counters.rows_written, self.store.counters.commits), (rows, commits))

    def test_rows_written_are_those_that_the_changes_name(self) -> None:
        start = self.store.counters.rows_written
        self.save(*life("r1", self.clock))  # a run, a command, three updates, an event
        require_equal(self.store.counters.rows_written - start, 6, "rows written")
        self.saved(*(finished(f"old-{number}", 1.0) for number in range(50)))
        start, commits = self.store.counters.rows_written, self.store.counters.commits
        self.save(*life("r2", self.clock))
        require_equal(self.store.counters.rows_written - start, 6, "rows written beside fifty others")
        require_equal(self.store.counters.commits - commits, 1, "commits")

    def test_after_closing_every_use_is_refused_and_closing_again_changes_nothing(self) -> None:
        self.saved(accepted("r1", self.now))
        store = self.open()
        store.close()
        store.close()
        with Refusal(StoreUnavailable), store.transaction("late"):
            raise AssertionError("a closed store began a transaction")
        with Refusal(StoreUnavailable), store.view("late"):
            raise AssertionError("a closed store began a view")
        require_equal(len(self.everything()["runs"]), 1)

    def test_a_view_is_of_no_use_after_its_block(self) -> None:
        with self.store.view("look") as view:
            view.run("r1")
        with Refusal(RuntimeError):
            view.run("r1")

    def test_a_thread_has_one_block_of_a_store_at_a_time(self) -> None:
        with self.store.transaction("outer"):
            with Refusal(RuntimeError), self.store.transaction("inner"):
                raise AssertionError("a transaction began inside another")
            with Refusal(RuntimeError), self.store.view("inner"):
                raise AssertionError("a view began inside a transaction")
        self.saved(accepted("r1", self.now))


def _soon(case: StoreCase) -> Deadline:
    return Deadline.after(case.now, 1.0)
