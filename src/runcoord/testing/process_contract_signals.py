"""The contract of process tables: signals, and being told of an end."""

from __future__ import annotations

import contextlib
import signal

from runcoord.errors import InvalidRequest, ProbeFailed, ProcessGone, SignalDenied
from runcoord.ports import Membership
from runcoord.testing.process_contract_case import (
    RUN,
    SECONDS,
    ProcessesCase,
    marks,
    require_equal,
    require_one_of,
)
from runcoord.testing.process_making import Can, Start

TERM, KILL, STOP, CONT = (int(getattr(signal, f"SIG{name}", 15)) for name in ("TERM", "KILL", "STOP", "CONT"))


class SignalsContract(ProcessesCase):
    def test_a_signal_reaches_the_pinned_process_alone(self) -> None:
        leader = self.start(RUN, group=True)
        child = self.start(RUN, parent=leader)
        sibling = self.start(RUN, parent=leader)
        held = self.hold(child)
        held.signal(TERM)
        self.table.wait([held], SECONDS)
        require_equal(held.ended(), True)
        require_equal(self.maker.reap(child), -TERM)
        self.require_alive(leader, sibling)

    def test_a_member_that_was_pinned_is_signalled(self) -> None:
        pid = self.start(RUN, group=True)
        clue = Membership(group=pid, cookie=RUN)
        self.scan(clue)
        held = self.pin(clue, pid)
        assert held is not None, "a member was not pinned"
        held.signal(KILL)
        require_equal(self.maker.reap(pid), -KILL)
        require_equal(self.members(clue), set())

    def test_a_process_that_ended_is_not_signalled(self) -> None:
        pid = self.start(RUN)
        held = self.hold(pid)
        self.end_and_reap(pid)
        self.require_refusal(ProcessGone, held.signal, KILL)

    def test_a_stranger_with_the_pid_is_not_signalled(self) -> None:
        self.need(Can.RECYCLE)
        self.need_pins()
        pid = self.start(RUN)
        held = self.hold(pid)
        self.end_and_reap(pid)
        self.maker.recycle(pid, Start(marks(RUN)))
        self.require_refusal(ProcessGone, held.signal, KILL)
        self.require_alive(pid)

    def test_a_zombie_takes_a_signal_in_silence_or_is_gone(self) -> None:
        self.need(Can.ZOMBIES)
        pid = self.start(RUN)
        held = self.hold(pid)
        self.maker.end(pid, 3)
        with contextlib.suppress(ProcessGone):
            held.signal(KILL)
        require_equal(self.maker.reap(pid), 3, "how it ended")

    def test_the_holder_of_the_table_never_signals_itself(self) -> None:
        held = self.open(self.table.itself())
        self.require_refusal(InvalidRequest, held.signal, TERM)
        self.require_refusal(InvalidRequest, self.table.signal_group, held, TERM)

    def test_what_is_no_signal_is_refused(self) -> None:
        pid = self.start(RUN)
        held = self.hold(pid)
        self.require_refusal(InvalidRequest, held.signal, 4_000)
        self.require_refusal(InvalidRequest, held.signal, -KILL)
        self.require_alive(pid)

    def test_a_signal_that_is_not_permitted_is_refused_and_the_process_lives(self) -> None:
        self.need(Can.FORBID)
        pid = self.start(RUN, group=True)
        held = self.hold(pid)
        with self.maker.forbidden():
            self.require_refusal(SignalDenied, held.signal, KILL)
            require_equal(held.ended(), False)
            if self.table.guarantees().group_in_one_step:
                self.require_refusal(SignalDenied, self.table.signal_group, held, KILL)
        self.require_alive(pid)
        held.signal(KILL)
        require_equal(self.maker.reap(pid), -KILL)

    def test_a_stopped_process_goes_on_when_it_is_told_so(self) -> None:
        pid = self.start(RUN)
        held = self.hold(pid)
        self.maker.stop(pid)
        held.signal(TERM)
        self.require_alive(pid)
        held.signal(CONT)
        require_equal(self.maker.reap(pid), -TERM)

    def test_how_a_process_ended_is_told_rightly_or_not_at_all(self) -> None:
        for how, expected in ((0, 0), (7, 7), (None, -KILL)):
            pid = self.start(RUN)
            held = self.hold(pid)
            require_equal(held.exit_status(), None, "of one that lives")
            if how is None:
                held.signal(KILL)
                self.table.wait([held], SECONDS)
            else:
                self.maker.end(pid, how)
            require_one_of(held.exit_status(), (None, expected), "of a zombie")
            self.maker.reap(pid)
            require_one_of(held.exit_status(), (None, expected), "of one that was reaped")


