"""Rows to values and back.

A row is a tuple in the order of its ``*_COLUMNS``. Decoding first compares the row's types with shapes that
were seen to be right, which costs one look-up a row; only a new shape is examined column by column.
"""

from __future__ import annotations

from collections.abc import Callable

from runcoord._core.evolving import assembled
from runcoord._core.model import (
    Cleanup,
    CleanupState,
    Command,
    Deadline,
    Event,
    EventKind,
    EventState,
    Group,
    Outcome,
    Run,
    Spec,
    State,
)
from runcoord._core.sources import Source
from runcoord._core.values import names_of
from runcoord._stores.records import cleanup_from, cleanup_text
from runcoord.errors import UndecodableRow

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import Any, NoReturn, TypeVar

    Row = tuple[Any, ...]
    Params = tuple[Any, ...]
    T = TypeVar("T")
    Decoder = Callable[[Row], T]
else:  # what is in them is not asked for at run time
    Row = Params = tuple
    Decoder = Callable

#: Fixed when the run is accepted; no update names them.
RUN_FIXED = [
    "run_id",
    "created_at",
    "line",
    "retry_of",
    "interruptions",
    "payload",
    "destination",
    "agent",
    "task",
    "conversation_key",
    "group_id",
    "group_size",
    "interruption_budget",
    "lineage",
    "depth",
]
#: What a run's life changes.
RUN_CHANGING = [
    "state",
    "version",
    "epoch",
    "owner",
    "lease_wall",
    "lease_boottime",
    "lease_boot",
    "lease_seconds",
    "started_at",
    "finished_at",
    "stop_requested_at",
    "stop_reason",
    "progress",
    "notes",
    "outcome",
    "reported",
    "error",
    "result",
    "result_truncated",
    "late",
    "retried_as",
    "exit_status",
    "cleanup",
]
#: Of a run that was imported; of all others nothing. ``source`` has what no list asks for.
SOURCE_FIXED = ["source_root", "source_ended", "source"]
SOURCE_CHANGING = ["source_mark", "source_state"]
SUBMITTED_COLUMNS = [*RUN_FIXED, *RUN_CHANGING]
RUN_COLUMNS = [*SUBMITTED_COLUMNS, *SOURCE_FIXED, *SOURCE_CHANGING]

EVENT_FIXED = ["event_id", "run_id", "group_id", "kind", "body", "created_at"]
EVENT_CHANGING = [
    "destination",
    "state",
    "due_wall",
    "due_boottime",
    "due_boot",
    "attempt",
    "owner",
    "reason",
    "delivered_at",
    "told",
    "failures",
    "unanswered",
]
EVENT_COLUMNS = ["seq", *EVENT_FIXED, *EVENT_CHANGING]

COMMAND_COLUMNS = ["key", "run_id", "content_hash", "created_at"]
GROUP_COLUMNS = ["group_id", "size", "destination", "completed", "failed", "stopped", "interrupted"]

_TEXT: frozenset[type] = frozenset({str})
_REAL: frozenset[type] = frozenset({float})
_WHOLE: frozenset[type] = frozenset({int})
_REAL_OR_NONE: frozenset[type] = frozenset({float, type(None)})
_WHOLE_OR_NONE: frozenset[type] = frozenset({int, type(None)})
_TEXT_OR_NONE: frozenset[type] = frozenset({str, type(None)})

