"""Accepting work: validation at the port, idempotency keys, explicit retries."""

from __future__ import annotations

from runcoord._core import limits
from runcoord._core.decide import retry_of
from runcoord._core.events import canonical_json
from runcoord._core.evolving import evolved
from runcoord._core.model import Command, Group, Instant, Outcome, Run, Spec
from runcoord._core.source_texts import json_text
from runcoord._core.values import replace, value
from runcoord.errors import InvalidRequest, KeyConflict, LiveRunsExceeded, NotRetryable

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import Any


NO_PAYLOAD = "null"
"""In canonical JSON. Many runs have none, and an encoder takes a third of what a spec costs."""


def make_spec(
    payload: Any,
    *,
    destination: str,
    agent: str,
    task: str,
    conversation_key: str,
    group: str,
    group_size: int,
    interruption_budget: int,
) -> Spec:
    """Check every field against its limit. Raises :class:`InvalidRequest` and names the field."""
    text = NO_PAYLOAD if payload is None else require_json("payload", payload)
    require_text("destination", destination, limits.MAX_ID_CHARACTERS)
    require_text("group", group, limits.MAX_ID_CHARACTERS)
    require_text("agent", agent, limits.MAX_AGENT_CHARACTERS)
    require_text("task", task, limits.MAX_TASK_CHARACTERS)
    require_text("conversation_key", conversation_key, limits.MAX_CONVERSATION_KEY_CHARACTERS)
    require_count("interruption_budget", interruption_budget, 0, limits.MAX_INTERRUPTION_BUDGET)
    if group:
        require_count("group_size", group_size, 1, limits.MAX_GROUP_SIZE)
    elif type(group_size) is not int or group_size != 0:
        raise InvalidRequest(
            f"group_size {group_size!r} has no group",
            remedy="Name the group, or leave group_size out.",
            field="group_size",
        )
    return Spec(text, destination, agent, task, conversation_key, group, group_size, interruption_budget)


def require_id(field: str, value: str) -> str:
    """An identifier: 1 to 200 printable characters without separators. Raises :class:`InvalidRequest`."""
    require_text(field, value, limits.MAX_ID_CHARACTERS)
    if not value or value in {".", ".."} or "/" in value or "\\" in value or not value.isprintable():
        raise InvalidRequest(
            f"{field} {value!r} is not usable as an id",
            remedy="Use 1 to 200 printable characters without '/' or '\\'.",
            field=field,
            value=value,
        )
    return value


def require_text(field: str, value: str, most: int) -> None:
    """Text of at most ``most`` characters that can be stored as UTF-8. Raises :class:`InvalidRequest`."""
    if not isinstance(value, str):
        raise InvalidRequest(
            f"{field} must be text, not {type(value).__name__}", remedy="Pass a str.", field=field
        )
    if len(value) > most:
        raise _too_long(field, len(value), most, "characters")
    if not value.isascii():
        _encoded(field, value)


