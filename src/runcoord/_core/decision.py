"""What a request changes, as a value."""

from __future__ import annotations

from runcoord._core.model import Event, Run
from runcoord._core.records import Record
from runcoord._core.values import value


@value
class Decision:
    """What a request changes. ``run`` is the run afterwards; unchanged when ``changed`` is false."""

    run: Run
    changed: bool
    event: Event | None = None
    successor: Run | None = None
    """A run created as the automatic retry of this one."""
    late: bool = False
    records: tuple[Record, ...] = ()
    """Rows about the run's processes, written together with it."""

    def recording(self, *records: Record) -> Decision:
        """The same with these rows in the place of its own."""
        return Decision(self.run, self.changed, self.event, self.successor, self.late, records)
