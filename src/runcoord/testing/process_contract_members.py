"""The contract of process tables: who belongs to a run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from runcoord.errors import InvalidRequest
from runcoord.ports import Found, Membership, Scope
from runcoord.testing.process_contract_case import (
    INNER,
    NO_PIDS,
    OTHER,
    OUTER,
    RUN,
    ProcessesCase,
    marks,
    require_equal,
    with_cookie_alone,
)
from runcoord.testing.process_making import Can, Start


class MembersContract(ProcessesCase):
    def test_without_a_clue_nobody_is_a_member(self) -> None:
        self.start(RUN, group=True)
        scan = self.scan(Membership())
        require_equal((scan.members, scan.spared), ((), ()))

    def test_members_of_the_group_are_found(self) -> None:
        leader = self.start(group=True)
        child = self.start(parent=leader)
        self.start()
        self.start(group=True)
        self.start(parent=leader, group=True)
        expected = {leader, child}
        require_equal(self.members(Membership(group=leader, scope=Scope.GROUP)), expected)
        _require_found(self, Membership(group=leader, scope=Scope.GROUP), child, Found.GROUP)

    def test_members_of_the_session_are_found_in_every_group_of_it(self) -> None:
        leader = self.start(session=True)
        members = {leader, self.start(parent=leader), self.start(parent=leader, group=True)}
        self.start(session=True)
        require_equal(self.members(Membership(session=leader)), members)
        _require_found(self, Membership(session=leader), max(members), Found.SESSION)

    def test_descendants_of_the_ancestor_are_found_but_not_itself(self) -> None:
        ancestor = self.start(session=True)
        child = self.start(parent=ancestor, session=True)
        grandchild = self.start(parent=child, session=True)
        stranger = self.start()
        members = self.members(Membership(ancestor=ancestor))
        require_equal(members, {child, grandchild})
        _require_found(self, Membership(ancestor=ancestor), grandchild, Found.DESCENDANT)
        holder = self.table.itself().pid
        below_holder = self.members(Membership(ancestor=holder))
        require_equal(below_holder & {stranger, grandchild, holder}, {stranger, grandchild})

    def test_descendants_of_a_member_are_members(self) -> None:
        leader = self.start(RUN, session=True)
        child = self.start(parent=leader, session=True)
        grandchild = self.start(parent=child, session=True)
        everybody = {leader, child, grandchild}
        for clue in (Membership(group=leader), Membership(session=leader), Membership(cookie=RUN)):
            require_equal(self.members(clue), everybody, f"by {clue}")
        require_equal(self.members(Membership(group=leader, scope=Scope.GROUP)), {leader})

    def test_in_a_group_whose_number_nobody_keeps_those_with_the_cookie_are_members(self) -> None:
        self.need(Can.ENVIRONMENT)
        leader = self.start(RUN, group=True)
        child = self.start(RUN, parent=leader)
        stranger = self.start(OTHER, parent=leader)
        self.start(RUN, parent=leader, group=True)
        clue = Membership(cookie=RUN, scope=Scope.GROUP, former_group=leader)
        require_equal(self.members(clue), {leader, child})
        found = {each.identity.pid: each.found for each in self.scan(clue).members}
        require_equal(found[child], frozenset({Found.GROUP, Found.COOKIE}))
        require_equal(self.pin(clue, child) is not None, True, "a member is pinned")
        require_equal(self.pin(clue, stranger), None, "one of the group without the cookie")
        require_equal(self.members(replace(clue, cookie="")), set(), "without a cookie")

    def test_members_are_found_by_the_cookie_wherever_they_hide(self) -> None:
        self.need(Can.ENVIRONMENT)
        escaped = self.start(RUN, session=True, orphan=True)
        detached = self.start(OUTER, RUN, group=True)
        nested = self.start(OUTER, RUN, INNER, session=True)
        for cookies in ((), (OTHER,), (OUTER,), (OUTER, OTHER)):
            self.start(*cookies)
        require_equal(self.members(Membership(cookie=RUN)), {escaped, detached, nested})
        _require_found(self, Membership(cookie=RUN), escaped, Found.COOKIE)
        require_equal(self.members(Membership(cookie=INNER)), {nested}, "members of the run inside")

    def test_a_cookie_counts_only_in_its_own_line(self) -> None:
        self.need(Can.ENVIRONMENT)
        for environment in ({"X": RUN}, {"RUNCOORD_COOKIE_": RUN}, {"RUNCOORD_COOKIE": RUN + "0"}):
            self.maker.start(Start(environment))
        require_equal(self.members(Membership(cookie=RUN)), set())

    def test_a_member_stays_one_by_the_cookie_after_it_left_group_and_session(self) -> None:
        self.need(Can.ENVIRONMENT, Can.SESSIONS, Can.ORPHANS)
        leader = self.start(RUN, session=True)
        escaped = self.start(RUN, parent=leader, session=True, orphan=True)
        clue = Membership(cookie=RUN, group=leader, session=leader)
        require_equal(self.members(clue), {leader, escaped})
        require_equal(self.members(replace(clue, cookie="")), {leader})

    def test_the_recorded_process_is_found_when_it_is_proved_to_be_it(self) -> None:
        self.need(Can.ENVIRONMENT)
        pid = self.start(RUN)
        record = self.table.identify(pid, RUN)
        for each in (record, with_cookie_alone(record, RUN)):
            require_equal(self.members(Membership(recorded=(each,))), {pid})
        _require_found(self, Membership(recorded=(record,)), pid, Found.RECORDED)
        foreign = replace(record.habitat, pid_namespace="another")
        unproved = (
            with_cookie_alone(record, ""),
            with_cookie_alone(record, OTHER),
            replace(with_cookie_alone(record, RUN), start=record.start + 1),
            replace(record, habitat=foreign),
            replace(record, pid=1),
        )
        require_equal(self.members(Membership(recorded=unproved)), set(), "what is not proved")

    def test_a_zombie_is_nobody_and_its_living_child_is_a_member(self) -> None:
        self.need(Can.ZOMBIES, Can.SESSIONS)
        leader = self.start(RUN, session=True)
        child = self.start(RUN, parent=leader)
        self.maker.end(leader)
        clue = Membership(group=leader, session=leader, cookie=RUN)
        require_equal(self.members(clue), {child})
        require_equal(self.pin(clue, leader), None, "the zombie pinned as a member")

    def test_a_process_whose_first_thread_ended_is_a_member(self) -> None:
        self.need(Can.THREADS)
        pid = self.start(RUN, group=True)
        self.maker.end_first_thread(pid)
        for clue in (Membership(group=pid), Membership(cookie=RUN)):
            require_equal(self.members(clue), {pid}, f"by {clue}")
            assert self.pin(clue, pid) is not None, f"not pinned by {clue}"

    def test_a_stopped_process_is_a_member_and_said_to_be_stopped(self) -> None:
        pid = self.start(RUN, group=True)
        self.maker.stop(pid)
        [sighting] = self.scan(Membership(group=pid, cookie=RUN)).members
        require_equal((sighting.identity.pid, sighting.state), (pid, "T"))

    def test_a_sighting_names_the_process_and_its_parent(self) -> None:
        parent = self.start(RUN, group=True)
        child = self.start(RUN, parent=parent)
        seen = {each.identity.pid: each for each in self.scan(Membership(group=parent)).members}
        require_equal(seen[child].parent, parent)
        require_equal(seen[parent].parent, self.table.itself().pid)
        require_equal(seen[child].identity.start, self.table.identify(child).start)
        assert seen[child].name, "a sighting without a name"

    def test_the_holder_of_the_table_is_no_member_whatever_the_clue(self) -> None:
        itself = self.table.itself()
        child = self.start(RUN)
        clue = Membership(ancestor=itself.pid, recorded=(itself,), cookie=RUN)
        found = self.members(clue)
        require_equal(found & (self.table.own() | {child}), {child})
        for pid in self.table.own():
            self.require_refusal(InvalidRequest, self.table.pin, clue, pid)

    def test_clues_that_mean_everybody_or_ourselves_are_refused(self) -> None:
        bystander = self.start(RUN, group=True)
        for value in NO_PIDS:
            if value == 0 and not isinstance(value, bool):
                continue
            wrong: Any = value
            for name in ("group", "session", "ancestor"):
                clue = replace(Membership(), **{name: wrong})
                self.require_refusal(InvalidRequest, self.table.scan, clue, 1.0)
                self.require_refusal(InvalidRequest, self.table.pin, clue, bystander)
            self.require_refusal(InvalidRequest, self.table.pin, Membership(cookie=RUN), wrong)
        for own in self.table.own():
            self.require_refusal(InvalidRequest, self.table.scan, Membership(group=own), 1.0)
        self.require_alive(bystander)

    def test_a_scan_without_time_is_not_complete_and_raises_nothing(self) -> None:
        self.start(RUN)
        scan = self.table.scan(Membership(cookie=RUN), 0.0)
        require_equal(scan.complete, False)
        assert scan.problem, "not complete, without words"

    def test_processes_that_cannot_be_read_are_counted_and_raise_nothing(self) -> None:
        self.need(Can.FORBID, Can.ENVIRONMENT)
        pid = self.start(RUN)
        before = self.scan(Membership(cookie=RUN))
        require_equal([each.identity.pid for each in before.members], [pid])
        with self.maker.forbidden():
            scan = self.scan(Membership(cookie=RUN))
        assert scan.unreadable >= 1, f"nothing counted: {scan}"
        require_equal(scan.members, ())


class SparedContract(ProcessesCase):
    def test_what_was_handed_over_is_listed_with_its_descendants_and_is_no_member(self) -> None:
        self.need(Can.ENVIRONMENT)
        leader = self.start(RUN, session=True)
        server = self.start(RUN, parent=leader, handed_over=RUN)
        below = self.start(RUN, parent=server)
        hidden = self.start(parent=below, session=True)
        clue = Membership(cookie=RUN, group=leader, session=leader, spared=RUN)
        scan = self.scan(clue)
        require_equal({each.identity.pid for each in scan.members}, {leader})
        require_equal({each.identity.pid for each in scan.spared}, {server, below, hidden})
        for pid in (server, below, hidden):
            require_equal(self.pin(clue, pid), None, f"handed over, and pinned: {pid}")
        assert self.pin(clue, leader) is not None, "the leader was not pinned"
        require_equal(self.members(replace(clue, spared="")), {leader, server, below, hidden})

    def test_an_escaped_process_that_was_handed_over_is_spared(self) -> None:
        self.need(Can.ENVIRONMENT)
        server = self.start(OUTER, RUN, handed_over=RUN, session=True, orphan=True)
        scan = self.scan(Membership(cookie=RUN, spared=RUN))
        require_equal(([each.identity.pid for each in scan.spared], scan.members), ([server], ()))

    def test_a_run_that_was_not_meant_does_not_spare_it(self) -> None:
        self.need(Can.ENVIRONMENT)
        pid = self.start(OUTER, RUN, handed_over=RUN)
        clue = Membership(cookie=OUTER, spared=OUTER)
        require_equal(self.members(clue), {pid})
        assert self.pin(clue, pid) is not None, "a member was not pinned"

    def test_a_parent_of_what_was_handed_over_is_not_spared(self) -> None:
        self.need(Can.ENVIRONMENT)
        parent = self.start(RUN)
        self.start(RUN, parent=parent, handed_over=RUN)
        require_equal(self.members(Membership(cookie=RUN, spared=RUN)), {parent})


class PinnedMembersContract(ProcessesCase):
    def test_a_member_is_pinned_as_what_it_is(self) -> None:
        leader = self.start(RUN, session=True)
        child = self.start(RUN, parent=leader, session=True)
        for clue in (
            Membership(cookie=RUN),
            Membership(session=leader),
            Membership(group=leader),
            Membership(ancestor=leader),
            Membership(recorded=(self.table.identify(child, RUN),)),
        ):
            self.scan(clue)
            for _ in ("after a scan", "after another scan"):
                pinned = self.pin(clue, child)
                assert pinned is not None, f"not pinned by {clue}"
                require_equal(replace(pinned.identity, cookie=""), self.table.identify(child))
                self.scan(Membership())

    def test_nobody_is_pinned_where_there_is_no_member(self) -> None:
        stranger = self.start(OTHER)
        gone = self.start(RUN)
        clue = Membership(cookie=RUN)
        require_equal(self.members(clue), {gone})
        self.end_and_reap(gone)
        require_equal(self.pin(clue, gone), None, "one that is gone")
        require_equal(self.pin(clue, stranger), None, "a stranger")
        self.require_alive(stranger)

    def test_one_that_is_no_member_any_more_is_not_pinned(self) -> None:
        self.need(Can.ENVIRONMENT)
        pid = self.start(RUN)
        clue = Membership(cookie=RUN)
        require_equal(self.members(clue), {pid})
        self.maker.execute(pid, marks())
        require_equal(self.pin(clue, pid), None)
        self.require_alive(pid)

    def test_a_stranger_with_the_pid_of_a_member_is_not_pinned(self) -> None:
        self.need(Can.RECYCLE, Can.SESSIONS)
        pid = self.start(RUN, session=True)
        child = self.start(RUN, parent=pid)
        clue = Membership(cookie=RUN, recorded=(self.table.identify(child, RUN),))
        require_equal(self.members(clue), {pid, child})
        self.maker.end(child)
        self.maker.reap(child)
        self.maker.recycle(child, Start(marks(OTHER)))
        require_equal(self.pin(clue, child), None)
        self.require_alive(child)
        require_equal(self.members(clue), {pid})


def _require_found(case: ProcessesCase, members: Membership, pid: int, clue: Found) -> None:
    [found] = [each.found for each in case.scan(members).members if each.identity.pid == pid]
    assert clue in found, f"process {pid} was found by {sorted(found)}, not by {clue}"
