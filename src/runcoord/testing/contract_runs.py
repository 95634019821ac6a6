"""The store contract: runs, and which of them are to claim or to recover."""

from __future__ import annotations

from dataclasses import replace

from runcoord._core.limits import MAX_LEASE_SECONDS
from runcoord.errors import UnknownRun
from runcoord.ports import Change, Deadline, Instant, Outcome, Run, Spec, State
from runcoord.testing.clock import ManualClock
from runcoord.testing.contract_case import (
    Refusal,
    StoreCase,
    accepted,
    claimed,
    finished,
    ids,
    require_equal,
    running,
)

EVERY_FIELD = Run(
    "läuft-1",
    Spec('{"é":[1,2.5,null]}', "chat", "coder", "line\nbreak\t\0 and nul", "köln/1", "g1", 7, 3),
    created_at=1_700_000_000.123456,
    line="first",
    retry_of="previous",
    interruptions=2,
    state=State.FINISHED,
    version=12,
    epoch=5,
    owner="host:1:ab",
    lease_seconds=0.1,
    started_at=1_700_000_001.000001,
    finished_at=1_700_000_002.7,
    stop_requested_at=1_700_000_001.5,
    stop_reason="'; DROP TABLE runs; --",
    progress="50 %",
    notes=4,
    outcome=Outcome.STOPPED,
    reported=Outcome.COMPLETED,
    error="💥" * 2_000,
    result="r" * 64 * 1024,
    result_truncated=True,
    late=True,
    retried_as="next",
)


def deadlines(clock: ManualClock) -> list[Deadline]:
    """Around every edge: on this boot and on two others, whose ids sort before and after it."""
    now = clock.now()
    cap = MAX_LEASE_SECONDS
    offsets = (-cap, -0.5, -1e-3, 0.0, 1e-3, 0.5, 60.0, 60.5, 300.0, 300.5, cap, cap + 1e-3, 10 * cap)
    found = []
    for boot in (now.boot_id, "a-boot", "z-boot"):
        for wall in offsets:
            found += [Deadline(now.wall + wall, now.boottime + other, boot) for other in (-1.0, 0.0, 1.0)]
    return found


def _to_recover(run: Run, lease: Deadline, now: Instant) -> bool:
    return lease.implausible(now) or (run.state is State.RUNNING and lease.passed(now))


