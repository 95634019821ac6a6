"""The caller's git state: real repositories in the home of the scenario, and what happens to them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping as Mapped
from pathlib import Path
from typing import Any

from pytest_runcoord.checkouts import Place
from pytest_runcoord.scenario import Given, Step
from pytest_runcoord.verbs.comparing import Unmet
from pytest_runcoord.vocabulary import (
    Argument,
    Choice,
    Either,
    Flag,
    Kind,
    ListOf,
    Mapping,
    Name,
    Record,
    Registry,
    Text,
)
from pytest_runcoord.world import World, WorldPlan
from pytest_runcoord.world_errors import CannotBeReal

PLACES = {
    "repository": "a repository with one commit on the branch main, and its work tree",
    "bare": "such a repository without a work tree",
    "empty": "a directory that is in no repository",
}
WORKTREE = Record(
    Argument("worktree_of", Name("place"), "the place whose repository it is linked to", required=True),
    Argument(
        "branch", Text(max_length=100), "a new branch, checked out in it; called as the place otherwise"
    ),
)
PLACE: Kind = Either(Choice(PLACES), WORKTREE)
PATH = Argument("path", Text(max_length=200), "where in the scenario's home", required=True, shorthand=True)
IN = Argument("in", Name("place"), "in which place", required=True)
OF = Argument("of", Name("place"), "of which place", required=True)
WAYS = {
    "symlink": "a symbolic link, by an absolute path",
    "relative-symlink": "a symbolic link, by a path that begins with ..",
    "file": "a file that names the other one, as in a linked worktree",
    "another": "another repository, moved there",
}
SOMEBODY_ELSE = 12345
"""A user that no test runs as."""

REFUSING_GIT = """#!/bin/sh
for each in "$@"; do
  case "$each" in
    --add|--replace-all|--unset|--unset-all)
      echo "error: could not lock config file: Read-only file system" >&2
      exit 255;;
  esac
