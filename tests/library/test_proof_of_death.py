"""A restart on one machine recovers at once; whatever is no proof waits for the lease."""

from __future__ import annotations

import pytest

from library.owners_on_machines import Machines
from pytest_runcoord.processes import Place, Sight, SimProcesses
from runcoord import EventState, Outcome, Settings, State
from runcoord.errors import LeaseLost, ProbeFailed, StoreError
from runcoord.ports import Change, Owner, ProcessIdentity, UnknownIdentity
from runcoord.testing import MemoryStore


def owners_of(machines: Machines) -> list[str]:
    return sorted(machines.data.owners)


def test_running_runs_of_an_owner_that_is_proved_dead_are_ended_at_once() -> None:
    machines = Machines()
    first = machines.start("gw1")
    lease = machines.begun(first)
    first.start(lease)
    machines.kill("gw1")

    report = machines.start("gw2").startup()

    assert (report.proved_dead, report.interrupted) == (1, 1)
    assert (machines.run().outcome, machines.run().epoch) == (Outcome.INTERRUPTED, lease.epoch + 1)
    assert [message.run_id for message in machines.accepted] == ["r1"]
    assert owners_of(machines) == ["gw2"], "the dead owner holds nothing more; gw2 made a delivery"
    with pytest.raises(LeaseLost):
        first.complete(lease, Outcome.COMPLETED)


def test_claimed_runs_of_a_dead_owner_can_be_claimed_at_once_and_are_not_ended() -> None:
    machines = Machines()
    lease = machines.begun(machines.start("gw1"))
    machines.kill("gw1")

    second = machines.start("gw2")
    report = second.recover()

    assert (report.proved_dead, report.given_back, report.interrupted) == (1, 1, 0)
    assert machines.outcomes() == []
    claimed = second.claim_next()
    assert claimed is not None
    assert claimed.epoch == lease.epoch + 1


def test_deliveries_that_a_dead_owner_had_under_way_are_due_at_once() -> None:
    machines = Machines()
    first = machines.start("gw1")
    lease = machines.begun(first)
    first.start(lease)
    done = first.complete(lease, Outcome.COMPLETED)
    assert done.delivery is not None
    machines.kill("gw1")

    report = machines.start("gw2").recover()

    assert (report.redelivered, report.drain.delivered) == (1, 1)
    assert [message.attempt for message in machines.accepted] == [2]
    assert owners_of(machines) == ["gw2"]


def test_a_live_owner_keeps_its_lease_and_a_sweep_beside_it_writes_nothing() -> None:
    machines = Machines()
    first = machines.start("gw1")
    first.start(machines.begun(first))
    second = machines.start("gw2")
    before = (dict(machines.data.runs), dict(machines.data.owners))

    report = second.recover()

    assert (report.proved_dead, report.interrupted) == (0, 0)
    assert (dict(machines.data.runs), dict(machines.data.owners)) == before
    assert machines.stores["gw2"].counters.commits == 0


@pytest.mark.parametrize(
    "place",
    [
        Place(host="host-2"),
        Place(pid_namespace="pid-2"),
        Place(time_namespace="time-2"),
    ],
    ids=["another machine", "another pid namespace", "another time namespace"],
)
def test_what_cannot_be_told_from_here_is_no_proof_and_the_lease_decides(place: Place) -> None:
    machines = Machines()
    first = machines.start("gw1", place)
    first.start(machines.begun(first))
    machines.kill("gw1")
    second = machines.start("gw2")

    assert second.recover().proved_dead == 0
    assert machines.run().state is State.RUNNING

    machines.clock.advance(first.settings.lease + 1)
    assert second.recover().interrupted == 1


@pytest.mark.parametrize("sight", [Sight.NOTHING, Sight.DENIED, Sight.HANGS])
def test_a_look_that_fails_or_hangs_is_no_proof_and_stops_no_other(sight: Sight) -> None:
    machines = Machines()
    for name in ("gw1", "gw2", "gw3"):
        owner = machines.start(name)
        owner.start(machines.begun(owner, f"run-of-{name}"))
    machines.kill("gw1")
    machines.kill("gw3")
    machines.processes["gw2"].sight = sight

    report = machines.start("gw4").recover()

    assert (report.proved_dead, report.interrupted, report.bad_count) == (2, 2, 0)
    assert machines.run("run-of-gw2").state is State.RUNNING


def test_an_owner_whose_pid_somebody_else_has_is_proved_dead_by_its_handle() -> None:
    machines = Machines()
    first = machines.start("gw1")
    first.start(machines.begun(first))
    own = machines.processes["gw1"]
    machines.kill("gw1")
    machines.table.start("stranger", pid=own.pid, start=own.start)

    assert machines.start("gw2").recover().interrupted == 1


def test_without_handles_a_recycled_pid_with_the_same_start_proves_nothing() -> None:
    machines = Machines(handles=False)
    first = machines.start("gw1")
    first.start(machines.begun(first))
    own = machines.processes["gw1"]
    machines.kill("gw1")
    machines.table.start("stranger", pid=own.pid, start=own.start)

    assert machines.start("gw2").recover().proved_dead == 0
    assert machines.run().state is State.RUNNING


def test_after_a_reboot_every_owner_of_that_machine_is_dead() -> None:
    machines = Machines()
    first = machines.start("gw1")
    first.start(machines.begun(first))
    machines.clock.reboot(5.0)

    report = machines.start("gw2").recover()

    assert (report.proved_dead, report.interrupted) == (1, 1)


def test_an_owner_whose_identity_is_of_another_form_is_not_proved_dead() -> None:
    machines = Machines()
    first = machines.start("gw1")
    first.start(machines.begun(first))
    machines.kill("gw1")
    with MemoryStore(machines.data).transaction("arrange") as tx:
        tx.save([Change(records=(Owner("gw1", UnknownIdentity("format 2"), machines.clock.wall()),))])

    assert machines.start("gw2").recover().proved_dead == 0
    assert machines.run().state is State.RUNNING