class RunsContract(StoreCase):
    def test_what_is_not_there_is_none_and_left_out_of_lists(self) -> None:
        self.saved(accepted("r1", self.now))
        with self.store.view("look") as view:
            require_equal([view.run("r"), view.command("k"), view.event("e"), view.group("g")], [None] * 4)
            require_equal(ids(view.load_runs(["nobody", "r1"], [])), ["r1"])
            require_equal(view.load_runs([], []), [])

    def test_every_field_of_a_run_comes_back_as_it_was(self) -> None:
        until = Deadline(1.5, 2.25, "boot")
        states = [
            EVERY_FIELD,
            Run("plain", Spec(), 0.0, "plain"),
            claimed("c", until, retried_as="x"),
            running("r", until, late=True),
            finished("f", 3.0, Outcome.INTERRUPTED, owner="", epoch=0),
        ]
        self.saved(*states)
        with self.store.view("look") as view:
            for run in states:
                require_equal(view.run(run.run_id), run)
            require_equal(view.load_runs([run.run_id for run in states], []), states)

    def test_an_update_changes_what_it_says_and_keeps_what_was_asked_for(self) -> None:
        run = accepted("r1", self.now, spec=EVERY_FIELD.spec)
        self.saved(run, accepted("r2", self.now))
        after = replace(EVERY_FIELD, run_id="r1", spec=run.spec, version=2)
        after = replace(after, created_at=run.created_at, line="r1", retry_of="", interruptions=0)
        self.save(Change(before=run, run=after))
        with self.store.view("look") as view:
            require_equal(view.run("r1"), after)
            require_equal(view.run("r2"), accepted("r2", self.now))

    def test_a_batch_is_loaded_in_the_order_that_was_asked_for(self) -> None:
        self.saved(*(accepted(f"r{number}", self.now) for number in range(1_200)))
        wanted = [f"r{number}" for number in (7, 1_199, 0, *range(10, 1_190))]
        with self.store.view("look") as view:
            require_equal(ids(view.load_runs(wanted, [])), wanted)

    def test_runs_are_listed_in_the_order_of_acceptance_page_by_page(self) -> None:
        self.saved(*(accepted(run_id, self.now) for run_id in ("z", "a", "m", "b", "y")))
        with self.store.view("look") as view:
            require_equal(ids(view.runs(limit=2)), ["z", "a"])
            require_equal(ids(view.runs(limit=2, after="a")), ["m", "b"])
            require_equal(ids(view.runs(limit=2, after="b")), ["y"])
            require_equal(ids(view.runs(limit=2, after="y")), [])

    def test_runs_are_listed_newest_first_page_by_page(self) -> None:
        self.saved(*(accepted(run_id, self.now) for run_id in ("z", "a", "m", "b", "y")))
        with self.store.view("look") as view:
            require_equal(ids(view.runs(newest_first=True, limit=2)), ["y", "b"])
            require_equal(ids(view.runs(newest_first=True, limit=2, after="b")), ["m", "a"])
            require_equal(ids(view.runs(newest_first=True, limit=2, after="a")), ["z"])
            require_equal(ids(view.runs(newest_first=True, limit=2, after="z")), [])

    def test_runs_are_listed_by_their_states(self) -> None:
        until = Deadline.after(self.now, 9.0)
        self.saved(running("r", until), accepted("a", self.now), finished("f", 1.0), claimed("c", until))
        self.saved(accepted("a2", self.now), running("r2", until))
        with self.store.view("look") as view:
            for states, expected in (
                ([State.ACCEPTED], ["a", "a2"]),
                ([State.RUNNING], ["r", "r2"]),
                ([State.FINISHED], ["f"]),
                ([State.CLAIMED, State.ACCEPTED], ["a", "c", "a2"]),
                (list(State), ["r", "a", "f", "c", "a2", "r2"]),
            ):
                require_equal(ids(view.runs(states=states, limit=9)), expected, f"runs that are {states}")
                newest = view.runs(states=states, newest_first=True, limit=9)
                require_equal(ids(newest), expected[::-1], f"the newest runs that are {states}")
            both = [State.RUNNING, State.ACCEPTED]
            require_equal(ids(view.runs(states=both, after="a", limit=2)), ["a2", "r2"])
            require_equal(ids(view.runs(states=both, newest_first=True, limit=3)), ["r2", "a2", "a"])
            require_equal(ids(view.runs(states=both, newest_first=True, after="c", limit=9)), ["a", "r"])

    def test_a_list_cannot_go_on_after_a_run_that_is_unknown(self) -> None:
        self.saved(accepted("r1", self.now))
        for newest_first in (False, True):
            with Refusal(UnknownRun), self.store.view("look") as view:
                view.runs(after="pruned", newest_first=newest_first, limit=9)

    # --- to claim ---

    def test_accepted_runs_are_to_claim_before_claimed_ones_whose_lease_ran_out(self) -> None:
        past, live = Deadline.after(self.now, -1.0), Deadline.after(self.now, 1.0)
        self.saved(claimed("out-1", past), accepted("new-1", self.now), claimed("live", live))
        self.saved(running("under-way", past), finished("done", 1.0), accepted("new-0", self.now))
        self.saved(claimed("out-0", Deadline.after(self.now, -2.0)))
        with self.store.view("look") as view:
            require_equal(view.claimable(self.now, 9), ["new-1", "new-0", "out-1", "out-0"])
            require_equal(view.claimable(self.now, 3), ["new-1", "new-0", "out-1"])
            require_equal(view.claimable(self.now, 1), ["new-1"])

    def test_claimed_runs_are_to_claim_exactly_when_their_deadline_has_passed(self) -> None:
        runs = [claimed(f"r{number}", until) for number, until in enumerate(deadlines(self.clock))]
        self.saved(*runs)
        expected = [run.run_id for run in runs if run.lease and run.lease.passed(self.now)]
        assert 0 < len(expected) < len(runs)
        with self.store.view("look") as view:
            require_equal(view.claimable(self.now, 999), expected)
            require_equal(view.claimable(self.now, 7), expected[:7])

    # --- to recover ---

    def test_runs_are_to_recover_exactly_when_running_and_expired_or_when_their_lease_is_implausible(
        self,
    ) -> None:
        runs = []
        for number, until in enumerate(deadlines(self.clock)):
            runs += [running(f"r{number:03d}", until), claimed(f"c{number:03d}", until)]
        self.saved(*runs, accepted("a", self.now), finished("f", 1.0))
        expected = sorted(run.run_id for run in runs if run.lease and _to_recover(run, run.lease, self.now))
        assert 0 < len(expected) < len(runs)
        with self.store.view("look") as view:
            require_equal(view.recoverable(self.now, 999), expected)
            require_equal(view.recoverable(self.now, 5, after=expected[4]), expected[5:10])

    def test_runs_to_recover_are_given_by_id_page_by_page(self) -> None:
        for number, run_id in enumerate("dbeac"):
            self.saved(running(run_id, Deadline.after(self.now, -float(number))))
        with self.store.view("look") as view:
            require_equal(view.recoverable(self.now, 2), ["a", "b"])
            require_equal(view.recoverable(self.now, 2, after="b"), ["c", "d"])
            require_equal(view.recoverable(self.now, 2, after="bb"), ["c", "d"])
            require_equal(view.recoverable(self.now, 2, after="d"), ["e"])

    def test_after_a_step_of_the_wall_clock_or_a_suspend_boottime_decides(self) -> None:
        self.saved(running("r1", Deadline.after(self.now, 60.0)))
        with self.store.view("look") as view:
            self.clock.step(7_200.0)
            require_equal(view.recoverable(self.now, 9), [], "after a step forward")
            self.clock.step(-14_400.0)
            self.clock.suspend(60.0)
            require_equal(view.recoverable(self.now, 9), ["r1"], "after a suspend as long as the lease")

    def test_after_a_reboot_wall_time_decides(self) -> None:
        self.saved(running("r1", Deadline.after(self.now, 60.0)))
        self.clock.reboot(30.0)
        with self.store.view("look") as view:
            require_equal(view.recoverable(self.now, 9), [], "before the lease ran out")
            self.clock.advance(30.0)
            require_equal(view.recoverable(self.now, 9), ["r1"], "when the lease ran out")

    def test_every_unfinished_run_is_either_to_claim_or_to_recover_or_its_lease_is_live(self) -> None:
        runs = [accepted("accepted", self.now)]
        for number, until in enumerate(deadlines(self.clock)):
            runs += [claimed(f"c{number}", until), running(f"r{number}", until)]
        self.saved(*runs, finished("done", 1.0))
        with self.store.view("look") as view:
            to_claim, to_recover = view.claimable(self.now, 999), view.recoverable(self.now, 999)
            unfinished = view.runs(states=[State.ACCEPTED, State.CLAIMED, State.RUNNING], limit=999)
        live = [run.run_id for run in unfinished if run.lease and not run.lease.passed(self.now)]
        live = [run_id for run_id in live if run_id not in to_recover]
        require_equal(sorted(to_claim + to_recover + live), sorted(ids(runs)))
