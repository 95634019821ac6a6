"""What a snapshot of a subject may say, checked before anything is judged by it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

from pytest_runcoord._positions import did_you_mean
from pytest_runcoord.subject import EventSeen, RunSeen, Snapshot
from pytest_runcoord.subjects.answers import Nonsense, is_count, is_text, shown
from pytest_runcoord.verbs.expectations import STATES
from pytest_runcoord.verbs.expected_events import EVENT_STATES, KINDS
from pytest_runcoord.verbs.runs import OUTCOMES
from runcoord.ports import Deadline

Check = Callable[[Any], bool]


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_moment(value: Any) -> bool:
    """A deadline whose times are times."""
    if value is None:
        return True
    return (
        isinstance(value, Deadline)
        and isinstance(value.boot_id, str)
        and all(
            isinstance(each, int | float) and math.isfinite(each) for each in (value.wall, value.boottime)
        )
    )


TEXT, COUNT, FLAG, MOMENT = (
    (is_text, "a text that is Unicode"),
    (is_count, "a whole number, not negative"),
    (_is_flag, "true or false"),
    (_is_moment, "a Deadline, or None"),
)
RUN_FIELDS: dict[str, tuple[Check, str]] = {
    "epoch": COUNT,
    "owner": TEXT,
    "lease": MOMENT,
    "stop_requested": FLAG,
    "result": TEXT,
    "error": TEXT,
    "late": FLAG,
    "destination": TEXT,
    "group": TEXT,
    "line": TEXT,
    "retry_of": TEXT,
    "retried_as": TEXT,
    "progress": TEXT,
    "interruptions": COUNT,
    "result_truncated": FLAG,
}
EVENT_FIELDS: dict[str, tuple[Check, str]] = {
    "run_id": TEXT,
    "destination": TEXT,
    "attempt": COUNT,
    "body": TEXT,
    "reason": TEXT,
    "due": MOMENT,
    "told": FLAG,
}


def check_snapshot(seen: Any) -> Snapshot:
    """The snapshot that a subject gave; raises :class:`Nonsense`."""
    if not isinstance(seen, Snapshot):
        raise Nonsense(f"gave {shown(seen)}", "a Snapshot")
    for what, kind, rows in (("runs", RunSeen, seen.runs), ("events", EventSeen, seen.events)):
        if not isinstance(rows, Mapping):
            raise Nonsense(f"has {what} = {shown(rows)}", f"a table of {kind.__name__} by their ids")
        for key, row in rows.items():
            _check_row(what, kind, key, row)
    if seen.rows_written is not None and not is_count(seen.rows_written):
        raise Nonsense(f"has rows_written = {shown(seen.rows_written)}", "a whole number, or None")
    return seen


def apart(seen: Snapshot) -> Snapshot:
    """The same in tables that the subject cannot change: they would never differ from themselves."""
    return dataclasses.replace(seen, runs=dict(seen.runs), events=dict(seen.events))


def _check_row(what: str, kind: type[RunSeen | EventSeen], key: Any, row: Any) -> None:
    if not isinstance(row, kind):
        raise Nonsense(f"has {shown(row)} among its {what}", kind.__name__)
    one, known = f"the {what[:-1]} {shown(key)}", row.run_id if isinstance(row, RunSeen) else row.event_id
    if not is_text(key) or known != key:
        raise Nonsense(f"has {one} under the id {shown(known)}", "every row under its own id, a text")
    if isinstance(row, RunSeen):
        _check_word(one, "state", row.state, STATES)
        if row.outcome is not None:
            _check_word(one, "outcome", row.outcome, OUTCOMES)
        if (row.outcome is None) == (row.state == "finished"):
            raise Nonsense(
                f"has {one} as {row.state} with outcome {row.outcome}",
                "an outcome exactly where it is finished",
            )
    else:
        _check_word(one, "kind", row.kind, KINDS)
        _check_word(one, "state", row.state, EVENT_STATES)
    for name, (right, expected) in (RUN_FIELDS if isinstance(row, RunSeen) else EVENT_FIELDS).items():
        value = getattr(row, name)
        if not right(value):
            raise Nonsense(f"has {one} with {name} = {shown(value)}", expected)


def _check_word(one: str, field: str, word: Any, known: Mapping[str, str]) -> None:
    if not (isinstance(word, str) and word in known):
        remedy = did_you_mean(word, known) if isinstance(word, str) else ""
        raise Nonsense(f"has {one} with {field} = {shown(word)}", ", ".join(known), remedy)
