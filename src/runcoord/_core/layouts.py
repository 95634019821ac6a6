"""Where run folders are and what their files are called: data, so that another project's can be imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runcoord._core.limits import MAX_LAYOUT_NAMES, MAX_LAYOUT_TEXT_CHARACTERS
from runcoord._core.model import Outcome
from runcoord._core.values import names_of, value
from runcoord.errors import InvalidRequest


def _require_outcomes(outcomes: object) -> None:
    problem = "it is a tuple of pairs of a word and an Outcome"
    if not isinstance(outcomes, tuple) or len(outcomes) > MAX_LAYOUT_NAMES:
        raise _wrong("layout", "outcomes", outcomes, problem)
    for pair in outcomes:
        if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[1], Outcome)):
            raise _wrong("layout", "outcomes", pair, problem)
        _require_texts("outcomes", {"word": pair[0]})
    lacking = [outcome for outcome in Outcome if outcome not in {outcome for _, outcome in outcomes}]
    if lacking:
        raise _wrong("layout", "outcomes", lacking[0], "each outcome needs a word, to be written down")


def _require_keys(what: str, keys: StateKeys | TombstoneKeys) -> None:
    given = {name: getattr(keys, name) for name in names_of(type(keys))}
    _require_texts(what, {name: key for name, key in given.items() if key != ""})
    used = [key for key in given.values() if key]
    for name, key in given.items():
        if key and used.count(key) > 1:
            raise _wrong(what, name, key, "each needs a key of its own")


def _require_component(field: str, name: object) -> None:
    """One part of a path that stays in its directory, on every system."""
    _require_texts("layout", {field: name})
    if name in {".", ".."} or any(character in str(name) for character in "/\\:"):
        raise _wrong("layout", field, name, "it is a plain name without '/', '\\', ':' and not '.' or '..'")


def _require_texts(what: str, texts: Mapping[str, object]) -> None:
    for field, text in texts.items():
        if not isinstance(text, str) or not text or len(text) > MAX_LAYOUT_TEXT_CHARACTERS:
            problem = f"it is text of 1 to {MAX_LAYOUT_TEXT_CHARACTERS} characters"
        elif not text.isprintable():
            problem = "it has characters that cannot be printed"
        else:
            continue
        raise _wrong(what, field, text, problem)


def _wrong(what: str, field: str, value: object, problem: str) -> InvalidRequest:
    shown = repr(value)
    return InvalidRequest(
        f"{field} {shown if len(shown) <= 80 else shown[:80] + '…'} in the {what}: {problem}",
        remedy="Correct the layout.",
        field=field,
    )


@value
class StateKeys:
    """Keys of the state file, a JSON object. An empty one: that project has no such field."""

    run_id: str = "id"
    """Required; its value is the folder's name."""
    agent: str = "agent"
    task: str = "task"
    conversation_key: str = "conversation_key"
    destination: str = "parent_session"
    started: str = "started"
    """Seconds since 1970, like all times."""
    updated: str = "updated_at"
    pid: str = "pid"
    pid_recorded: str = "pid_recorded_at"

    def __post_init__(self) -> None:
        _require_keys("state keys", self)
        if not self.run_id:
            raise _wrong("state keys", "run_id", self.run_id, "the id of the run must be in the file")


@value
class TombstoneKeys:
    """Keys of the tombstone, a JSON object. An empty one: that project has no such field."""

    died: str = "died"
    outcome: str = "outcome"
    """Required for a tombstone to count as history."""
    cause: str = "cause"
    detail: str = "detail"

    def __post_init__(self) -> None:
        _require_keys("tombstone keys", self)
        if not self.outcome:
            raise _wrong("tombstone keys", "outcome", self.outcome, "without it nothing can be closed")


_OUTCOMES = (
    ("completed", Outcome.COMPLETED),
    ("failed", Outcome.FAILED),
    ("stopped", Outcome.STOPPED),
    ("interrupted", Outcome.INTERRUPTED),
    ("success", Outcome.COMPLETED),
    ("error", Outcome.FAILED),
    ("timeout", Outcome.FAILED),
    ("cancelled", Outcome.STOPPED),
    ("gateway_restart", Outcome.INTERRUPTED),
)