def test_an_owner_is_registered_with_its_first_claim_and_not_again() -> None:
    machines = Machines()
    first = machines.start("gw1")
    first.submit(run_id="r1", destination="chat")
    assert owners_of(machines) == []
    lease = first.claim("r1")
    assert owners_of(machines) == ["gw1"]
    rows = machines.stores["gw1"].counters.rows_written
    first.release(lease)
    first.claim("r1")
    assert machines.stores["gw1"].counters.rows_written == rows + 2


def test_an_owner_is_registered_with_its_first_dispatch() -> None:
    machines = Machines()
    machines.start("gw1").submit(run_id="r1", destination="chat")
    machines.start("gw2").stop("r1")
    sender = machines.start("gw3")
    assert sender.dispatch() != []
    assert owners_of(machines) == ["gw3"]


def test_a_claim_that_was_not_committed_registers_nobody_and_the_next_one_does() -> None:
    machines = Machines()
    first = machines.start("gw1")
    first.submit(run_id="r1", destination="chat")
    machines.stores["gw1"].failing = "claim"
    with pytest.raises(StoreError):
        first.claim("r1")
    assert owners_of(machines) == []
    machines.stores["gw1"].failing = ""
    first.claim_next()
    assert owners_of(machines) == ["gw1"]


def test_an_owner_that_cannot_read_its_own_identity_works_without_a_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machines = Machines()
    unseen = machines.start("gw1")
    with monkeypatch.context() as patch:
        patch.setattr(SimProcesses, "itself", _unreadable)
        unseen.start(machines.begun(unseen))
    assert owners_of(machines) == []
    machines.kill("gw1")
    assert machines.start("gw2").recover().interrupted == 0


def _unreadable(table: SimProcesses) -> ProcessIdentity:
    raise ProbeFailed("hidepid")


def test_an_owner_of_whom_nothing_can_be_told_is_forgotten_when_it_is_old_and_holds_nothing() -> None:
    machines = Machines()
    first = machines.start("gw1", Place(host="host-2"))
    lease = machines.begun(first)
    second = machines.start("gw2")
    machines.clock.advance(8 * 86_400.0)
    second.recover()
    assert owners_of(machines) == ["gw1"], "it still holds a run, though the lease has run out"
    first.release(lease)
    second.recover()
    assert owners_of(machines) == []


def test_a_bad_row_of_a_dead_owner_stays_and_its_other_runs_are_freed() -> None:
    machines = Machines()
    first = machines.start("gw1")
    for run_id in ("r1", "r2", "r3"):
        first.start(machines.begun(first, run_id))
    machines.kill("gw1")
    MemoryStore(machines.data).plant("runs", "r2", "outcome", "sideways")

    second = machines.start("gw2")
    report = second.recover()

    assert (report.interrupted, [row.key for row in report.bad]) == (2, ["r2"])
    assert owners_of(machines) == ["gw1", "gw2"], "it still holds the run that cannot be read"
    commits = machines.stores["gw2"].counters.commits
    assert second.recover().interrupted == 0
    assert machines.stores["gw2"].counters.commits == commits


def test_an_interrupted_run_of_a_dead_owner_is_retried_within_its_budget() -> None:
    machines = Machines(settings=Settings(interruption_budget=1))
    first = machines.start("gw1")
    first.start(machines.begun(first))
    machines.kill("gw1")

    report = machines.start("gw2").recover()

    assert report.retried == 1
    assert machines.run(machines.run().retried_as).state is State.ACCEPTED


def test_many_runs_of_a_dead_owner_are_freed_in_batches() -> None:
    machines = Machines()
    first = machines.start("gw1", serves=False)
    for number in range(600):
        first.submit(run_id=f"r{number:03d}", destination="chat")
        lease = first.claim(f"r{number:03d}")
        if number % 2:
            first.start(lease)
    machines.kill("gw1")

    report = machines.start("gw2", serves=False).recover()

    assert (report.interrupted, report.given_back) == (300, 300)
    assert machines.stores["gw2"].verbs.count("recover") == 3
    assert owners_of(machines) == []
    assert all(event.state is EventState.PENDING for event in machines.data.events.values())
    assert machines.run("r000").owner == ""


def test_who_an_owner_is_costs_one_row_in_its_first_life_and_nothing_in_the_next() -> None:
    machines = Machines()
    first = machines.start("gw1")
    counters = machines.stores["gw1"].counters
    lives = []
    for number in range(3):
        before = counters.statements, counters.rows_written, counters.commits
        lease = machines.begun(first, f"r{number}")
        first.start(lease)
        done = first.complete(lease, Outcome.COMPLETED)
        assert done.delivery is not None
        first.acknowledge(done.delivery)
        after = counters.statements, counters.rows_written, counters.commits
        lives.append(tuple(late - early for late, early in zip(after, before, strict=True)))
    assert lives[1] == lives[2]
    assert lives[0] == (lives[1][0] + 1, lives[1][1] + 1, 5)
    assert lives[1][2] == 5


def test_an_owner_that_leaves_with_its_completion_leaves_no_row_in_the_same_commit() -> None:
    machines = Machines()
    first = machines.start("gw1", serves=False)
    lease = machines.begun(first)
    first.start(lease)
    assert owners_of(machines) == ["gw1"]
    first.registration.leaving = True
    commits = machines.stores["gw1"].counters.commits
    first.complete(lease, Outcome.COMPLETED)
    assert owners_of(machines) == []
    assert machines.stores["gw1"].counters.commits == commits + 1
