"""Who this owner is: its process's identity, stored together with the first thing that it acquires."""

from __future__ import annotations

from collections.abc import Callable

from runcoord._core.identity import ProcessIdentity
from runcoord._core.records import Owner
from runcoord._log import DEBUG, Log, say
from runcoord.errors import RuncoordError
from runcoord.ports import Processes

log = Log("runcoord.coordinator")


class Registration:
    """Written once in the life of one owner. Where the identity cannot be read none is written, and the
    owner's death cannot be proved: its leases then end by time."""

    def __init__(self, owner: str, table: Callable[[], Processes] | None) -> None:
        self._owner, self._table = owner, table
        self._identity: ProcessIdentity | None = None
        self._done = table is None
        self.leaving = False
        """Set where the program ends with the next completion: the row goes with it, in the same commit, so
        that programs which run one command each leave none behind for a sweep."""

    def prepare(self) -> None:
        """Read the identity, outside of any transaction; once."""
        if self._done or self._identity is not None or self._table is None:
            return
        try:
            self._identity = self._table().itself()
        except (RuncoordError, OSError) as error:
            self._done = True
            say(log, DEBUG, "the identity of this process cannot be read", error=str(error))

    def rows(self, wall: float) -> tuple[Owner, ...]:
        """What the transaction under way must write as well."""
        if self._done or self._identity is None:
            return ()
        return (Owner(self._owner, self._identity, wall),)

    def written(self) -> None:
        """That transaction was committed."""
        self._done = self._done or self._identity is not None