_Columns = dict[str, frozenset[type]]
_TYPES: dict[str, _Columns] = {
    "runs": dict.fromkeys(RUN_COLUMNS, _TEXT)
    | dict.fromkeys(
        ["interruptions", "group_size", "interruption_budget", "depth", "version", "epoch", "notes"], _WHOLE
    )
    | dict.fromkeys(["result_truncated", "late"], _WHOLE)
    | dict.fromkeys(["created_at", "lease_seconds"], _REAL)
    | dict.fromkeys(
        ["lease_wall", "lease_boottime", "started_at", "finished_at", "stop_requested_at"], _REAL_OR_NONE
    )
    | dict.fromkeys(["lease_boot", "outcome", "reported", "cleanup"], _TEXT_OR_NONE)
    | {"exit_status": _WHOLE_OR_NONE, "source_ended": _REAL_OR_NONE}
    | dict.fromkeys(["source_root", "source", "source_mark", "source_state"], _TEXT_OR_NONE),
    "events": dict.fromkeys(EVENT_COLUMNS, _TEXT)
    | dict.fromkeys(["seq", "attempt", "told", "failures", "unanswered"], _WHOLE)
    | dict.fromkeys(["created_at", "due_wall", "due_boottime"], _REAL)
    | {"delivered_at": _REAL_OR_NONE},
    "commands": dict.fromkeys(COMMAND_COLUMNS, _TEXT) | {"created_at": _REAL},
    "groups": dict.fromkeys(GROUP_COLUMNS, _WHOLE) | dict.fromkeys(["group_id", "destination"], _TEXT),
}

_STATES: dict[str, State] = {state.value: state for state in State}
_OUTCOMES: dict[str | None, Outcome | None] = {None: None, **{each.value: each for each in Outcome}}
_EVENT_STATES: dict[str, EventState] = {state.value: state for state in EventState}
_EVENT_KINDS: dict[str, EventKind] = {kind.value: kind for kind in EventKind}

_RUN_FIELDS = names_of(Run)
_SPEC_FIELDS = names_of(Spec)
_EVENT_FIELDS = names_of(Event)

_right_shapes: dict[str, set[tuple[type, ...]]] = {table: set() for table in _TYPES}


def _require_types(table: str, key: object, row: Row) -> None:
    shape = tuple(map(type, row))
    if shape in _right_shapes[table]:
        return
    for (column, allowed), seen, value in zip(_TYPES[table].items(), shape, row, strict=True):
        if seen not in allowed:
            _bad(table, key, f"{column} is {_shown(value)}")
    _right_shapes[table].add(shape)


def _bad(table: str, key: object, problem: str) -> NoReturn:
    key_text = key if isinstance(key, str) else _shown(key)
    raise UndecodableRow(
        f"row {key_text!r} of {table} cannot be understood: {problem}",
        remedy="Only this row is affected. Correct it in the store, or restore it from a backup.",
        table=table,
        key=key_text,
    )


def _shown(value: object) -> str:
    """A stored value for an error message, within bounds."""
    text = "missing" if value is None else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


# --- runs ----------------------------------------------------------------------------------------


def decode_run(row: Row) -> Run:
    """Raises :class:`~runcoord.errors.UndecodableRow`."""
    _require_types("runs", row[0], row)
    (
        run_id, created_at, line, retry_of, interruptions,
        payload, destination, agent, task, conversation_key, group, group_size, budget, lineage, depth,
        state_text, version, epoch, owner, lease_wall, lease_boottime, lease_boot, lease_seconds,
        started_at, finished_at, stop_requested_at, stop_reason, progress, notes,
        outcome_text, reported_text, error, result, truncated, late, retried_as, exit_status, tended,
        source_root, _, source_text, source_mark, source_state,
    ) = row  # fmt: skip
    state = _STATES.get(state_text)
    outcome = _OUTCOMES.get(outcome_text, _UNKNOWN)
    reported = _OUTCOMES.get(reported_text, _UNKNOWN)
    lease = None if lease_boot is None else Deadline(lease_wall, lease_boottime, lease_boot)
    held = state is State.CLAIMED or state is State.RUNNING
    cleanup = None
    if tended is not None:
        cleanup, lease = _cleanup(run_id, tended, lease, ended=state is State.FINISHED)
        if cleanup.due is not None:
            lease_wall = lease_boottime = None  # looked at
    if (
        state is None
        or outcome is _UNKNOWN
        or reported is _UNKNOWN
        or epoch < (1 if held else 0)
        or version < 1
        or held != (lease is not None)
        or (lease_wall is None) is held
        or (lease_boottime is None) is held
        or (held and not owner)
        or (state is State.ACCEPTED and owner)
        or (state is State.FINISHED) is (outcome is None)
        or (state is State.FINISHED) is (finished_at is None)
        or interruptions < 0
        or notes < 0
    ):
        _bad("runs", run_id, _problem_of_run(dict(zip(RUN_COLUMNS, row, strict=True))))
    source = None
    if source_root is not None:
        source = _source(run_id, source_root, source_text, source_mark, source_state)
    asked = (payload, destination, agent, task, conversation_key, group, group_size, budget)
    values = (
        run_id,
        assembled(Spec, zip(_SPEC_FIELDS, asked, strict=True)),
        created_at, line, retry_of, interruptions,
        state, version, epoch, owner, lease, lease_seconds,
        started_at, finished_at, stop_requested_at, stop_reason, progress, notes,
        outcome, reported, error, result, truncated != 0, late != 0, retried_as,
        exit_status, cleanup, lineage, depth, source,
    )  # fmt: skip
    return assembled(Run, zip(_RUN_FIELDS, values, strict=True))


