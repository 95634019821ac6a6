"""Where an imported run comes from, one column of its row, to text and back."""

from __future__ import annotations

import json
from typing import Any

from runcoord._core.events import encode_plain
from runcoord._core.sources import Claims, KeptResult, Source, SourceState
from runcoord._core.values import names_of

_CLAIMS = names_of(Claims)


def source_text(source: Source) -> str:
    """JSON text of what stands in no column of its own."""
    claims, kept = source.claims, source.result
    document: dict[str, Any] = {"imported_at": source.imported_at}
    said = {name: getattr(claims, name) for name in _CLAIMS if getattr(claims, name) not in ("", None)}
    if said:
        document["claims"] = said
    if kept is not None:
        document["result"] = [kept.file, kept.size]
    if source.below != ".":
        document["below"] = source.below
    if source.notes:
        document["notes"] = source.notes
    return encode_plain(document)


def source_from(root: str, text: str | None, mark: str | None, state: str | None) -> Source:
    """Raises ``KeyError``, ``TypeError`` or ``ValueError`` for what is none."""
    if text is None or mark is None or state is None:
        raise TypeError("a column of the source is missing")
    document = json.loads(text)
    kept = document.get("result")
    return Source(
        root,
        mark,
        SourceState(state),
        float(document["imported_at"]),
        None if kept is None else _kept(*kept),
        Claims(**document.get("claims", {})),
        tuple(str(note) for note in document.get("notes", ())),
        str(document.get("below", ".")),
    )


def _kept(file: object, size: object) -> KeptResult:
    if not isinstance(file, str) or not isinstance(size, int):
        raise TypeError(f"{file!r:.80} of {size!r:.80} bytes is no result")
    return KeptResult(file, size)
