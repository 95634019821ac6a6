"""JSON made by hand: of a value, and of where an imported run comes from."""

from __future__ import annotations

import json

from runcoord._core.sources import Source

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import Any

json_text = json.encoder.encode_basestring
"""Text as JSON has it, in quotes and not in ASCII only; of C, where Python has that. To make a whole document
by hand takes a third of the time of an encoder."""


def json_number(value: float | None) -> str:
    """A number as JSON has it. ``ValueError`` for one that is infinite or none."""
    if value is None:
        return "null"
    if value - value != 0.0:
        raise ValueError(f"{value} is no number that JSON has")
    return repr(value)


def source_document(source: Source | None, run_id: str) -> dict[str, Any] | None:
    """As it stands in the body of an event and in listings; ``None`` for a run that was not imported."""
    if source is None:
        return None
    document: dict[str, Any] = json.loads(source_json(source, run_id))
    return document


def source_json(source: Source, run_id: str) -> str:
    """The same as text with sorted keys, made by hand: an import of thousands makes it for each twice."""
    claims, kept = source.claims, source.result
    notes = ",".join([json_text(note) for note in source.notes])
    result = "null" if kept is None else f'{{"file":{json_text(kept.file)},"size":{kept.size:d}}}'
    return (
        f'{{"claims":{{"conversation_key":{json_text(claims.conversation_key)}'
        f',"destination":{json_text(claims.destination)}'
        f',"pid":{"null" if claims.pid is None else f"{claims.pid:d}"}'
        f',"pid_recorded_at":{json_number(claims.pid_recorded_at)}}}'
        f',"folder":{json_text(f"{source.root}/{run_id}")}'
        f',"imported_at":{json_number(source.imported_at)}'
        f',"notes":[{notes}]'
        f',"result":{result}}}'
    )
