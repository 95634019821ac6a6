"""Config files: their bytes, and the values of the keys that say whether a checkout can be used.

Values are read and written by git itself, by the path of the file. git ignores these keys in included files
(checked with 2.39), so the file alone decides.
"""

from __future__ import annotations

import os
import time

from runcoord._core import limits
from runcoord._git.calls import Answer, Git
from runcoord._git.entries import NotReadable, content_of, entry_at
from runcoord._git.values import ConfigFile, KeyValues, Kind, Reading, Values

_KEYS = frozenset({"core.bare", "core.worktree", "core.repositoryformatversion"})
_READS = 3
_LOCKED = "could not lock"


def in_scope(key: str) -> bool:
    """True for the keys that are put back. All others are the run's own business."""
    return key in _KEYS or key.startswith("extensions.")


def is_format(key: str) -> bool:
    """True for the keys that describe what the files of the repository look like."""
    return key == "core.repositoryformatversion" or key.startswith("extensions.")


def alike(before: Values, now: Values) -> bool:
    """Equal lists. A key without a value means ``true``, and ``git config`` can write only the latter."""
    return [_said(value) for value in before] == [_said(value) for value in now]


def _said(value: str | None) -> str:
    return "true" if value is None else value


def config_at(git: Git, path: str, known: ConfigFile | None = None) -> ConfigFile:
    """Read a config file. ``known`` is an earlier reading: with the same bytes git is not asked again."""
    for _ in range(_READS):
        entry = entry_at(path)
        if entry.kind is Kind.ABSENT:
            return ConfigFile(path, Reading.ABSENT, Kind.ABSENT, resolved=os.path.realpath(path))
        if entry.kind not in {Kind.FILE, Kind.SYMLINK}:
            problem = entry.problem or f"it is a {entry.kind.value}"
            return ConfigFile(path, Reading.UNKNOWN, entry.kind, problem=problem)
        resolved = os.path.realpath(path)
        seen = ConfigFile(path, Reading.UNKNOWN, entry.kind, entry.leads_to, resolved, owner=entry.owner)
        try:
            content = content_of(resolved, limits.GIT_CONFIG_BYTES)
            if content is None:
                return _with(seen, Reading.ABSENT)
            status = os.stat(resolved)  # noqa: PTH116
            seen = _with(seen, Reading.UNKNOWN, content, status.st_mode & 0o7777, status.st_uid)
            if known is not None and known.content == content and known.reading is not Reading.UNKNOWN:
                return _with(seen, known.reading, values=known.values, problem=known.problem)
            answer = git.config(resolved, "--null", "--list")
            if content_of(resolved, limits.GIT_CONFIG_BYTES) == content:
                return _understood(seen, answer)
        except (NotReadable, OSError) as error:
            return _with(seen, Reading.UNKNOWN, problem=str(error))
    return ConfigFile(path, Reading.UNKNOWN, Kind.FILE, problem="it changed while it was read")


def _understood(seen: ConfigFile, answer: Answer) -> ConfigFile:
    if answer.status is None or answer.status < 0:
        problem = answer.problem or f"git was ended by signal {-(answer.status or 0)}"
        return _with(seen, Reading.UNKNOWN, problem=problem)
    if answer.status:
        return _with(seen, Reading.UNPARSABLE, problem=answer.says)
    return _with(seen, Reading.READ, values=_values(answer.output))


def _with(
    seen: ConfigFile,
    reading: Reading,
    content: bytes | None = None,
    mode: int | None = None,
    owner: int | None = None,
    *,
    values: tuple[KeyValues, ...] = (),
    problem: str = "",
) -> ConfigFile:
    return ConfigFile(
        seen.path,
        reading,
        seen.kind,
        seen.leads_to,
        seen.resolved,
        values,
        seen.content if content is None else content,
        seen.mode if mode is None else mode,
        seen.owner if owner is None else owner,
        problem,
    )


def _values(listed: bytes) -> tuple[KeyValues, ...]:
    """The keys in scope of ``git config --null --list``: key, newline, value; no newline without a value."""
    found: dict[str, list[str | None]] = {}
    for entry in listed.split(b"\0"):
        key, newline, value = entry.partition(b"\n")
        name = os.fsdecode(key)
        if in_scope(name):
            found.setdefault(name, []).append(os.fsdecode(value) if newline else None)
    return tuple(KeyValues(name, tuple(values)) for name, values in sorted(found.items()))


def write_values(git: Git, path: str, key: str, values: Values) -> str:
    """Make ``values`` the list of one key. Returns what went wrong; empty when git said that it did it.

    A lock that goes away within a moment is waited for: it is that of another git at work.
    """
    problem = _written(git, path, key, values)
    for _ in range(limits.GIT_LOCK_LOOKS):
        if _LOCKED not in problem:
            break
        time.sleep(limits.GIT_LOCK_LOOK_SECONDS)
        problem = _written(git, path, key, values)
    return problem


def _written(git: Git, path: str, key: str, values: Values) -> str:
    if not values:
        return _trouble(git.config(path, "--unset-all", key))
    first, *others = [_said(value) for value in values]
    problem = _trouble(git.config(path, "--replace-all", key, first))
    for value in others:
        problem = problem or _trouble(git.config(path, "--add", key, value))
    return problem


def _trouble(answer: Answer) -> str:
    if answer.status == 0:
        return ""
    return answer.says or answer.problem or f"git config ended with status {answer.status}"
