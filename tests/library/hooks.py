"""Ports with something to hold on to: stores that stop at a named verb, bounded calls that fail as told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

from runcoord.errors import Happened, StoreError, StoreTimeout
from runcoord.ports import Counters, Store, Transaction, View
from runcoord.testing import ManualClock

T = TypeVar("T")
LONG = 30.0
"""Seconds until a test gives up waiting for something that must happen."""


class HookedStore:
    """A store that calls ``before[verb]`` before a transaction or view, and ``after[verb]`` after its end.

    It stands around another one: ``Ports(wrap_store=store.around)``.
    """

    _inner: Store

    def __init__(self) -> None:
        self.before: dict[str, Callable[[], object]] = {}
        self.after: dict[str, Callable[[], object]] = {}
        self.verbs: list[str] = []

    def around(self, inner: Store) -> HookedStore:
        self._inner = inner
        return self

    def transaction(self, verb: str) -> AbstractContextManager[Transaction]:
        return self._hooked(verb, self._inner.transaction)

    def view(self, verb: str) -> AbstractContextManager[View]:
        return self._hooked(verb, self._inner.view)

    @contextmanager
    def _hooked(self, verb: str, block: Callable[[str], AbstractContextManager[T]]) -> Iterator[T]:
        self.verbs.append(verb)
        self.before.get(verb, _nothing)()
        with block(verb) as inner:
            yield inner
        self.after.get(verb, _nothing)()

    @property
    def counters(self) -> Counters:
        return self._inner.counters

    def close(self) -> None:
        self._inner.close()


def _nothing() -> None:
    """No hook."""


class Barrier:
    """A place where a thread waits until it is let through, and where others can wait for it to arrive."""

    def __init__(self) -> None:
        self._arrived, self._open = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self._arrived.set()
        assert self._open.wait(LONG), "nobody opened the barrier"

    def wait_for_arrival(self) -> None:
        assert self._arrived.wait(LONG), "nobody came to the barrier"

    def open(self) -> None:
        self._open.set()


class ToldCalls:
    """A bounded call that does what the next word of ``told`` says; without a word it calls.

    ``fails``: the store says no at once. ``hangs``: nothing happens and the bound is reached. ``lands``: it
    happens, and the bound is reached all the same. ``slow``: the time of the bound passes before the call.
    ``breaks``: something raises what nobody foresaw.
    """

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.told: list[str] = []
        self.bounds: list[float] = []

    def call(self, seconds: float, call: Callable[[], T]) -> T:
        self.bounds.append(seconds)
        word = self.told.pop(0) if self.told else "calls"
        if word == "fails":
            raise StoreError("the store failed", remedy="Try again.")
        if word == "breaks":
            raise MemoryError("nobody foresaw this")
        if word in ("hangs", "lands"):
            if word == "lands":
                call()
            self._clock.advance(seconds)
            raise StoreTimeout("no answer", remedy="Repeat it.", happened=Happened.MAYBE)
        if word == "slow":
            self._clock.advance(seconds)
        return call()


def in_thread(call: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=call)
    thread.start()
    return thread
