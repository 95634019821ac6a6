"""Reading a checkout's state as it is now."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from runcoord._git.behaving import behaviours_at, places_of
from runcoord._git.calls import Git
from runcoord._git.checkouts import current_boot, main_place
from runcoord._git.configs import config_at
from runcoord._git.entries import git_entry_at, lock_at
from runcoord._git.heads import head_at
from runcoord._git.registrations import Saving, is_removed, registrations_of
from runcoord._git.values import Checkout, Entry, LockFile, Registration, State


def first_look(git: Git, checkout: Checkout, saving: Saving) -> State:
    """Everything a snapshot holds. Contents that become files of their own go into ``saving``."""
    problems: list[str] = []
    state = _files(git, checkout, saving, None, problems)
    places = places_of(checkout, main_place(checkout), state.registrations)
    behaviours = behaviours_at(git, places, _links(state), state.boot)
    return replace(state, behaviours=behaviours, problems=tuple(problems))


def files_now(git: Git, before: State) -> State:
    """The files of the repository as they are now; git is asked only about configs that are not as before."""
    problems: list[str] = []
    state = _files(git, before.checkout, None, before, problems)
    present = {each.name for each in state.registrations}
    gone = [
        each.name
        for each in before.registrations
        if each.name not in present and is_removed(each, git_entry_at(each.link.path).kind)
    ]
    return replace(state, problems=tuple(problems), gone=tuple(gone))


def with_behaviours(git: Git, before: State, now: State) -> State:
    """``now``, and how git behaves in the places that were asked before."""
    places = [each.place for each in before.behaviours]
    return replace(now, behaviours=behaviours_at(git, places, _links(before), before.boot))


def _links(before: State) -> dict[str, Entry]:
    """The ``.git`` of every work tree that had one."""
    links = {os.path.realpath(each.place): each.link for each in before.registrations if each.place}
    links[before.checkout.top] = before.checkout.entry
    return {place: replace(link, path=os.path.join(place, ".git")) for place, link in links.items()}


def _files(
    git: Git, checkout: Checkout, saving: Saving | None, known: State | None, problems: list[str]
) -> State:
    common = checkout.common.path
    registrations = tuple(registrations_of(common, saving, problems))
    configs = {each.path: each for each in known.configs} if known is not None else {}
    git_dirs = [common, *(each.admin.path for each in registrations)]
    read = [config_at(git, path, configs.get(path)) for path in config_paths(common, registrations)]
    for place, config in enumerate(read):
        if saving is not None and config.content is not None and not saving.takes(config.content):
            read[place] = replace(config, content=None)
    return State(
        checkout,
        current_boot(),
        tuple(read),
        tuple(head_at(path) for path in git_dirs),
        registrations,
        tuple(_locks([each.resolved or each.path for each in read], git_dirs)),
        reftable=Path(common, "reftable").is_dir(),
    )


def config_paths(common: str, registrations: Iterable[Registration]) -> list[str]:
    """The common config, and the one of every work tree, which need not be there."""
    return [
        os.path.join(common, "config"),
        os.path.join(common, "config.worktree"),
        *(os.path.join(each.admin.path, "config.worktree") for each in registrations),
    ]


def _locks(configs: Iterable[str], git_dirs: Iterable[str]) -> Iterator[LockFile]:
    paths = [f"{path}.lock" for path in configs]
    for git_dir in git_dirs:
        paths += [os.path.join(git_dir, "HEAD.lock"), os.path.join(git_dir, "index.lock")]
    for path in dict.fromkeys(paths):
        lock = lock_at(path)
        if lock is not None:
            yield lock
