"""What a row says: an entry of the history in a few words, and all that is known of it in some more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_runcoord.history import HIDDEN, Entry
from pytest_runcoord.moments import HOMES, OTHERS, PROCESSES, TRANSACTIONS
from pytest_runcoord.world_errors import printable

MAX_TEXT = 120
"""Characters of a row: one line on a wide screen."""
MAX_DETAIL = 600
"""Characters of detail of a row: some lines in the panel that shows it, also where a picture has hundreds."""
MEANINGS = (
    {f"after-{name}": meaning for name, meaning in {**TRANSACTIONS, **HOMES}.items()} | PROCESSES | OTHERS
)
"""What a moment that nobody's call explains says: mostly a timer's work."""
OF_A_CALL = frozenset({"start", "handle", "with_epoch", "code"})
"""What is said of a call beside its answer; the row says it in words, or it says nothing."""
NAMED = ("on", "run", "event", "attempt")
"""What a row says of a call's answer, in this order; sweeps are told by what they counted."""
ACQUIRES = frozenset({"claim", "claim_next", "execute", "execute_next", "reacquire", "supervise"})
"""Calls whose answer has another epoch than there was."""
SWEEPS = frozenset({"recover", "startup", "deliver", "drain", "import_folders"})


def text_of(entry: Entry) -> str:
    """The entry in a few words, without who did it."""
    data = entry.data
    if entry.kind == "message":
        return _cut(f"{data.get('event', '')} try {data.get('attempt', 1)} to {data.get('destination', '')}")
    if entry.kind == "verb":
        return _cut(_call(entry))
    if entry.kind == "tick":
        return _cut(f"{entry.what.removesuffix(' ticks')}: {data.get('changed', '')}")
    if entry.kind == "moment":
        return _cut(MEANINGS.get(entry.what, entry.what))
    if entry.what == "heal":
        return "heals: faults stop, and a fresh owner sweeps"
    if "seconds" in data and data["seconds"] is not None:
        return _cut(f"{entry.what} {duration(float(data['seconds']))}")
    if entry.what.startswith("fault ") and data.get("on"):
        return _cut(f"fault: {entry.what.removeprefix('fault ')} on {data['on']}")
    extra = " ".join(str(data[name]) for name in ("zone", "name", "names") if data.get(name))
    return _cut(f"{entry.what} {extra}".rstrip())


def status_of(entry: Entry) -> str:
    """How it ended, where that is worth a word."""
    code = str(entry.data.get("code") or "")
    if code:
        return f"{entry.status}: {code}"
    return "" if entry.status == "ok" else entry.status


def detail_of(data: Mapping[str, Any], directory: str) -> str:
    """All that is known; ``directory`` is where the scenario kept its files, a name that means nothing."""
    said = [
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in data.items()
        if name not in HIDDEN and value not in (None, "", 0, False, [], ())
    ]
    text = printable(" ".join(" ".join(said).split()))
    if directory:
        text = text.replace(directory, "…")
    return text if len(text) <= MAX_DETAIL else text[: MAX_DETAIL - 1] + "…"


def duration(seconds: float) -> str:
    """A length of time as people say it: ``1.5 s``, ``20 min``, ``3 h 5 min``, ``2 d``."""
    sign, left = ("−" if seconds < 0 else ""), abs(seconds)
    if left < 60:
        return f"{sign}{round(left, 3):g} s"
    parts = []
    for name, size in (("d", 86400), ("h", 3600), ("min", 60)):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count:.0f} {name}")
    if round(left, 3):
        parts.append(f"{round(left, 3):g} s")
    return sign + " ".join(parts[:2])


def _call(entry: Entry) -> str:
    data, parts = entry.data, [entry.what.replace("_", " ")]
    if entry.what in SWEEPS:
        counted = [
            f"{value} {name.replace('_', ' ')}"
            for name, value in data.items()
            if name not in OF_A_CALL and type(value) is int and value
        ]
        return f"{parts[0]}: {', '.join(counted)}" if counted else parts[0]
    said = ""
    for name in NAMED:
        value = data.get(name)
        if value in (None, "") or str(value) == said or not isinstance(value, str | int):
            continue
        if name in ("on", "run", "event"):
            said = str(value)
            parts.append(said)
        else:
            parts.append(f"try {value}")
    if entry.what in ACQUIRES and data.get("epoch") is not None:
        parts.append(f"(epoch {data['epoch']})")
    if data.get("outcome"):
        parts.append(f"→ {data['outcome']}")
    if "process" in data:
        parts.append(f"process {data['process']}")
    return " ".join(parts)


def _cut(text: str) -> str:
    text = printable(" ".join(text.split()))
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"
