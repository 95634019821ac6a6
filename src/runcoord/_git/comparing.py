"""What is different between two states, and what of it can be put back. Pure: values in, values out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from runcoord._git.behaving import refused_for_owner
from runcoord._git.configs import alike, is_format
from runcoord._git.heads import shared_branches
from runcoord._git.reports import Difference, What
from runcoord._git.values import (
    Behaviour,
    ConfigFile,
    Head,
    Heard,
    Kind,
    Reading,
    Registration,
    State,
    Values,
)

#: Put back by a restoration; whatever else differs is told, and stays as it is.
PUT_BACK = frozenset({What.CONFIG, What.CONFIG_DAMAGED, What.HEAD_DAMAGED, What.LOCK, What.REGISTRATION})
#: With one of these git does not work as before, or soon will not.
BREAKS = frozenset({What.IDENTITY, What.BEHAVIOUR, What.REGISTRATION, What.HEAD_DAMAGED, What.CONFIG_DAMAGED})


def differences(before: State, now: State) -> list[Difference]:
    """Everything that is not as before, in the order in which it is put back."""
    found = [
        *_registrations(before, now),
        *_heads(before, now),
        *_locks(before, now),
        *_configs(before, now),
        *_shared(before, now),
        *(
            Difference(What.UNREADABLE, before.checkout.common.path, detail=problem)
            for problem in dict.fromkeys((*before.problems, *now.problems))
        ),
    ]
    return found + behaviour_differences(before, now)


# --- registrations ---


def _registrations(before: State, now: State) -> Iterator[Difference]:
    present = {each.name: each for each in now.registrations}
    for old in before.registrations:
        if old.admin.kind is not Kind.DIRECTORY:
            continue
        if old.name in now.gone:
            yield _gone(old.place, (old.gitdir,))
        else:
            yield from _registration(old, present.get(old.name))
    known = {each.name for each in before.registrations}
    for new in now.registrations:
        if new.name not in known:
            yield Difference(What.WORKTREE_ADDED, new.admin.path, new.name, (), (new.place,), "it is kept")


def _registration(old: Registration, new: Registration | None) -> Iterator[Difference]:
    path = old.admin.path
    if new is None:
        yield Difference(What.REGISTRATION, path, old.name, (old.gitdir,), (), "the registration is gone")
        return
    if new.admin.kind is not Kind.DIRECTORY:
        seen = f"it is a {new.admin.kind.value} {new.admin.leads_to}".rstrip()
        yield Difference(What.IDENTITY, path, old.name, (old.gitdir,), (), seen)
        return
    for key, then, is_now in (
        ("gitdir", old.gitdir, new.gitdir),
        ("commondir", old.commondir, new.commondir),
    ):
        if then == is_now:
            continue
        if not is_now:
            yield Difference(What.REGISTRATION, path, key, (then,), (), f"{key} is gone or empty")
        else:
            yield Difference(What.REGISTRATION_MOVED, path, key, (then,), (is_now,))


# --- HEAD ---


def _heads(before: State, now: State) -> Iterator[Difference]:
    present = {each.path: each for each in now.heads}
    for old in before.heads:
        new = present.get(old.path)
        if new is None or (old.reading, old.text, old.as_link) == (new.reading, new.text, new.as_link):
            continue  # without its registration there is no HEAD to speak of
        yield _head(old, new)


def _head(old: Head, new: Head) -> Difference:
    then, is_now = (old.text,), (new.text,)
    if Reading.UNKNOWN in {old.reading, new.reading}:
        return Difference(What.UNREADABLE, old.path, "", then, is_now, old.problem or new.problem)
    if old.reading is Reading.READ and new.reading is not Reading.READ:
        return Difference(What.HEAD_DAMAGED, old.path, "", then, is_now, f"HEAD is {new.reading.value}")
    return Difference(What.HEAD, old.path, "", then, is_now)


def _shared(before: State, now: State) -> Iterator[Difference]:
    shared = shared_branches(before.heads)
    for branch, paths in shared_branches(now.heads).items():
        if shared.get(branch) != paths:
            detail = "several work trees have it checked out; git prevents that as a rule"
            yield Difference(What.SHARED_BRANCH, paths[0], branch, (), tuple(paths), detail)


# --- locks ---


def _locks(before: State, now: State) -> Iterator[Difference]:
    known = {each.path: each for each in before.locks}
    if before.boot != now.boot:  # numbers of devices are good for one start of the machine
        known = {path: replace(each, device=0) for path, each in known.items()}
    configs = {f"{each.resolved or each.path}.lock" for each in now.configs}
    for lock in now.locks:
        seen = lock if before.boot == now.boot else replace(lock, device=0)
        if known.get(lock.path) == seen:
            detail = "it was there at the snapshot"
            yield Difference(What.LOCK_LEFT, lock.path, "", (str(lock.inode),), (str(lock.inode),), detail)
        elif lock.path in configs:
            yield Difference(What.LOCK, lock.path, "", (), (str(lock.inode),), "new since the snapshot")
        else:
            yield Difference(What.LOCK_LEFT, lock.path, "", (), (str(lock.inode),), "new since the snapshot")


# --- configs ---


def _configs(before: State, now: State) -> Iterator[Difference]:
    present = {each.path: each for each in now.configs}
    converted = before.reftable != now.reftable
    for old in before.configs:
        new = present.get(old.path)
        if new is not None:
            yield from _config(old, new, converted)


def _config(old: ConfigFile, new: ConfigFile, converted: bool) -> Iterator[Difference]:
    if old.content is not None and old.content == new.content and old.kind is new.kind:
        if old.reading is Reading.UNKNOWN or new.reading is Reading.UNKNOWN:
            yield Difference(What.UNREADABLE, old.path, detail=old.problem or new.problem)
        return
    if is_swapped(old, new):
        seen = f"it was {old.kind.value} {old.leads_to}".rstrip()
        seen += f" and is {new.kind.value} {new.leads_to}".rstrip() + f" now, at {new.resolved}"
        yield Difference(What.IDENTITY, old.path, detail=seen)
        return
    if Reading.UNKNOWN in {old.reading, new.reading}:
        yield Difference(What.UNREADABLE, old.path, detail=old.problem or new.problem)
    elif is_damaged(old, new):
        detail = new.problem or f"it is {new.reading.value}, {len(new.content or b'')} bytes"
        yield Difference(What.CONFIG_DAMAGED, old.path, detail=detail)
    elif old.reading is Reading.UNPARSABLE:
        yield Difference(What.UNREADABLE, old.path, detail=f"at the snapshot: {old.problem}")
    else:
        yield from _values(old, new, converted)


def is_swapped(old: ConfigFile, new: ConfigFile) -> bool:
    """True when writing to the path would write somewhere else than then."""
    if new.kind is Kind.ABSENT or (old.kind is Kind.ABSENT and new.kind is Kind.FILE):
        return new.resolved != old.resolved
    return (old.kind, old.leads_to, old.resolved) != (new.kind, new.leads_to, new.resolved)


def is_damaged(old: ConfigFile, new: ConfigFile) -> bool:
    """True for a file that lost what it said: it is gone, git cannot parse it, or it is cut off.

    A file that lacks whole lines at its end is cut off only if a key in scope was among them: whoever removes
    the section of the last branch leaves such a file, too.
    """
    if old.reading is not Reading.READ:
        return False
    if new.reading in {Reading.ABSENT, Reading.UNPARSABLE}:
        return True
    if old.content is None or new.content is None or not old.content.startswith(new.content):
        return False
    lost = any(not alike(pair.values, new.of(pair.key)) for pair in old.values)
    return lost or not new.content.endswith(b"\n")


def _values(old: ConfigFile, new: ConfigFile, converted: bool) -> Iterator[Difference]:
    keys = {each.key for each in (*old.values, *new.values)}
    for key in sorted(keys):
        then, is_now = old.of(key), new.of(key)
        if alike(then, is_now):
            continue
        if converted and is_format(key):
            detail = "the repository keeps its refs in another form than before"
            yield Difference(What.FORMAT, old.path, key, then, is_now, detail)
        else:
            yield Difference(What.CONFIG, old.path, key, then, is_now)


# --- behaviour ---


def behaviour_differences(before: State, now: State) -> list[Difference]:
    """Places where git behaves in another way. One that is gone is no fault of the repository."""
    present = {each.place: each for each in now.behaviours}
    found = []
    for old in before.behaviours:
        new = present.get(old.place)
        if new is not None and (difference := _behaviour(old, new)):
            found.append(difference)
    return found


def _behaviour(old: Behaviour, new: Behaviour) -> Difference | None:
    then, is_now = _shown(old), _shown(new)
    if then != is_now and refused_for_owner(new):
        return Difference(What.UNREADABLE, old.place, "git", then, is_now, new.says)
    if Heard.UNKNOWN in {old.heard, new.heard}:
        says = old.says if old.heard is Heard.UNKNOWN else new.says
        return Difference(What.UNREADABLE, old.place, "git", then, is_now, says)
    if then == is_now:
        return None
    if new.heard is Heard.ABSENT:
        return _gone(old.place, then)
    if new.works and not old.works:
        return Difference(What.REPAIRED, old.place, "git", then, is_now, f"at the snapshot: {old.says}")
    return Difference(What.BEHAVIOUR, old.place, "git", then, is_now, new.says)


def _gone(place: str, before: Values) -> Difference:
    return Difference(What.WORKTREE_GONE, place, "", before, (), "its directory, or .git in it, is gone")


def _shown(behaviour: Behaviour) -> tuple[str, ...]:
    if behaviour.heard is not Heard.ANSWERED:
        return (behaviour.heard.value,)
    return (
        f"inside-work-tree {behaviour.inside or 'unknown'}",
        f"toplevel {behaviour.toplevel or 'none'}",
        f"status {behaviour.status}",
    )
