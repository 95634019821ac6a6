"""The contract of process tables: who a process is, and whether it is the recorded one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from runcoord._core.identity import identity_from
from runcoord.errors import InvalidRequest, ProbeFailed, ProcessGone
from runcoord.ports import Habitat, Likeness
from runcoord.testing.process_contract_case import (
    INNER,
    NO_PIDS,
    OTHER,
    OUTER,
    RUN,
    ProcessesCase,
    marks,
    require_equal,
    require_one_of,
    with_cookie_alone,
)
from runcoord.testing.process_making import Can, Start

NEVER_SAME = (Likeness.UNKNOWN, Likeness.DIFFERENT, ProcessGone, ProbeFailed)


class IdentityContract(ProcessesCase):
    def test_a_process_has_one_identity_however_often_it_is_asked(self) -> None:
        pid = self.start(RUN)
        first = self.table.identify(pid, RUN)
        require_equal(self.table.identify(pid, RUN), first)
        require_equal((first.pid, first.cookie, first.habitat), (pid, RUN, self.table.habitat()))
        assert first.start > 0, f"no start value: {first}"
        require_equal(bool(first.handle), self.table.guarantees().durable_handle, "a handle is recorded")

    def test_two_processes_have_different_identities_apart_from_their_pids(self) -> None:
        self.need_handles()
        first, second = (self.table.identify(self.start(RUN)) for _ in range(2))
        assert first.handle != second.handle, f"one handle for two processes: {first}, {second}"

    def test_the_holder_of_the_table_is_one_of_its_own_and_can_be_looked_at(self) -> None:
        itself = self.table.itself()
        assert itself.pid in self.table.own(), f"{itself.pid} is not in {self.table.own()}"
        assert 1 in self.table.own(), "init is not among those that are never signalled"
        require_equal(itself.habitat, self.table.habitat())
        require_one_of(self.likeness(itself), (Likeness.SAME, Likeness.UNKNOWN), "a look at itself")
        require_equal(self.look(itself).ended, False)

    def test_the_habitat_is_known_where_it_is_to_be_compared(self) -> None:
        here = self.table.habitat()
        assert here.host, f"no host in {here}"
        assert here.source, f"no source in {here}"

    def test_a_living_process_is_the_recorded_one(self) -> None:
        self.need_handles()
        pid = self.start(RUN)
        record = self.table.identify(pid, RUN)
        stored = identity_from(json.loads(json.dumps(record.document())))
        require_equal(stored, record, "the record after it was stored")
        look = self.look(record)
        require_equal((look.likeness, look.ended), (Likeness.SAME, False))

    def test_without_a_handle_the_cookie_in_its_environment_proves_a_process(self) -> None:
        self.need(Can.ENVIRONMENT)
        pid = self.start(OUTER, RUN, INNER)
        for cookie in (OUTER, RUN, INNER):
            record = with_cookie_alone(self.table.identify(pid), cookie)
            require_equal(self.likeness(record), Likeness.SAME, f"by the cookie {cookie} of its line")

    def test_a_record_with_neither_handle_nor_cookie_proves_nothing(self) -> None:
        pid = self.start(RUN)
        look = self.look(with_cookie_alone(self.table.identify(pid), ""))
        require_equal(look.likeness, Likeness.UNKNOWN, "pid and start value alone")
        assert look.why, "unknown without words"

    def test_a_cookie_that_is_not_in_the_environment_proves_nothing(self) -> None:
        self.need(Can.ENVIRONMENT)
        for pid in (self.start(RUN), self.start()):
            look = self.look(with_cookie_alone(self.table.identify(pid), OTHER))
            require_equal(look.likeness, Likeness.UNKNOWN, "another cookie")
            assert look.why, "unknown without words"

    def test_a_cookie_counts_as_a_whole_element_of_its_own_line_alone(self) -> None:
        self.need(Can.ENVIRONMENT)
        line = ":".join((OUTER, RUN))
        for environment in (
            {"X": RUN, "X_RUNCOORD_COOKIE": line, "RUNCOORD_COOKIE_X": line},
            {"RUNCOORD_COOKIE": RUN + "0"},
            {"RUNCOORD_COOKIE": "0" + RUN},
            {"RUNCOORD_COOKIE": f" {RUN}"},
            {"X": f"\nRUNCOORD_COOKIE={RUN}"},
        ):
            pid = self.maker.start(Start(environment))
            record = with_cookie_alone(self.table.identify(pid), RUN)
            require_equal(self.likeness(record), Likeness.UNKNOWN, f"the cookie in {environment}")

    def test_another_start_value_is_another_process(self) -> None:
        pid = self.start(RUN)
        record = with_cookie_alone(self.table.identify(pid), RUN)
        require_equal(self.likeness(replace(record, start=record.start + 1)), Likeness.DIFFERENT)

    def test_a_start_value_that_was_not_known_proves_nothing(self) -> None:
        pid = self.start(RUN)
        record = with_cookie_alone(self.table.identify(pid), RUN)
        require_equal(self.likeness(replace(record, start=0)), Likeness.UNKNOWN)

    def test_another_handle_is_another_process_whatever_else_is_equal(self) -> None:
        self.need_handles()
        mine, other = (self.table.identify(self.start(RUN), RUN) for _ in range(2))
        require_equal(self.likeness(replace(mine, handle=other.handle)), Likeness.DIFFERENT)

    def test_after_another_boot_a_recorded_process_is_gone_also_when_all_its_values_are_back(self) -> None:
        pid = self.start(RUN)
        record = self.table.identify(pid, RUN)
        held = self.hold(pid)
        earlier = replace(record, habitat=replace(record.habitat, boot_id="an-earlier-boot"))
        self.require_refusal(ProcessGone, self.table.open, earlier)
        require_equal(held.look(earlier).likeness, Likeness.DIFFERENT)
        self.require_alive(pid)

    def test_nothing_is_said_of_a_process_that_was_recorded_elsewhere(self) -> None:
        pid = self.start(RUN)
        record = self.table.identify(pid, RUN)
        held = self.hold(pid)
        for foreign in _foreign(record.habitat):
            stranger = replace(record, habitat=foreign)
            self.require_refusal(ProbeFailed, self.table.open, stranger)
            look = held.look(stranger)
            require_equal(look.likeness, Likeness.UNKNOWN, f"a record made in {foreign}")
            assert look.why, "unknown without words"
        nobody = replace(record, pid=_free_pid(self), habitat=_foreign(record.habitat)[0])
        self.require_refusal(ProbeFailed, self.table.open, nobody)
        self.require_alive(pid)

    def test_a_process_stays_the_same_over_exec(self) -> None:
        pid = self.start(RUN)
        record = self.table.identify(pid, RUN)
        self.maker.execute(pid, marks())
        require_equal(self.table.identify(pid, RUN), record, "the identity after exec")
        by_cookie = self.likeness(with_cookie_alone(record, RUN))
        require_equal(by_cookie, Likeness.UNKNOWN, "by a cookie that it has cleared")
        if record.handle:
            require_equal(self.likeness(record), Likeness.SAME, "by its handle")

    def test_what_is_no_pid_is_refused_and_nothing_is_signalled(self) -> None:
        bystander = self.start(RUN, group=True)
        record = self.table.identify(bystander, RUN)
        for value in NO_PIDS:
            wrong: Any = value
            self.require_refusal(InvalidRequest, self.table.identify, wrong)
            self.require_refusal(InvalidRequest, self.table.open, replace(record, pid=wrong))
        self.require_alive(bystander)

    def test_there_is_nobody_at_a_free_pid(self) -> None:
        pid = self.start(RUN)
        record = self.table.identify(pid, RUN)
        self.end_and_reap(pid)
        self.require_refusal(ProcessGone, self.table.identify, pid)
        self.require_refusal(ProcessGone, self.table.open, record)

    def test_a_zombie_has_ended(self) -> None:
        self.need(Can.ZOMBIES)
        pid = self.start(RUN)
        record = self.table.identify(pid, RUN)
        held = self.hold(pid)
        require_equal(held.ended(), False)
        self.maker.end(pid, 7)
        require_equal((held.ended(), held.look(record).ended), (True, True))
        require_equal(self.look(record).ended, True, "opened as a zombie")
        self.require_refusal(ProcessGone, self.table.identify, pid)
        self.maker.reap(pid)
        require_equal((held.ended(), held.look(record).ended), (True, True))

    def test_a_process_lives_while_one_of_its_threads_does(self) -> None:
        self.need(Can.THREADS)
        pid = self.start(RUN)
        record = self.table.identify(pid, RUN)
        self.maker.end_first_thread(pid)
        require_equal(self.table.identify(pid, RUN), record)
        for each in (record, with_cookie_alone(record, RUN)):
            look = self.look(each)
            require_equal((look.likeness, look.ended), (Likeness.SAME, False))
        require_equal(self.open(record).ended(), False)

    def test_a_recycled_pid_is_never_the_recorded_process(self) -> None:
        self.need(Can.RECYCLE)
        pid = self.start(RUN)
        record = self.table.identify(pid, RUN)
        held = self.hold(pid)
        self.end_and_reap(pid)
        self.maker.recycle(pid, Start(marks(OTHER)))
        for each in (record, with_cookie_alone(record, RUN), with_cookie_alone(record, "")):
            require_one_of(self.likeness(each), NEVER_SAME, f"{each} after its pid was recycled")
        if record.handle:
            require_equal(self.likeness(record), Likeness.DIFFERENT, "by the handle")
        if self.table.guarantees().pinned:
            require_equal((held.ended(), held.look(record).ended), (True, True), "what was held before")
            self.require_refusal(ProcessGone, held.signal, 9)
        self.require_alive(pid)

    def test_unreadable_is_unknown(self) -> None:
        self.need(Can.FORBID, Can.ENVIRONMENT)
        pid = self.start(RUN)
        record = with_cookie_alone(self.table.identify(pid), RUN)
        with self.maker.forbidden():
            require_one_of(self.likeness(record), (Likeness.UNKNOWN, ProbeFailed), "a closed environment")
        require_equal(self.likeness(record), Likeness.SAME, "when it can be read again")


def _foreign(here: Habitat) -> list[Habitat]:
    return [
        replace(here, host="another-machine"),
        replace(here, host="another-machine", boot_id="its-boot"),
        replace(here, host=""),
        replace(here, boot_id=""),
        replace(here, pid_namespace="another"),
        replace(here, time_namespace="another"),
        replace(here, source="another-source"),
    ]


def _free_pid(case: ProcessesCase) -> int:
    pid = case.start()
    case.end_and_reap(pid)
    return pid
