"""The one place where events are made: every copy of an event has the bytes built here."""

from __future__ import annotations

import json
from collections.abc import Iterable

from runcoord._core.evolving import evolved
from runcoord._core.limits import DIGEST_EVENTS_NAMED
from runcoord._core.model import (
    Cleanup,
    Deadline,
    Event,
    EventKind,
    EventState,
    Group,
    Instant,
    Outcome,
    Run,
    Survivor,
)
from runcoord._core.source_texts import json_number, json_text, source_json

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import Any

NO_DESTINATION = "no destination"
_encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode


def canonical_json(value: Any) -> str:
    """JSON text with sorted keys and no spaces. ``ValueError`` or ``TypeError`` for what JSON cannot say."""
    return _encode(value)


def finished_event(
    run: Run, now: Instant, *, claimed_by: str = "", claim_seconds: float = 0.0, held: str = ""
) -> Event:
    """The terminal event of a finished run, the same keys whoever ended it.

    With ``claimed_by`` the first delivery attempt already belongs to that owner, which saves a commit. With
    ``held``, a reason, it waits for the operator.
    """
    event_id, body = f"{run.run_id}/finished", _finished_body(run)
    return _event(event_id, run, EventKind.FINISHED, body, now, claimed_by, claim_seconds, held)


def _finished_body(run: Run) -> str:
    """What :func:`canonical_json` gives for it, at a third of the time: whoever ends thousands of runs spends
    much of it here."""
    spec, started, finished = run.spec, run.started_at, run.finished_at
    elapsed = max(0.0, finished - started) if started is not None and finished is not None else None
    source = "null" if run.source is None else source_json(run.source, run.run_id)
    cleanup = _NO_CLEANUP if run.cleanup is None else _encode(_cleanup(run.cleanup))[1:-1]
    return (
        f'{{"agent":{json_text(spec.agent)}'
        f",{cleanup[: cleanup.index(',')]}"
        f',"conversation_key":{json_text(spec.conversation_key)}'
        f',"created_at":{json_number(run.created_at)}'
        f',"elapsed":{json_number(elapsed)}'
        f',"error":{json_text(run.error)}'
        f',"exit_status":{"null" if run.exit_status is None else int(run.exit_status)}'
        f',"finished_at":{json_number(finished)}'
        f',"group":{json_text(spec.group)}'
        ',"kind":"run.finished"'
        f',"late":{_flag(run.late)}'
        f',"outcome":{_word(run.outcome)}'
        f',"reported":{_word(run.reported)}'
        f',"result":{json_text(run.result)}'
        f',"result_truncated":{_flag(run.result_truncated)}'
        f',"retried_as":{json_text(run.retried_as)}'
        f',"retry_of":{json_text(run.retry_of)}'
        f',"run":{json_text(run.run_id)}'
        f',"source":{source}'
        f',"started_at":{json_number(started)}'
        f",{cleanup[cleanup.index(',') + 1 :]}"
        f',"task":{json_text(spec.task)}}}'
    )


_NO_CLEANUP = '"cleanup":null,"survivors":[],"survivors_unnamed":0'


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _word(outcome: Outcome | None) -> str:
    return "null" if outcome is None else f'"{outcome._value_}"'


def _cleanup(cleanup: Cleanup) -> dict[str, Any]:
    """What is known of the run's processes at its end; later clean-up sends no second event."""
    return {
        "cleanup": cleanup.state,
        "survivors": [survivor_document(each) for each in cleanup.survivors],
        "survivors_unnamed": cleanup.unnamed,
    }


def survivor_document(survivor: Survivor) -> dict[str, Any]:
    return {"pid": survivor.pid, "name": survivor.name, "fate": survivor.fate, "why": survivor.why}


def note_event(run: Run, body: str, number: int, now: Instant) -> Event:
    """An event that the owner writes while the run is under way."""
    return _event(f"{run.run_id}/note/{number}", run, EventKind.NOTE, body, now)


def group_event(group: Group, now: Instant) -> Event:
    """The summary of a group whose members have all ended."""
    body = _encode(
        {
            "group": group.group_id,
            "kind": "group.finished",
            "size": group.size,
            "completed": group.completed,
            "failed": group.failed,
            "stopped": group.stopped,
            "interrupted": group.interrupted,
            "successful": group.successful,
        }
    )
    event_id = f"group/{group.group_id}/finished"
    return evolved(_new(event_id, "", EventKind.GROUP, group.destination, body, now), group=group.group_id)


def digest_event(number: str, operator: str, held: Iterable[Event], total: int, now: Instant) -> Event:
    """One message to the operator about everything that is held and was not told before."""
    named = [
        {
            "event": event.event_id,
            "run": event.run_id,
            "destination": event.destination,
            "reason": event.reason,
        }
        for event in list(held)[:DIGEST_EVENTS_NAMED]
    ]
    body = _encode({"kind": "held.digest", "held": total, "events": named, "unnamed": total - len(named)})
    return _new(f"digest/{number}", "", EventKind.DIGEST, operator, body, now)


def _event(
    event_id: str,
    run: Run,
    kind: EventKind,
    body: str,
    now: Instant,
    claimed_by: str = "",
    seconds: float = 0.0,
    held: str = "",
) -> Event:
    return _new(event_id, run.run_id, kind, run.spec.destination, body, now, claimed_by, seconds, held)


def _new(
    event_id: str,
    run_id: str,
    kind: EventKind,
    destination: str,
    body: str,
    now: Instant,
    claimed_by: str = "",
    seconds: float = 0.0,
    held: str = "",
) -> Event:
    state, reason = EventState.PENDING, held
    if held or not destination:
        state, reason = EventState.HELD, held or NO_DESTINATION
    elif claimed_by:
        state = EventState.SENDING
    sending = state is EventState.SENDING
    return evolved(
        _EVENT,
        event_id=event_id,
        run_id=run_id,
        kind=kind,
        destination=destination,
        body=body,
        created_at=now.wall,
        state=state,
        due=Deadline.after(now, seconds if sending else 0.0),
        attempt=1 if sending else 0,
        owner=claimed_by if sending else "",
        reason=reason,
    )


_EVENT = Event("", "", EventKind.NOTE, "", "", 0.0, EventState.PENDING, Deadline(0.0, 0.0, ""))
"""Events are made from it, at half the price of a call with as many arguments."""
