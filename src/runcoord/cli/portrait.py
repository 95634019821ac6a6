"""Everything about one run at one moment: the run, its group, its events."""

from __future__ import annotations

from typing import Any

from runcoord import BadRow, Coordinator, Event, Instant, Run
from runcoord._core.limits import MAX_LIST
from runcoord._core.values import value
from runcoord.cli import documents
from runcoord.cli.process_facts import ProcessRecords
from runcoord.cli.session import instant
from runcoord.errors import UndecodableRow
from runcoord.ports import Group, View

EVENTS_SHOWN = 100
"""Events shown with their run; ``runcoord events --run`` pages through all of them."""
assert EVENTS_SHOWN < MAX_LIST


@value
class Portrait:
    """One run with what belongs to it. ``bad`` names what belongs to it and cannot be read."""

    run: Run
    now: Instant
    group: Group | None
    events: list[Event]
    more_events: bool
    records: ProcessRecords
    bad: list[BadRow]

    @classmethod
    def of(cls, coordinator: Coordinator, run_id: str) -> Portrait:
        """Read in one view, so that the parts fit together.

        Raises :class:`~runcoord.errors.UnknownRun`, and :class:`~runcoord.errors.UndecodableRow` when the
        run itself cannot be read.
        """
        bad: list[BadRow] = []
        with coordinator.store.view("show-run") as view:
            run = view.run(run_id)
            if run is not None:
                group = _group(view, run.spec.group, bad)
                # The newest ones: the terminal event is the last, and what people look for.
                events = view.events(run_id=run_id, limit=EVENTS_SHOWN + 1, bad=bad, newest_first=True)
                now = instant(coordinator.clock)
                records = ProcessRecords.of(view, run, bad)
                shown, more = events[:EVENTS_SHOWN][::-1], len(events) > EVENTS_SHOWN
                return cls(run, now, group, shown, more, records, bad)
        coordinator.run(run_id)
        raise AssertionError("a run that appears between two looks is shown by the next invocation")

    def document(self) -> dict[str, Any]:
        return {
            **documents.run_document(self.run, self.now),
            **self.records.document(self.run),
            "group_members": documents.group_document(self.group) if self.group else None,
            "events": [documents.event_document(event, self.now) for event in self.events],
            "events_more": self.more_events,
            "bad": [documents.bad_row_document(row) for row in self.bad],
        }


def _group(view: View, group_id: str, bad: list[BadRow]) -> Group | None:
    if not group_id:
        return None
    try:
        return view.group(group_id)
    except UndecodableRow as error:
        bad.append(BadRow.of(error))
        return None
