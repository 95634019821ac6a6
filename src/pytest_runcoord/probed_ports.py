"""The ports that a simulated world gives to one incarnation of a coordinator.

Each of them first asks its :class:`Probe` whether the incarnation is still alive: after a crash every
port refuses, whatever ``finally`` blocks try. Faults enter here too, so that production code runs
unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol, TypeVar

from runcoord.errors import Happened, StoreError, StoreFull, StoreLocked, StoreReadOnly, StoreTimeout
from runcoord.ports import Change, Counters, Message, Store, Transaction, View

T = TypeVar("T")


class Crashed(BaseException):
    """The incarnation is gone. Not an ``Exception``: code under test cannot handle its own death."""


class NeverReturns(BaseException):
    """A call that would hang for ever was made with no bound around it."""


class HangInBound(BaseException):
    """A call hangs inside a bounded call; the bound turns it into a timeout."""


class NoAnswer(BaseException):
    """A destination does not answer for as long as its caller waits."""


class Probe(Protocol):
    """What the ports of one incarnation tell its world, and ask of it."""

    def reach(self, moment: str, **data: object) -> None:
        """A named effect is reached. Raises :class:`Crashed` if the incarnation dies here."""

    def fault(self, verb: str) -> str | None:
        """The fault that this call meets: a word of :data:`FAULTS`, or ``None``."""

    def hang(self) -> None:
        """The call does not return: raises, or blocks the helper thread that made it."""

    def send(self, message: Message) -> None:
        """Offer a message to its destination in the world; raises what the destination raises."""


FAULTS: dict[str, str] = {
    "locked": "the store stays locked for longer than the bounded wait",
    "full": "the disk is full",
    "read-only": "the store cannot be written",
    "io-error": "the store fails before anything is written",
    "hang": "the call never returns",
    "lose-reply": "the write lands, but the caller is told that nobody answered",
}


def store_error(fault: str) -> StoreError:
    """The error that production raises for this fault."""
    if fault == "locked":
        return StoreLocked("the store is locked (injected)", remedy="Try again later.")
    if fault == "full":
        return StoreFull("the disk is full (injected)", remedy="Make room.")
    if fault == "read-only":
        return StoreReadOnly("the store cannot be written (injected)", remedy="Check its permissions.")
    if fault == "lose-reply":
        return StoreTimeout(
            "the store did not answer (injected)",
            remedy="Repeat it with the same key.",
            happened=Happened.MAYBE,
        )
    if fault == "io-error":
        return StoreError("the store failed (injected)", remedy="Look at its disk.")
    raise LookupError(f"the reference knows no fault {fault!r}: it is a project's own, for its own subject")


class FaultyStore:
    """A store as one incarnation sees it: the real one, behind the probe."""

    def __init__(self, inner: Store, probe: Probe) -> None:
        self._inner, self._probe = inner, probe

    def transaction(self, verb: str) -> AbstractContextManager[Transaction]:
        return _FaultyTransaction(self._inner, self._probe, verb)

    def view(self, verb: str) -> AbstractContextManager[View]:
        return _FaultyView(self._inner, self._probe, verb)

    @property
    def counters(self) -> Counters:
        return self._inner.counters

    def close(self) -> None:
        self._inner.close()


class _Written:
    """A transaction that remembers whether anything was written in it."""

    def __init__(self, inner: Transaction) -> None:
        self._inner = inner
        self.wrote = False

    def save(self, changes: Iterable[Change]) -> None:
        changes = list(changes)
        self.wrote = self.wrote or bool(changes)
        self._inner.save(changes)

    def mark_held_told(self) -> None:
        self.wrote = True
        self._inner.mark_held_told()

    def remove_runs(self, run_ids: Sequence[str]) -> None:
        self.wrote = True
        self._inner.remove_runs(run_ids)

    def remove_runless(self, event_ids: Sequence[str]) -> None:
        self.wrote = True
        self._inner.remove_runless(event_ids)

    def remove_refused(self, root: str, names: Sequence[str]) -> None:
        self.wrote = True
        self._inner.remove_refused(root, names)

    def remove_owner(self, owner: str) -> None:
        self.wrote = True
        self._inner.remove_owner(owner)

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)


class _FaultyTransaction(AbstractContextManager[Transaction]):
    __slots__ = ("_block", "_fault", "_inner", "_probe", "_store", "_verb")

    def __init__(self, store: Store, probe: Probe, verb: str) -> None:
        self._store, self._probe, self._verb = store, probe, verb

    def __enter__(self) -> Transaction:
        probe, verb = self._probe, self._verb
        probe.reach("before-" + verb)
        self._fault = probe.fault(verb)
        if self._fault == "hang":
            probe.hang()
        elif self._fault is not None and self._fault != "lose-reply":
            raise store_error(self._fault)
        self._block = self._store.transaction(verb)
        self._inner = _Written(self._block.__enter__())
        return self._inner  # type: ignore[return-value]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._block.__exit__(kind, error, trace)
            return
        wrote = self._inner.wrote
        if wrote:
            try:
                self._probe.reach("before-commit")
            except BaseException as death:
                self._block.__exit__(type(death), death, death.__traceback__)
                raise
        self._block.__exit__(None, None, None)
        if wrote:
            self._probe.reach("after-commit", verb=self._verb)
            self._probe.reach("after-" + self._verb)
        if self._fault == "lose-reply":
            raise store_error(self._fault)


class _FaultyView(AbstractContextManager[View]):
    __slots__ = ("_block", "_probe", "_store", "_verb")

    def __init__(self, store: Store, probe: Probe, verb: str) -> None:
        self._store, self._probe, self._verb = store, probe, verb

    def __enter__(self) -> View:
        self._probe.reach("")
        fault = self._probe.fault(self._verb)
        if fault == "hang":
            self._probe.hang()
        elif fault is not None:
            raise store_error(fault)
        self._block = self._store.view(self._verb)
        return self._block.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._block.__exit__(kind, error, trace)
        if error is None and self._verb == "read-recoverable":
            self._probe.reach("after-read")


class ProbedDestination:
    """A destination as one incarnation sees it: the world's, behind the probe."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe

    def __call__(self, message: Message) -> None:
        self._probe.reach("before-send", event=message.event_id, attempt=message.attempt)
        self._probe.send(message)
        self._probe.reach("after-send", event=message.event_id, attempt=message.attempt)


class BoundedByWorld:
    """Bounded calls in virtual time: a call that hangs costs its bound on the world's clocks."""

    def __init__(
        self,
        wait: Callable[[float], None],
        boottime: Callable[[], float],
        timed_out: Callable[[float], StoreError],
    ) -> None:
        self._wait, self._boottime, self._timed_out = wait, boottime, timed_out
        self._ends: list[float] = []

    def left(self) -> float | None:
        """Seconds until the innermost bound under way; ``None`` when there is none."""
        return max(0.0, self._ends[-1] - self._boottime()) if self._ends else None

    def call(self, seconds: float, call: Callable[[], T]) -> T:
        self._ends.append(self._boottime() + seconds)
        try:
            return call()
        except HangInBound:
            self._wait(self.left() or 0.0)
            raise self._timed_out(seconds) from None
        finally:
            self._ends.pop()