done
exec {git} "$@"
"""


def register(registry: Registry) -> None:
    """Register the verbs of git, and what ``given`` says about repositories."""
    _register_places(registry)
    _register_changes(registry)
    _register_obstacles(registry)


def _register_places(registry: Registry) -> None:
    @registry.given(
        "git",
        group="git",
        says="Real repositories, worktrees and directories in the scenario's home, made in this order.",
        value=Mapping(PLACE, Name("place", defines=True)),
        example="git: {checkout: repository, side: {worktree_of: checkout}}",
    )
    def git_(plan: WorldPlan, given: Given) -> None:
        for name, said in given.args["value"].items():
            if isinstance(said, str):
                plan.places[name] = Place(said)
            else:
                plan.places[name] = Place("worktree", said["worktree_of"], said["branch"] or "")

    @registry.step(
        "git",
        group="git",
        says="A git command is run, by nobody in particular or by a process, which has its environment.",
        arguments=(
            IN,
            Argument("do", ListOf(Text(may_be_empty=True), min=1), "its arguments", required=True),
            Argument("by", Name("process"), "the process that runs it"),
            Argument("fails", Flag(), "whether it fails", default=False),
            Argument("makes", Name("place", defines=True), "the worktree that it adds, of this name"),
        ),
        example="git: {in: checkout, by: build, do: [config, core.bare, 'true']}",
    )
    def git(world: World, step: Step) -> None:
        args = step.args
        environment = None if args["by"] is None else world.environment_of(args["by"])
        world.checkouts.touch()
        said = world.checkouts.git(args["in"], args["do"], environment)
        world.history.add(
            "world", args["by"] or "somebody", f"git {' '.join(args['do'])}", exit_status=said.status
        )
        if bool(said.status) is not args["fails"]:
            raise Unmet(
                f"git {' '.join(args['do'])} did not end as expected in {args['in']}",
                expected="failure" if args["fails"] else "success",
                seen=f"exit status {said.status}: {said.complaint[:200]}",
            )
        if args["makes"] is not None:
            world.checkouts.places[args["makes"]] = Place("worktree", args["in"])


def _register_changes(registry: Registry) -> None:
    @registry.step(
        "write_file",
        group="git",
        says="A file in the scenario's home is written, in place of what it had.",
        arguments=(PATH, Argument("text", Text(may_be_empty=True), "its content", default="")),
        example="write_file: {path: checkout/.git/HEAD, text: ''}",
    )
    def write_file(world: World, step: Step) -> None:
        world.checkouts.touch()
        path = world.checkouts.path(step.args["path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(step.args["text"], "utf-8")
        world.history.add("world", "somebody", f"write {step.args['path']}")

    @registry.step(
        "remove_path",
        group="git",
        says="A file or a directory in the scenario's home is removed, with what is in it.",
        arguments=(PATH,),
        example="remove_path: checkout/.git/worktrees/side",
    )
    def remove_path(world: World, step: Step) -> None:
        world.checkouts.touch()
        _remove(world.checkouts.path(step.args["path"]))
        world.history.add("world", "somebody", f"remove {step.args['path']}")

    @registry.step(
        "swap_git_dir",
        group="git",
        says="The .git of a place is moved away, and something that leads to another place is put there.",
        arguments=(
            OF,
            Argument("to", Name("place"), "the other place", required=True),
            Argument("by", Choice(WAYS), "how it leads there", default="symlink"),
        ),
        example="swap_git_dir: {of: checkout, to: other, by: relative-symlink}",
    )
    def swap_git_dir(world: World, step: Step) -> None:
        checkouts, of, to = world.checkouts, step.args["of"], step.args["to"]
        checkouts.touch()
        entry, target = checkouts.path(of) / ".git", checkouts.common(to)
        entry.rename(entry.with_name("git-before"))
        _lead(entry, target, step.args["by"])
        world.history.add("world", "somebody", f"swap .git of {of}", to=to)


def _lead(entry: Path, target: Path, by: str) -> None:
    if by == "symlink":
        entry.symlink_to(target)
    elif by == "relative-symlink":
        entry.symlink_to(os.path.relpath(target, entry.parent))
    elif by == "file":
        entry.write_text(f"gitdir: {target}\n", "utf-8")
    else:
        shutil.copytree(target, entry, symlinks=True)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _register_obstacles(registry: Registry) -> None:
    @registry.step(
        "lock_config",
        group="git",
        says="The config of a place is locked: by a process that was killed, or with 'held' by a living one.",
        arguments=(OF, Argument("held", Flag(), "somebody has the lock open", default=False)),
        example="lock_config: {of: checkout, held: true}",
    )
    def lock_config(world: World, step: Step) -> None:
        checkouts = world.checkouts
        checkouts.touch()
        config = checkouts.config_of(step.args["of"])
        if step.args["held"] and world.real:
            raise CannotBeReal("who has a lock open outside of a namespace is not seen in it")
        lock = os.open(f"{config}.lock", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        if step.args["held"]:
            checkouts.cleanups.append(lock)
        else:
            os.close(lock)
        world.history.add("world", "somebody", f"lock the config of {step.args['of']}")

    @registry.step(
        "give_away",
        group="git",
        says="A file or directory is given to another user, without what is in it.",
        capability="ownership",
        arguments=(PATH,),
        example="give_away: checkout/.git",
    )
    def give_away(world: World, step: Step) -> None:
        world.checkouts.touch()
        os.chown(world.checkouts.path(step.args["path"]), SOMEBODY_ELSE, -1, follow_symlinks=False)
        world.history.add("world", "somebody", f"give away {step.args['path']}")

    @registry.step(
        "git_cannot_write",
        group="git",
        says="From now on the git that owners find cannot write a config, as on a read-only file system.",
        example="git_cannot_write",
    )
    def git_cannot_write(world: World, step: Step) -> None:
        world.environments.program("git")
        path = world.directory / "bin" / "git"
        path.write_text(REFUSING_GIT.format(git=shutil.which("git")), "utf-8")
        world.history.add("world", "somebody", "git cannot write")


def said_of(values: Mapped[str, Any] | None) -> dict[str, Any]:
    """What is stored of a run's git state, as one mapping; empty when there is none."""
    return {} if values is None else {"state": values["state"], **values["report"]}
