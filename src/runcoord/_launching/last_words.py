"""Reading what a shim wrote when its coordinator was gone."""

from __future__ import annotations

import json
from pathlib import Path

from runcoord._core.last_words import LastWords, last_words_from
from runcoord._core.limits import MAX_LAST_WORDS_BYTES


def read_last_words(path: str | Path, cookie: str) -> LastWords | None:
    """The last words of the shim of the run with ``cookie``. ``None`` when there are none, or they cannot be
    read or understood, or belong to another run: then nobody knows how the command ended. Never raises."""
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_LAST_WORDS_BYTES + 1)
        if len(content) > MAX_LAST_WORDS_BYTES:
            return None
        words = last_words_from(json.loads(content))
    except (OSError, ValueError, RecursionError):
        return None
    return words if words is not None and words.cookie == cookie else None