class GroupsContract(ProcessesCase):
    def _need_groups(self) -> None:
        if not self.table.guarantees().group_in_one_step:
            from unittest import SkipTest

            raise SkipTest("this table cannot signal a group through a pin")

    def test_a_signal_to_the_group_reaches_all_of_it_and_nobody_else(self) -> None:
        self._need_groups()
        leader = self.start(RUN, group=True)
        members = [self.start(RUN, parent=leader) for _ in range(2)]
        others = [self.start(RUN, parent=leader, group=True), self.start(RUN), self.start(group=True)]
        held = [self.hold(pid) for pid in (leader, *members)]
        self.table.signal_group(held[0], KILL)
        self.table.wait(held, SECONDS)
        require_equal([each.ended() for each in held], [True] * 3)
        require_equal(self.maker.reap(leader), -KILL)
        self.require_alive(*others)

    def test_the_group_is_reached_through_a_leader_that_has_ended(self) -> None:
        self._need_groups()
        self.need(Can.ZOMBIES)
        leader = self.start(RUN, group=True)
        member = self.start(RUN, parent=leader)
        held, other = self.hold(leader), self.hold(member)
        self.maker.end(leader)
        self.table.signal_group(held, KILL)
        self.table.wait([other], SECONDS)
        require_equal(other.ended(), True)

    def test_one_that_leads_no_group_signals_nobody(self) -> None:
        self._need_groups()
        leader = self.start(RUN, group=True)
        member = self.start(RUN, parent=leader)
        self.require_refusal(ProcessGone, self.table.signal_group, self.hold(member), KILL)
        self.require_alive(leader, member)

    def test_a_group_whose_number_was_used_anew_is_not_signalled(self) -> None:
        self._need_groups()
        self.need(Can.RECYCLE)
        leader = self.start(RUN, group=True)
        held = self.hold(leader)
        self.end_and_reap(leader)
        self.maker.recycle(leader, Start(marks(RUN), new_group=True))
        self.require_refusal(ProcessGone, self.table.signal_group, held, KILL)
        self.require_alive(leader)

    def test_where_groups_cannot_be_signalled_in_one_step_nobody_is(self) -> None:
        leader = self.start(RUN, group=True)
        if self.table.guarantees().group_in_one_step:
            return
        self.require_refusal(ProbeFailed, self.table.signal_group, self.hold(leader), KILL)
        self.require_alive(leader)


class WaitingContract(ProcessesCase):
    def test_a_wait_is_over_when_all_have_ended(self) -> None:
        pids = [self.start(RUN) for _ in range(3)]
        held = [self.hold(pid) for pid in pids]
        for each in held:
            each.signal(KILL)
        self.table.wait(held, SECONDS)
        require_equal([each.ended() for each in held], [True] * 3)
        self.table.wait(held, SECONDS)
        for pid in pids:
            self.maker.reap(pid)
        self.table.wait(held, SECONDS)

    def test_a_wait_for_nobody_is_over_at_once(self) -> None:
        self.table.wait([], 1e9)

    def test_a_wait_is_over_when_its_time_is(self) -> None:
        pid = self.start(RUN)
        self.table.wait([self.hold(pid)], 0.01)
        self.require_alive(pid)

    def test_a_process_may_be_closed_twice(self) -> None:
        pid = self.start(RUN)
        held = self.hold(pid)
        held.close()
        held.close()
        self.require_alive(pid)
