"""A store that is away for a moment, or whose answer is lost."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from runcoord.errors import Happened, StoreTimeout, StoreUnavailable
from runcoord.ports import Store, Transaction


class FailingStore:
    """A store whose transactions for one verb fail so often; ``happens`` lets the write land all the same."""

    def __init__(self, inner: Store) -> None:
        self._inner = inner
        self.verb, self.times, self.happens = "", 0, False
        self.error: BaseException | None = None
        """What is raised instead, such as a Ctrl-C."""

    def transaction(self, verb: str) -> AbstractContextManager[Transaction]:
        if verb == self.verb and self.times:
            self.times -= 1
            if self.happens:
                return _ReplyLost(self._inner.transaction(verb), self.error)
            if self.error is not None:
                raise self.error
            raise StoreUnavailable("the store is away", remedy="Wait.")
        return self._inner.transaction(verb)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _ReplyLost(AbstractContextManager[Transaction]):
    def __init__(self, inner: AbstractContextManager[Transaction], error: BaseException | None) -> None:
        self._inner, self._error = inner, error

    def __enter__(self) -> Transaction:
        return self._inner.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._inner.__exit__(kind, error, trace)
        if self._error is not None:
            raise self._error
        raise StoreTimeout("no answer", remedy="Repeat it.", happened=Happened.MAYBE)