def _cleanup(
    run_id: str, text: str, deadline: Deadline | None, *, ended: bool
) -> tuple[Cleanup, Deadline | None]:
    """The clean-up and the lease. The columns of the lease hold, of a finished run whose processes are not
    dealt with, when recovery may try next."""
    due = deadline if ended else None
    try:
        cleanup = cleanup_from(text, due)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        _bad("runs", run_id, f"cleanup is {_shown(text)} ({error!r:.80})")
    if ended and (cleanup.state is CleanupState.PENDING) is (due is None):
        _bad("runs", run_id, f"its cleanup is {cleanup.state.value}, due {_shown(due)}")
    if due is not None and None in (due.wall, due.boottime):
        _bad("runs", run_id, f"its cleanup is due {_shown(due)}")
    return cleanup, None if ended else deadline


def _source(run_id: str, root: str, text: str | None, mark: str | None, state: str | None) -> Source:
    from runcoord._stores.sources import source_from  # most stores have no imported runs

    try:
        return source_from(root, text, mark, state)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        _bad("runs", run_id, f"its source is {_shown(text)}, {_shown(state)} ({error!r:.80})")


_UNKNOWN: Any = object()
"""Stands for an outcome that is none of ours; ``None`` is one: not ended yet."""


def _problem_of_run(row: dict[str, Any]) -> str:
    """Which rule of :func:`decode_run` the row breaks, in words."""
    state, epoch = row["state"], row["epoch"]
    if state not in _STATES:
        return f"state is {_shown(state)}"
    for column in ("outcome", "reported"):
        if row[column] not in _OUTCOMES:
            return f"{column} is {_shown(row[column])}"
    for column, least in (("epoch", 0), ("version", 1), ("interruptions", 0), ("notes", 0)):
        if row[column] < least:
            return f"{column} is {row[column]}"
    if state == State.FINISHED or row["outcome"] is not None or row["finished_at"] is not None:
        return (
            f"a {state} run has outcome {_shown(row['outcome'])}, finished_at {_shown(row['finished_at'])}"
            f" and lease {_shown(row['lease_boot'])}"
        )
    lease = [_shown(row[column]) for column in ("lease_wall", "lease_boottime", "lease_boot")]
    return f"a {state} run has epoch {epoch}, owner {_shown(row['owner'])} and lease {', '.join(lease)}"


def run_changing(run: Run) -> Params:
    """The values of ``RUN_CHANGING``.

    ``_value_`` is what ``value`` gives, without a call for each.
    """
    lease = run.lease
    if run.cleanup is not None and run.cleanup.due is not None:
        lease = run.cleanup.due
    return (
        run.state._value_, run.version, run.epoch, run.owner,
        None if lease is None else lease.wall,
        None if lease is None else lease.boottime,
        None if lease is None else lease.boot_id,
        run.lease_seconds, run.started_at, run.finished_at, run.stop_requested_at, run.stop_reason,
        run.progress, run.notes,
        None if run.outcome is None else run.outcome._value_,
        None if run.reported is None else run.reported._value_,
        run.error, run.result, run.result_truncated, run.late, run.retried_as,
        run.exit_status, None if run.cleanup is None else cleanup_text(run.cleanup),
    )  # fmt: skip