@value
class Layout:
    """How one project lays out its run folders: ``<home>/<root>/<run id>/<file>``.

    Raises :class:`~runcoord.errors.InvalidRequest` for names that lead out of the home or of a folder.
    """

    name: str = "runs"
    """What the layout is called on the command line."""
    root: str = "runs"
    """Directory of the folders, relative to the home, ``/`` between its parts; ``.`` is the home itself."""
    state_file: str = "state.json"
    tombstone_file: str = "tombstone.json"
    """The one file that is ever written there."""
    result_file: str = "result.txt"
    """Empty: that project keeps no results there."""
    state: StateKeys = StateKeys()
    tombstone: TombstoneKeys = TombstoneKeys()
    outcomes: tuple[tuple[str, Outcome], ...] = _OUTCOMES
    """What the words in a tombstone mean. Of several words for one outcome the first is written. Another word
    means interrupted, and is noted: what is not known is no success."""
    cause: str = "runcoord"
    """Written as the cause into tombstones."""

    def __post_init__(self) -> None:
        _require_texts("layout", {"name": self.name, "cause": self.cause})
        files = (self.state_file, self.tombstone_file, self.result_file)
        for field, file in zip(("state_file", "tombstone_file", "result_file"), files, strict=True):
            if file or field != "result_file":
                _require_component(field, file)
        if len(set(files)) < len(files):
            raise _wrong("layout", "files", files, "each file needs a name of its own")
        if not isinstance(self.root, str) or not self.root:
            raise _wrong("layout", "root", self.root, "it is a relative path, or '.'")
        for part in self.parts():
            _require_component("root", part)
        _require_outcomes(self.outcomes)

    def parts(self) -> tuple[str, ...]:
        """The directories from the home down to the run folders."""
        return parts_of(self.root)

    def outcome_of(self, word: str) -> Outcome | None:
        """What a word in a tombstone means; ``None`` for one that the layout does not know."""
        return next((outcome for known, outcome in self.outcomes if known == word), None)

    def word_for(self, outcome: Outcome) -> str:
        """The word that is written for an outcome."""
        return next(word for word, meant in self.outcomes if meant is outcome)


def parts_of(root: str) -> tuple[str, ...]:
    """The directories from a home down to a root, which is written as in :class:`Layout`."""
    return () if root == "." else tuple(root.split("/"))


RUN_FOLDERS = Layout()
"""The layout of folders that runs left behind before there was a coordinator."""


def layout_from(document: Mapping[str, Any]) -> Layout:
    """A layout from a document of plain values: the names are those of :class:`Layout`, ``state`` and
    ``tombstone`` are tables of theirs, ``outcomes`` is a table of words and outcomes. What is not there is as
    in :data:`RUN_FOLDERS`. Raises :class:`~runcoord.errors.InvalidRequest`, which names the entry."""
    given = dict(_require_table("layout", document, names_of(Layout)))
    for field, kind in (("state", StateKeys), ("tombstone", TombstoneKeys)):
        if field in given:
            given[field] = kind(**_require_table(field, given[field], names_of(kind)))
    if "outcomes" in given:
        words = given["outcomes"]
        if not isinstance(words, Mapping):
            raise _wrong("layout", "outcomes", words, "it is a table of words and outcomes")
        given["outcomes"] = tuple((word, _outcome(word, outcome)) for word, outcome in words.items())
    return Layout(**given)


def _outcome(word: object, outcome: object) -> Outcome:
    try:
        return Outcome(outcome)  # type: ignore[arg-type]
    except ValueError:
        known = ", ".join(Outcome)
        raise _wrong("outcomes", str(word), outcome, f"an outcome is one of {known}") from None


def _require_table(what: str, table: object, names: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(table, Mapping):
        raise _wrong("layout", what, table, "it is a table")
    for name in table:
        if name not in names:
            raise _wrong(
                what, str(name), table[name], f"there is no such entry; there are {', '.join(names)}"
            )
    return table
