"""Where an imported run comes from, one column of its row, to text and back."""

from __future__ import annotations

import json

from runcoord._core.source_texts import json_text, source_json
from runcoord._core.sources import Claims, KeptResult, Source, SourceState


def source_text(source: Source, run_id: str) -> str:
    """JSON text of what stands in no column of its own: what events say of it, and where its root is."""
    return f'{{"below":{json_text(source.below)},{source_json(source, run_id)[1:]}'


def source_from(root: str, text: str | None, mark: str | None, state: str | None) -> Source:
    """Raises ``KeyError``, ``TypeError`` or ``ValueError`` for what is none."""
    if text is None or mark is None or state is None:
        raise TypeError("a column of the source is missing")
    document = json.loads(text)
    kept = document["result"]
    return Source(
        root,
        mark,
        SourceState(state),
        float(document["imported_at"]),
        None if kept is None else _kept(**kept),
        Claims(**document["claims"]),
        tuple(str(note) for note in document["notes"]),
        str(document["below"]),
    )


def _kept(file: object, size: object) -> KeptResult:
    if not isinstance(file, str) or not isinstance(size, int):
        raise TypeError(f"{file!r:.80} of {size!r:.80} bytes is no result")
    return KeptResult(file, size)
