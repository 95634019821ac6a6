"""The store contract: what is to prune, and what pruning removes."""

from __future__ import annotations

from runcoord.ports import Change, Command, Deadline, Event, EventKind, EventState, Group
from runcoord.testing.contract_case import (
    StoreCase,
    accepted,
    event,
    finished,
    ids,
    life,
    require_equal,
    spec,
)


def runless(
    event_id: str, delivered_at: float, group: str = "", state: EventState = EventState.DELIVERED
) -> Event:
    """A digest, or the summary of ``group``; delivered, unless another state is given."""
    kind = EventKind.GROUP if group else EventKind.DIGEST
    due = Deadline(0.0, 0.0, "b")
    return event(event_id, due, state, run_id="", kind=kind, group=group, delivered_at=delivered_at)


class PruningContract(StoreCase):
    def test_runs_are_to_prune_when_they_ended_before_and_nothing_is_left_to_deliver(self) -> None:
        due = Deadline.after(self.now, 0.0)
        self.saved(
            *(finished(run_id, at) for run_id, at in (("c", 5.0), ("b", 3.0), ("a", 3.0), ("now", 10.0)))
        )
        self.saved(*(finished(state.value, 1.0) for state in EventState), accepted("open", self.now))
        self.saved_events(*(event(f"{state.value}/finished", due, state) for state in EventState))
        self.saved_events(event("b/note", due, EventState.DELIVERED))
        with self.store.view("look") as view:
            require_equal(view.finished_before(10.0, 9), ["delivered", "b", "a", "c"])
            require_equal(view.finished_before(10.0, 2), ["delivered", "b"])
            require_equal(view.finished_before(1.0, 9), [])

    def test_a_retry_is_to_prune_after_the_run_that_names_it(self) -> None:
        self.saved(
            finished("second", 2.0, retry_of="first", retried_as="third"),
            finished("third", 3.0, retry_of="second"),
            finished("first", 1.0, retried_as="second"),
            finished("of-another-first", 4.0, retry_of="first"),
            finished("of-nobody", 5.0, retry_of="gone"),
        )
        for expected in ("first", "second", "third"):
            with self.store.transaction("prune") as tx:
                found = tx.finished_before(9.0, 9)
                require_equal(found, [expected, "of-another-first", "of-nobody"])
                tx.remove_runs([expected])

    def test_pruning_removes_finished_runs_with_their_commands_and_events_and_nothing_else(self) -> None:
        self.save(*life("old", self.clock))
        self.save(*life("kept", self.clock))
        self.save(Change(run=accepted("open", self.now), command=Command("key-open", "open", "h", 1.0)))
        self.saved_events(
            *(event(f"{run_id}/note", Deadline.after(self.now, 0.0)) for run_id in ("old", "kept"))
        )
        with self.store.transaction("prune") as tx:
            tx.remove_runs(["old", "open", "unknown"])
        with self.store.view("look") as view:
            require_equal([view.run("old"), view.command("key-old"), view.event("old/finished")], [None] * 3)
            require_equal(view.events(run_id="old", limit=9), [])
            require_equal(ids(view.runs(limit=9)), ["kept", "open"])
            require_equal(ids(view.events(limit=9)), ["kept/finished", "kept/note"])
            assert view.command("key-kept"), "the command of another run is gone"
            assert view.command("key-open"), "the command of an unfinished run is gone"

    def test_a_pruned_key_and_id_may_be_used_again(self) -> None:
        self.save(*life("r1", self.clock))
        with self.store.transaction("prune") as tx:
            tx.remove_runs(["r1"])
        self.save(*life("r1", self.clock))
        with self.store.view("look") as view:
            require_equal([each.seq for each in view.events(limit=9)], [2], "a number is never given twice")

    def test_numbers_go_on_after_the_newest_and_after_older_ones_were_pruned(self) -> None:
        for run_id in ("r1", "r2"):
            self.save(*life(run_id, self.clock))
        for pruned, expected in (("r1", [2, 3]), ("r3", [2, 4])):
            with self.store.transaction("prune") as tx:
                tx.remove_runs([pruned])
            self.save(*life("r3", self.clock))
            with self.open().view("look") as view:
                require_equal([each.seq for each in view.events(limit=9)], expected)

    # --- what belongs to no run ---

    def arrange_groups(self) -> None:
        """``g1`` has no run left, ``g2`` has a finished one and ``g3`` one under way; and two digests."""
        self.saved(
            finished("r2", 1.0, spec=spec(group="g2", group_size=1)),
            accepted("r3", self.now, spec=spec(group="g3", group_size=1)),
            finished("alone", 1.0),
        )
        for number, name in enumerate(("g3", "g2", "g1")):
            summary = runless(f"group/{name}/finished", 2.0 + number, name)
            self.save(Change(new_events=(summary,), group=Group(name, 1, "chat", 1)))
        self.saved_events(runless("digest/2", 6.0), runless("digest/1", 5.0))
        self.saved_events(event("alone/finished", Deadline(0.0, 0.0, "b"), EventState.DELIVERED))

    def test_what_belongs_to_no_run_is_to_prune_once_it_is_delivered_and_no_run_of_its_group_is_left(
        self,
    ) -> None:
        self.arrange_groups()
        for state in (EventState.PENDING, EventState.SENDING, EventState.HELD):
            self.saved_events(runless(f"digest/{state.value}", 1.0, state=state))
        with self.store.view("look") as view:
            require_equal(view.runless_before(9.0, 9), ["group/g1/finished", "digest/1", "digest/2"])
            require_equal(view.runless_before(9.0, 2), ["group/g1/finished", "digest/1"])
            require_equal(view.runless_before(4.0, 9), [], "before the time of the first")
        with self.store.transaction("prune") as tx:
            tx.remove_runs(["r2"])
        with self.store.view("look") as view:
            require_equal(view.runless_before(4.0, 9), ["group/g2/finished"], "its run is gone")

    def test_pruning_a_summary_removes_its_group_with_it_and_nothing_else(self) -> None:
        self.arrange_groups()
        with self.store.transaction("prune") as tx:
            tx.remove_runless(["group/g1/finished", "digest/1", "unknown"])
        with self.store.view("look") as view:
            require_equal(view.group("g1"), None)
            assert view.group("g2"), "the group of another summary is gone"
            left = ["group/g3/finished", "group/g2/finished", "digest/2", "alone/finished"]
            require_equal(ids(view.events(limit=9)), left)
            require_equal(ids(view.events(run_id="alone", limit=9)), ["alone/finished"])
            require_equal(view.runless_before(9.0, 9), ["digest/2"])

    def test_what_is_not_to_prune_is_not_removed_by_name_either(self) -> None:
        self.arrange_groups()
        self.saved_events(runless("digest/held", 1.0, state=EventState.HELD))
        before = self.everything()
        with self.store.transaction("prune") as tx:
            tx.remove_runless(["group/g2/finished", "group/g3/finished", "digest/held", "alone/finished"])
        require_equal(self.everything(), before)
        with self.store.view("look") as view:
            assert view.group("g2"), "a group with a finished run is gone"
            assert view.group("g3"), "a group with a run under way is gone"

    def test_the_number_of_a_pruned_digest_is_not_given_again(self) -> None:
        self.saved_events(runless("digest/1", 1.0))
        with self.store.transaction("prune") as tx:
            tx.remove_runless(["digest/1"])
        self.saved_events(runless("digest/2", 1.0))
        with self.store.view("look") as view:
            require_equal([each.seq for each in view.events(limit=9)], [2])

    def test_a_pruned_group_may_begin_anew(self) -> None:
        self.arrange_groups()
        with self.store.transaction("prune") as tx:
            tx.remove_runless(["group/g1/finished"])
        again = Group("g1", 2, "chat", 2)
        self.save(Change(new_events=(runless("group/g1/finished", 8.0, "g1"),), group=again))
        with self.store.view("look") as view:
            require_equal(view.group("g1"), again)
            require_equal(view.runless_before(9.0, 9)[-1:], ["group/g1/finished"])
