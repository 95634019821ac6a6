"""Which pids are given out, in each place with numbers of its own."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_runcoord.processes.process import Place, SimProcess

FIRST_PID = 4_000_001
"""Simulated pids begin here, where a real system practically never is: code that signals one past the
simulation reaches nobody."""
LAST_PID = 4_190_000
"""Numbers begin again after it; a real kernel's largest is 4,194,304."""


class TableFull(Exception):
    """The table has no room for another process."""


class Numbers:
    """Pids of one place: who has them, and which is the next."""

    def __init__(self, first: int, highest: int) -> None:
        self._first, self._highest = first, highest
        self.holders: dict[int, SimProcess] = {}
        """Whoever was not reaped."""
        self._last = first - 1
        self._ever: set[int] = set()
        """Numbers that were ever given, so that nobody looks for who has one that never was."""

    def enter(self, process: SimProcess) -> None:
        self.holders[process.pid] = process
        self._ever.update((process.pid, process.group, process.session))

    def taken(self, number: int) -> bool:
        """Whether a new process cannot have it: a process, a group or a session has."""
        if number in self.holders:
            return True
        return number in self._ever and any(
            number in (each.group, each.session) for each in self.holders.values()
        )

    def next_free(self) -> int:
        number = self._last
        for _ in range(self._highest - self._first + 1):
            number = number + 1 if number < self._highest else self._first
            if not self.taken(number):
                self._last = number
                return number
        raise TableFull("every pid is taken")


class Places:
    """The numbers of every place."""

    def __init__(self, pids: tuple[int, int]) -> None:
        self._pids = pids
        self._by_place: dict[tuple[str, str], Numbers] = {}

    def of(self, place: Place) -> Numbers | None:
        """The numbers of a place; ``None`` before anything was started there."""
        return self._by_place.get(place.table)

    def begin(self, place: Place) -> Numbers:
        """A place that nothing was started in before."""
        numbers = self._by_place[place.table] = Numbers(*self._pids)
        return numbers

    def all(self) -> Iterable[Numbers]:
        return self._by_place.values()

    def clear(self) -> None:
        """Everything is switched off."""
        self._by_place.clear()
