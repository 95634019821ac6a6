"""The store contract: one row that cannot be understood harms no other."""

from __future__ import annotations

from collections.abc import Callable

from runcoord.errors import UndecodableRow
from runcoord.ports import BadRow, Change, Command, Deadline, EventState, Group, State, View
from runcoord.testing.contract_case import (
    Refusal,
    StoreCase,
    accepted,
    claimed,
    event,
    finished,
    ids,
    require_equal,
)
from runcoord.testing.contract_case import running as running_run


class BadRowContract(StoreCase):
    def arrange(self) -> None:
        """Three runs of every state, each with an event, a command and a group."""
        past = Deadline.after(self.now, -1.0)
        for n in "123":
            self.saved(
                accepted(f"a{n}", self.now),
                claimed(f"c{n}", past),
                running_run(f"r{n}", past),
                finished(f"f{n}", 1.0),
            )
            self.saved_events(event(f"p{n}/x", past), event(f"h{n}/x", past, EventState.HELD))
            self.save(Change(command=Command(f"k{n}", f"a{n}", "h", 1.0), group=Group(f"g{n}", 2, "chat")))

    def require_bad(self, look_up: Callable[[View], object], table: str, key: str) -> None:
        with Refusal(UndecodableRow) as refusal, self.open().view("look") as view:
            look_up(view)
        require_equal((refusal.error.details["table"], refusal.error.details["key"]), (table, key))
        assert key in str(refusal.error), f"the row is not named: {refusal.error}"

    def test_a_run_of_an_unknown_state_is_named_and_every_other_run_can_be_read(self) -> None:
        self.arrange()
        self.plant(self.store, "runs", "r2", "state", "dancing")
        self.require_bad(lambda view: view.run("r2"), "runs", "r2")
        with self.store.view("look") as view:
            bad: list[BadRow] = []
            require_equal(ids(view.load_runs(["r1", "r2", "r3"], bad)), ["r1", "r3"])
            require_equal([(row.table, row.key) for row in bad], [("runs", "r2")])
            assert "dancing" in bad[0].problem, f"the value is not named: {bad[0]}"
            listed: list[BadRow] = []
            require_equal(len(view.runs(limit=99, bad=listed)), 11)
            require_equal(listed, bad)
            require_equal(len(view.runs(limit=99)), 11, "without a list for bad rows")

    def test_a_run_of_an_unknown_state_is_in_every_list_of_runs_and_in_the_sweep(self) -> None:
        self.arrange()
        for run_id in ("a2", "r2", "f2"):
            self.plant(self.store, "runs", run_id, "state", "dancing")
        with self.store.view("look") as view:
            for state, expected in (
                (State.ACCEPTED, ["a1", "a3"]),
                (State.RUNNING, ["r1", "r3"]),
                (State.FINISHED, ["f1", "f3"]),
            ):
                bad: list[BadRow] = []
                require_equal(ids(view.runs(states=[state], limit=9, bad=bad)), expected)
                require_equal([row.key for row in bad], ["a2", "r2", "f2"], f"bad rows beside {state} runs")
                bad = []
                newest = view.runs(states=[state], newest_first=True, limit=9, bad=bad)
                require_equal((ids(newest), [row.key for row in bad]), (expected[::-1], ["f2", "r2", "a2"]))
            require_equal(view.recoverable(self.now, 9), ["a2", "f2", "r1", "r2", "r3"])
            require_equal(view.recoverable(self.now, 2, after="a2"), ["f2", "r1"])
            require_equal(view.claimable(self.now, 9), ["a1", "a3", "c1", "c2", "c3"])
            require_equal(view.finished_before(9.0, 9), ["f1", "f3"])

    def test_a_run_of_an_unknown_outcome_is_named_and_the_others_are_recovered(self) -> None:
        self.require_isolated("outcome", "sideways")

    def test_a_run_of_a_negative_epoch_is_named_and_the_others_are_recovered(self) -> None:
        self.require_isolated("epoch", -1)

    def test_a_running_run_without_an_owner_is_named_and_the_others_are_recovered(self) -> None:
        self.require_isolated("owner", "")

    def test_a_lease_that_is_no_time_is_in_the_sweep_though_no_clock_finds_it_expired(self) -> None:
        self.require_in_sweep("lease_boottime", "tomorrow")

    def test_a_lease_without_a_time_is_in_the_sweep_though_no_clock_finds_it_expired(self) -> None:
        self.require_in_sweep("lease_boottime", None)

    def require_in_sweep(self, column: str, value: object) -> None:
        self.arrange()
        for run_id in ("c2", "r2"):
            self.plant(self.store, "runs", run_id, column, value)
        bad: list[BadRow] = []
        with self.store.view("look") as view:
            found = view.recoverable(self.now, 9)
            require_equal(found, ["c2", "r1", "r2", "r3"])
            require_equal(ids(view.load_runs(found, bad)), ["r1", "r3"])
        require_equal([row.key for row in bad], ["c2", "r2"])

    def require_isolated(self, column: str, value: object) -> None:
        self.arrange()
        self.plant(self.store, "runs", "r2", column, value)
        self.require_bad(lambda view: view.run("r2"), "runs", "r2")
        bad: list[BadRow] = []
        with self.store.transaction("recover") as tx:
            found = tx.recoverable(self.now, 9)
            require_equal(found, ["r1", "r2", "r3"])
            for run in tx.load_runs(found, bad):
                tx.save([Change(before=run, run=finished(run.run_id, 9.0, version=run.version + 1))])
        require_equal([row.key for row in bad], ["r2"])
        with self.store.view("look") as view:
            require_equal(view.recoverable(self.now, 9), ["r2"], "what is left to recover")

    def test_an_event_that_makes_no_sense_is_named_and_the_others_are_sent(self) -> None:
        self.arrange()
        self.plant(self.store, "events", "p2/x", "kind", "song")
        self.plant(self.store, "events", "h2/x", "kind", "song")
        self.require_bad(lambda view: view.event("p2/x"), "events", "p2/x")
        with self.store.view("look") as view:
            bad: list[BadRow] = []
            found = view.sendable(self.now, "me", 9)
            require_equal(ids(view.load_events(found, bad)), ["p1/x", "p3/x"])
            require_equal([(row.table, row.key) for row in bad], [("events", "p2/x")])
            require_equal(ids(view.untold_held(9)), ["h1/x", "h3/x"])
            require_equal(len(view.events(limit=9)), 4)
            require_equal(len(view.events(states=[EventState.PENDING], limit=9)), 2)

    def test_an_event_of_an_unknown_state_is_in_every_list_of_events_and_is_not_sent(self) -> None:
        self.arrange()
        self.plant(self.store, "events", "p2/x", "state", "lost")
        with self.store.view("look") as view:
            for states in ([], [EventState.PENDING], [EventState.HELD], [EventState.DELIVERED]):
                bad: list[BadRow] = []
                view.events(states=states, limit=9, bad=bad)
                view.events(states=states, newest_first=True, limit=9, bad=bad)
                require_equal([row.key for row in bad], ["p2/x"] * 2, f"bad rows beside events {states}")
            bad = []
            require_equal(view.events(run_id="p2", states=[EventState.HELD], limit=9, bad=bad), [])
            require_equal([row.key for row in bad], ["p2/x"])
            require_equal(view.sendable(self.now, "me", 9), ["p1/x", "p3/x"])

    def test_a_command_or_a_group_that_makes_no_sense_is_named_alone(self) -> None:
        self.arrange()
        self.plant(self.store, "commands", "k2", "content_hash", b"\xff")
        self.plant(self.store, "groups", "g2", "size", -1)
        self.require_bad(lambda view: view.command("k2"), "commands", "k2")
        self.require_bad(lambda view: view.group("g2"), "groups", "g2")
        with self.store.view("look") as view:
            assert view.command("k1"), "another command cannot be read"
            assert view.group("g3"), "another group cannot be read"

    def test_a_command_may_name_a_run_that_is_missing(self) -> None:
        self.save(Change(command=Command("k", "nobody", "h", 1.0)))
        with self.store.view("look") as view:
            command = view.command("k")
            require_equal(command and command.run_id, "nobody")
            require_equal(view.run("nobody"), None)

    def test_a_bad_row_can_be_pruned_by_nobody_and_its_neighbours_by_everybody(self) -> None:
        self.arrange()
        self.plant(self.store, "runs", "f2", "state", "dancing")
        with self.store.transaction("prune") as tx:
            tx.remove_runs(["f1", "f2", "f3"])
        with self.store.view("look") as view:
            bad: list[BadRow] = []
            require_equal(ids(view.runs(states=[State.FINISHED], limit=9, bad=bad)), [])
            require_equal([row.key for row in bad], ["f2"])