def require_json(field: str, value: Any) -> str:
    """``value`` as canonical JSON text within its limit. Raises :class:`InvalidRequest`."""
    try:
        text = canonical_json(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(
            f"{field} cannot be written as JSON: {error}", remedy="Use plain JSON types.", field=field
        ) from error
    size = len(text) if text.isascii() else len(_encoded(field, text))
    if size > limits.MAX_PAYLOAD_BYTES:
        raise _too_long(field, size, limits.MAX_PAYLOAD_BYTES, "bytes")
    return text


def _encoded(field: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            f"{field} has a character that cannot be stored: {error.reason}",
            remedy="Use valid text.",
            field=field,
        ) from error


def require_count(field: str, value: int, least: int, most: int) -> None:
    """A whole number within bounds, and no truth value. Raises :class:`InvalidRequest`."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidRequest(
            f"{field} {value!r} is not a whole number from {least} to {most}",
            remedy=f"Use a whole number from {least} to {most}.",
            field=field,
            value=repr(value),
        )


def _too_long(field: str, size: int, most: int, unit: str) -> InvalidRequest:
    return InvalidRequest(
        f"{field} has {size} {unit}, more than {most}",
        remedy="Shorten it, or pass the name of a file." if unit == "bytes" else "Shorten it.",
        field=field,
        size=size,
        limit=most,
    )


def content_hash(spec: Spec, run_id: str, budget: int | None) -> str:
    """Hash of what was asked for. ``run_id`` is empty and ``budget`` is ``None`` when the caller left them to
    us: a repetition is the same request, whatever the settings say by then."""
    from runcoord._core.digests import hex_digest  # loaded where it is used: who only reads does without

    texts = (
        run_id,
        spec.payload,
        spec.destination,
        spec.agent,
        spec.task,
        spec.conversation_key,
        spec.group,
    )
    # What canonical_json gives for a list of all of these, at half the time.
    numbers = f"{spec.group_size:d},{'null' if budget is None else f'{budget:d}'}"
    content = f"[{','.join(map(json_text, texts))},{numbers}]"
    return hex_digest(content.encode())


@value
class Line:
    """Where a run stands in a line of runs within runs."""

    lineage: str = ""
    depth: int = 0
    cap: int = 0
    """Most unfinished runs of the lineage, this one included; 0: any number."""


def make_line(lineage: str, depth: int, cap: int) -> Line:
    """Check every field against its limit. Raises :class:`InvalidRequest` and names the field."""
    require_text("lineage", lineage, limits.MAX_ID_CHARACTERS)
    require_count("depth", depth, 0, limits.MAX_NUMERAL)
    require_count("live_runs_cap", cap, 0, limits.MAX_NUMERAL)
    if cap and not lineage:
        raise InvalidRequest(
            f"live_runs_cap {cap} has no lineage",
            remedy="Name the lineage, or leave live_runs_cap out.",
            field="live_runs_cap",
        )
    return Line(lineage, depth, cap)


def require_room(live: int, line: Line) -> None:
    """Refuse a run of a lineage that has as many unfinished ones as it may."""
    if live >= line.cap:
        raise LiveRunsExceeded(
            f"this lineage has {live} unfinished {'run' if live == 1 else 'runs'} already,"
            f" and may have {line.cap} at the most",
            remedy="Wait until some of them have ended, or allow more.",
            live=live,
            max=line.cap,
            depth=line.depth,
        )


OUTSIDE = Line()
"""A run that no other run started."""


def accepted(run_id: str, spec: Spec, now: Instant, line: Line = OUTSIDE) -> Run:
    return evolved(
        _NEW,
        run_id=run_id,
        spec=spec,
        created_at=now.wall,
        line=run_id,
        lineage=line.lineage,
        depth=line.depth,
    )


_NEW = Run("", Spec(), 0.0, "")


def require_same_content(known: Command, digest: str) -> None:
    """The first answer stands for a repetition; other content under the same key is a conflict."""
    if known.content_hash != digest and known.key == known.run_id:
        raise KeyConflict(
            f"run id {known.run_id!r} was used with other content",
            remedy="Use a new run id for new work; repeat the identical request to get the first answer.",
            key=known.key,
            run=known.run_id,
        )
    if known.content_hash != digest:
        raise KeyConflict(
            f"key {known.key!r} was used for run {known.run_id!r} with other content",
            remedy="Use a new key for new work; repeat the identical request to get the first answer.",
            key=known.key,
            run=known.run_id,
        )


def taken(run_id: str, key: str) -> KeyConflict:
    """The refusal of new work under the id of a run that came with another key."""
    return KeyConflict(
        f"run id {run_id!r} is taken, under another key than {key!r}",
        remedy="Repeat the submission with its own key, or use a new run id.",
        key=key,
        run=run_id,
    )


def joined(group: Group | None, spec: Spec) -> Group | None:
    """The group row to create for a new member; ``None`` when there is nothing to write."""
    if not spec.group:
        return None
    if group is None:
        return Group(spec.group, spec.group_size, spec.destination)
    if group.size != spec.group_size:
        raise KeyConflict(
            f"group {spec.group!r} was opened with size {group.size}, not {spec.group_size}",
            remedy="Submit every member with the same group_size.",
            group=spec.group,
            size=group.size,
            asked=spec.group_size,
        )
    if group.ended >= group.size:
        raise KeyConflict(
            f"group {spec.group!r} is complete: its {group.size} members have ended, and it was summed up",
            remedy="Submit further runs under a new group, which gets a summary of its own.",
            group=spec.group,
            size=group.size,
        )
    return None


def counted(group: Group, run: Run) -> Group:
    """The group after one more member ended. A member that was retried by itself is not counted: its
    retry is. A member beyond the group's size is ignored."""
    if run.outcome is None or run.retried_as or group.ended >= group.size:
        return group
    name = run.outcome.value
    return replace(group, **{name: getattr(group, name) + 1})


def explicit_retry(run: Run, run_id: str, now: Instant) -> Run:
    """The retry of a failed or interrupted run that has none yet.

    It is outside the group of the original, which has been counted there.
    """
    if run.outcome not in (Outcome.FAILED, Outcome.INTERRUPTED):
        seen = run.outcome.value if run.outcome else run.state.value
        raise NotRetryable(
            f"run {run.run_id!r} is {seen!r}; only failed and interrupted runs may be retried",
            remedy="Submit it as new work." if run.outcome else "Wait for its outcome.",
            run=run.run_id,
            seen=seen,
        )
    retry = retry_of(run, run_id, now)
    return replace(retry, spec=replace(retry.spec, group="", group_size=0))
