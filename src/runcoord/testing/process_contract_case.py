"""What the parts of the contract of process tables share."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace

from runcoord._core.identity import Likeness, ProcessIdentity
from runcoord._core.lineage import COOKIE_VARIABLE, HANDED_OVER_VARIABLE
from runcoord.errors import ProcessError, RuncoordError
from runcoord.ports import Look, Membership, PinnedProcess, Processes, Scan
from runcoord.testing.contract_case import Refusal, require_equal
from runcoord.testing.process_making import Can, ProcessMaker, Start

_CHANCE = os.urandom(15).hex()
OUTER, RUN, INNER, OTHER = (f"{_CHANCE}0{digit}" for digit in "1234")
"""Cookies: of the run that is meant, of one that started it, of one that it started, of none of these.
Of this process alone: where tests run side by side on one machine, a scan sees the processes of all."""

SECONDS = 10.0
"""Bound of scans and waits: far above what any of them takes."""

NO_PIDS: tuple[object, ...] = (0, 1, -1, -2, 2**22 + 1, 2**31, 2**63, True, "2", 2.0, None)


class ProcessesCase:
    """The hook, and short ways to say things."""

    maker: ProcessMaker
    _pinned: list[PinnedProcess]

    # --- to be filled in ---

    def make_processes(self) -> ProcessMaker:
        """A maker with no processes yet. It is closed after the test."""
        raise NotImplementedError

    # --- for the parts ---

    def setup_method(self) -> None:
        self._pinned = []
        self.maker = self.make_processes()

    def teardown_method(self) -> None:
        for process in self._pinned:
            process.close()
        self.maker.close()

    @property
    def table(self) -> Processes:
        return self.maker.table()

    def need(self, *abilities: Can) -> None:
        """Skip the test where the maker lacks one of these."""
        for ability in abilities:
            if ability in self.maker.lacks:
                from unittest import SkipTest

                raise SkipTest(f"{ability.value}: {self.maker.lacks[ability]}")

    def need_handles(self) -> None:
        """Skip the test where the table records no durable handles."""
        if not self.table.guarantees().durable_handle:
            from unittest import SkipTest

            raise SkipTest("this table has no durable handles")

    def need_pins(self) -> None:
        """Skip the test where a signal may reach a process that took the pid just now."""
        if not self.table.guarantees().pinned:
            from unittest import SkipTest

            raise SkipTest("this table checks before the signal, but holds nothing")

    def start(
        self,
        *cookies: str,
        handed_over: str = "",
        parent: int = 0,
        group: bool = False,
        session: bool = False,
        orphan: bool = False,
    ) -> int:
        """A process with these cookies in its line."""
        if group or session:
            self.need(Can.SESSIONS)
        if orphan:
            self.need(Can.ORPHANS)
        environment = marks(*cookies, handed_over=handed_over)
        return self.maker.start(Start(environment, group, session, orphan), parent)

    def open(self, identity: ProcessIdentity) -> PinnedProcess:
        process = self.table.open(identity)
        self._pinned.append(process)
        return process

    def hold(self, pid: int) -> PinnedProcess:
        """Pin a process of the maker."""
        return self.open(self.table.identify(pid))

    def look(self, identity: ProcessIdentity) -> Look:
        return self.open(identity).look(identity)

    def likeness(self, identity: ProcessIdentity) -> Likeness | type[RuncoordError]:
        """What an attempt to find the recorded process comes to."""
        try:
            return self.look(identity).likeness
        except ProcessError as error:
            return type(error)

    def scan(self, members: Membership) -> Scan:
        scan = self.table.scan(members, SECONDS)
        assert scan.complete, f"the scan was not complete: {scan.problem}"
        return scan

    def members(self, members: Membership) -> set[int]:
        return {each.identity.pid for each in self.scan(members).members}

    def pin(self, members: Membership, pid: int) -> PinnedProcess | None:
        process = self.table.pin(members, pid)
        if process is not None:
            self._pinned.append(process)
        return process

    def require_alive(self, *pids: int) -> None:
        for pid in pids:
            assert self.maker.alive(pid), f"process {pid} was to stay alive, and has ended"

    def require_refusal(self, kind: type[Exception], call: object, *values: object) -> RuncoordError:
        """Calling ``call`` with ``values`` must raise ``kind``, in words."""
        assert callable(call)
        with Refusal(kind) as refusal:
            call(*values)
        error: RuncoordError = refusal.error
        assert error.problem, f"{kind.__name__} without words"
        return error

    def end_and_reap(self, *pids: int) -> None:
        for pid in pids:
            self.maker.end(pid)
            self.maker.reap(pid)


def marks(*cookies: str, handed_over: str = "") -> dict[str, str]:
    """The environment of a process with these marks."""
    environment = {"LANG": "C"}
    if cookies:
        environment[COOKIE_VARIABLE] = ":".join(cookies)
    if handed_over:
        environment[HANDED_OVER_VARIABLE] = handed_over
    return environment


def with_cookie_alone(identity: ProcessIdentity, cookie: str) -> ProcessIdentity:
    """The record as a system without durable handles makes it."""
    return replace(identity, handle="", cookie=cookie)


def require_one_of(seen: object, allowed: Collection[object], what: str) -> None:
    assert seen in allowed, f"{what}\n  expected one of: {allowed!r}\n  seen:            {seen!r}"


__all__ = [
    "INNER",
    "NO_PIDS",
    "OTHER",
    "OUTER",
    "RUN",
    "SECONDS",
    "ProcessesCase",
    "marks",
    "require_equal",
    "require_one_of",
    "with_cookie_alone",
]
