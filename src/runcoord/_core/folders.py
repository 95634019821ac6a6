"""What the files of a run folder say, field by field.

Whoever wrote them is not trusted. A file that is no document, or is one of another run, makes its folder a
corrupt one; one bad field is left out, and noted. Text is redacted, then cut, then its control characters are
made visible. What is said of routing and processes stays a claim.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any

from runcoord._core import limits
from runcoord._core.digests import hex_digest
from runcoord._core.events import canonical_json
from runcoord._core.layouts import Layout
from runcoord._core.model import Outcome, Run
from runcoord._core.redaction import redacted
from runcoord._core.sources import Claims
from runcoord._core.strict_json import NotStrict, strict_object
from runcoord._core.submission import require_id
from runcoord._core.texts import storable
from runcoord._core.values import value
from runcoord.errors import InvalidRequest

Redact = Callable[[str], str]
"""Takes the credentials out of a text."""


class CorruptFolder(ValueError):
    """A file of a folder is not what the layout says. The text says why, in words of ours only."""


@value
class FolderState:
    """What a state file says, as far as it could be used."""

    run_id: str
    agent: str
    task: str
    started: float | None
    updated: float | None
    claims: Claims
    notes: tuple[str, ...]


@value
class Tombstone:
    """What a tombstone says."""

    outcome: Outcome | None
    """``None``: it names none, so that it closes nothing."""
    died: float | None
    error: str
    notes: tuple[str, ...]


def name_problem(name: str) -> str | None:
    """Why the name of a folder cannot be the id of a run; ``None`` when it can."""
    try:
        require_id("name", name)
    except InvalidRequest:
        if len(name) > limits.MAX_ID_CHARACTERS:
            return f"its name is longer than {limits.MAX_ID_CHARACTERS} characters"
        if storable(name) != name:
            return "its name is not UTF-8"
        return "its name has characters that an id cannot have"
    # Ids are neither redacted nor cut, because they would be those of others then.
    return "its name looks like a credential" if redacted(name) != name else None


def shown_name(name: str) -> str:
    """The name of any entry as it can be stored and shown: in UTF-8, without credentials, and another one for
    another name."""
    clean = redacted(name)
    if clean == name:
        return storable(name)
    digest = hex_digest(name.encode("utf-8", "surrogateescape"))
    return f"{storable(clean)}~{digest[:8]}"


def read_state(data: bytes, folder: str, layout: Layout, redact: Redact, now: float) -> FolderState:
    """What the state file of the folder with this name says. ``now`` is wall time.

    Raises :class:`CorruptFolder` when it is no strict JSON object, or not one with the folder's name as id.
    """
    keys = layout.state
    fields = _Fields(_document(layout.state_file, data), redact, now)
    _require_own(fields.document.get(keys.run_id), folder, layout)
    claims = Claims(
        fields.text(keys.destination, limits.MAX_ID_CHARACTERS),
        fields.text(keys.conversation_key, limits.MAX_CONVERSATION_KEY_CHARACTERS),
        fields.pid(keys.pid),
        fields.time(keys.pid_recorded),
    )
    return FolderState(
        folder,
        fields.text(keys.agent, limits.MAX_AGENT_CHARACTERS),
        fields.text(keys.task, limits.MAX_TASK_CHARACTERS),
        fields.time(keys.started),
        fields.time(keys.updated),
        claims,
        fields.noted(),
    )


def read_tombstone(data: bytes, layout: Layout, redact: Redact, now: float) -> Tombstone:
    """What a tombstone says. A word for the outcome that the layout does not know means interrupted. Raises
    :class:`CorruptFolder` when it is no strict JSON object."""
    keys = layout.tombstone
    fields = _Fields(_document(layout.tombstone_file, data), redact, now)
    outcome, word = None, fields.document.get(keys.outcome)
    if word is not None and word != "":
        outcome = layout.outcome_of(word) if isinstance(word, str) else None
        if outcome is None:
            outcome = Outcome.INTERRUPTED
            fields.note(keys.outcome, "is no outcome that the layout knows, so the run counts as interrupted")
    said = (
        fields.text(keys.cause, limits.MAX_ERROR_CHARACTERS),
        fields.text(keys.detail, limits.MAX_ERROR_CHARACTERS),
    )
    error = ": ".join(text for text in said if text)[: limits.MAX_ERROR_CHARACTERS]
    return Tombstone(outcome, fields.time(keys.died), error, fields.noted())


def tombstone_bytes(run: Run, layout: Layout) -> bytes:
    """The tombstone for a finished run; :func:`read_tombstone` reads its outcome, end and error."""
    assert run.outcome is not None
    keys = layout.tombstone
    said = {
        keys.died: run.finished_at,
        keys.outcome: layout.word_for(run.outcome),
        keys.cause: layout.cause,
        keys.detail: run.error,
    }
    return (canonical_json({key: each for key, each in said.items() if key}) + "\n").encode()


def _document(file: str, data: bytes) -> dict[str, Any]:
    try:
        return strict_object(data)
    except NotStrict as error:
        raise CorruptFolder(f"{file}: {error}") from error


def _require_own(run_id: object, folder: str, layout: Layout) -> None:
    if run_id == folder:
        return
    where = f"{layout.state_file}: {layout.state.run_id!r}"
    if not isinstance(run_id, str):
        raise CorruptFolder(f"{where} is {'missing' if run_id is None else 'not text'}")
    alike = _folded(run_id) == _folded(folder)
    how = ", but only in upper and lower case or the form of its accents" if alike else ""
    raise CorruptFolder(f"{where} is not the folder's name{how}")


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


class _Fields:
    """The fields of one document, and what is noted of them."""

    __slots__ = ("_latest", "_notes", "_redact", "document")

    def __init__(self, document: dict[str, Any], redact: Redact, now: float) -> None:
        self.document = document
        self._redact = redact
        self._latest = now + limits.MAX_CLOCK_SKEW_SECONDS
        self._notes: list[str] = []

    def note(self, key: str, what: str) -> None:
        self._notes.append(f"{key} {what}")

    def noted(self) -> tuple[str, ...]:
        return tuple(self._notes)

    def text(self, key: str, most: int) -> str:
        given = self.document.get(key) if key else None
        if given is None or given == "":
            return ""
        if not isinstance(given, str):
            self.note(key, "is left out: it is not text")
            return ""
        try:
            text = self._redact(_window(given, most))
            if not isinstance(text, str):
                raise TypeError
        except Exception:  # noqa: BLE001 - a redactor of somebody else's must not lose the run
            self.note(key, "is left out: it could not be redacted")
            return ""
        if not text.isprintable():
            text = _visible(text)
        if len(text) > most or len(given) > most * limits.REDACTION_WINDOW:
            self.note(key, f"is cut to {most} characters")
            text = text[:most]
        return text

    def time(self, key: str) -> float | None:
        given = self.document.get(key) if key else None
        if given is None:
            return None
        if not isinstance(given, int | float) or isinstance(given, bool):
            self.note(key, "is left out: it is not a number")
            return None
        if not 0 <= given <= self._latest:
            self.note(key, "is left out: it is no time from 1970 to now")
            return None
        return float(given)

    def pid(self, key: str) -> int | None:
        given = self.document.get(key) if key else None
        if given is None:
            return None
        if not isinstance(given, int) or isinstance(given, bool) or not 0 < given <= limits.MAX_PID:
            self.note(key, "is left out: it is no process number")
            return None
        return given


def _window(text: str, most: int) -> str:
    """The beginning of a long text, that ends before the word that the cut falls into."""
    size = most * limits.REDACTION_WINDOW
    if len(text) <= size:
        return text
    words = text[:size].rsplit(None, 1)
    return words[0] if len(words) == 2 and len(words[0]) > size - most else text[: size - most]


_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters other than tab and new line, changes of direction, and what UTF-8 cannot say."""


def _visible(text: str) -> str:
    return _INVISIBLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