def encode_run(run: Run) -> Params:
    """The values of ``SUBMITTED_COLUMNS``."""
    spec = run.spec
    return (
        run.run_id, run.created_at, run.line, run.retry_of, run.interruptions,
        spec.payload, spec.destination, spec.agent, spec.task, spec.conversation_key,
        spec.group, spec.group_size, spec.interruption_budget, run.lineage, run.depth,
        *run_changing(run),
    )  # fmt: skip


# --- events --------------------------------------------------------------------------------------


def decode_event(row: Row) -> Event:
    """Raises :class:`~runcoord.errors.UndecodableRow`."""
    _require_types("events", row[1], row)
    (
        seq, event_id, run_id, group, kind_text, body, created_at,
        destination, state_text, due_wall, due_boottime, due_boot, attempt, owner, reason, delivered_at, told,
        failures, unanswered,
    ) = row  # fmt: skip
    kind, state = _EVENT_KINDS.get(kind_text), _EVENT_STATES.get(state_text)
    if kind is None:
        _bad("events", event_id, f"kind is {_shown(kind_text)}")
    if state is None:
        _bad("events", event_id, f"state is {_shown(state_text)}")
    if attempt < 0 or failures < 0 or unanswered < 0:
        counts = f"attempt is {attempt}, failures is {failures}, unanswered is {unanswered}"
        _bad("events", event_id, counts)
    if state is EventState.SENDING and not (owner and attempt):
        _bad("events", event_id, f"it is being sent by {owner or 'nobody'!r} at attempt {attempt}")
    values = (
        event_id, run_id, kind, destination, body, created_at, state,
        Deadline(due_wall, due_boottime, due_boot),
        attempt, owner, reason, delivered_at, told != 0, failures, seq, unanswered, group,
    )  # fmt: skip
    return assembled(Event, zip(_EVENT_FIELDS, values, strict=True))


def event_changing(event: Event) -> Params:
    """The values of ``EVENT_CHANGING``."""
    due = event.due
    return (
        event.destination, event.state._value_, due.wall, due.boottime, due.boot_id,
        event.attempt, event.owner, event.reason, event.delivered_at, event.told, event.failures,
        event.unanswered,
    )  # fmt: skip


def encode_new_event(event: Event) -> Params:
    """The values of ``EVENT_FIXED`` and ``EVENT_CHANGING``; the store gives the number."""
    return (
        event.event_id, event.run_id, event.group, event.kind._value_, event.body, event.created_at,
        *event_changing(event),
    )  # fmt: skip


# --- commands and groups -------------------------------------------------------------------------


def decode_command(row: Row) -> Command:
    """Raises :class:`~runcoord.errors.UndecodableRow`."""
    _require_types("commands", row[0], row)
    return Command(*row)


def encode_command(command: Command) -> Params:
    """The values of ``COMMAND_COLUMNS``."""
    return (command.key, command.run_id, command.content_hash, command.created_at)


def decode_group(row: Row) -> Group:
    """Raises :class:`~runcoord.errors.UndecodableRow`."""
    _require_types("groups", row[0], row)
    group = Group(*row)
    if group.size < 1 or min(group.completed, group.failed, group.stopped, group.interrupted) < 0:
        _bad("groups", group.group_id, f"its size and counts are {_shown(row[1:])}")
    return group


def encode_group(group: Group) -> Params:
    """The values of ``GROUP_COLUMNS``."""
    return (
        group.group_id, group.size, group.destination,
        group.completed, group.failed, group.stopped, group.interrupted,
    )  # fmt: skip
