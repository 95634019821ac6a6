"""Seeded defects of what is put back of a caller's git state, and when."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from defects.catalogue import Defect
from runcoord._executor import Execution
from runcoord._git import checkouts, comparing, configs, putting_back, restoring
from runcoord._git.reports import What
from runcoord._git.values import Checkout, State
from runcoord._supervisor import command, preparing
from runcoord._supervisor.keeping import Keeper, Kept
from runcoord._supervisor.report import Cause

Patch = pytest.MonkeyPatch

# --- core-bare-left-true ---


def _never_put_back(patch: Patch) -> None:
    patch.setattr(Keeper, "restore", lambda self, launched: Kept())


def _only_when_the_command_fails(patch: Patch) -> None:
    end, restore, causes = command.CommandRun.end, Keeper.restore, list[Cause]()

    def noting(self: command.CommandRun, cause: Cause, **more: Any) -> Any:
        causes.append(cause)
        return end(self, cause, **more)

    patch.setattr(command.CommandRun, "end", noting)
    patch.setattr(
        Keeper,
        "restore",
        lambda self, launched: restore(self, launched) if causes[-1] is Cause.ENDED else Kept(),
    )


def _before_the_tree_is_gone(patch: Patch) -> None:
    torn_down, restore, kept = command.CommandRun._torn_down, Keeper.restore, list[Kept]()

    def early(self: command.CommandRun) -> Any:
        kept.append(restore(self.shop.keeper, self.launched))
        return torn_down(self)

    patch.setattr(command.CommandRun, "_torn_down", early)
    patch.setattr(Keeper, "restore", lambda self, launched: kept[-1])


def _the_whole_file(patch: Patch) -> None:
    patch.setattr(restoring._Restoration, "_put_values", restoring._Restoration._put_bytes)


def _one_key_of_one_file(patch: Patch) -> None:
    """The original reads and writes core.bare of the common config, with one value."""
    right = comparing.differences

    def few(before: State, now: State) -> list[Any]:
        return [
            each
            for each in right(before, now)
            if each.what is not What.CONFIG or (each.key == "core.bare" and each.path.endswith("/config"))
        ]

    patch.setattr(restoring, "differences", few)
    patch.setattr("runcoord._git.comparing.behaviour_differences", lambda before, now: [])


def _work_of_the_command_is_removed(patch: Patch) -> None:
    carried_out = restoring._Restoration.carried_out

    def thorough(self: restoring._Restoration) -> Any:
        known = {each.admin.path for each in self._before.registrations}
        found = carried_out(self)
        for path in Path(self._before.checkout.common.path, "worktrees").iterdir():
            if str(path) not in known:
                shutil.rmtree(path)
        return found

    patch.setattr(restoring._Restoration, "carried_out", thorough)


def _recorded_before_it_is_put_back(patch: Patch) -> None:
    finish = Execution.finish
    patch.setattr(
        Execution,
        "finish",
        lambda self, outcome, **more: finish(self, outcome, **more | {"unless_stopped": False}),
    )


# --- bare-before-stays-bare ---


def _writing(patch: Patch, values: Any) -> None:
    """Write other values for core.bare; ``values`` is given the right ones."""
    write = configs.write_values

    def other(git: Any, file: str, key: str, wanted: tuple[str | None, ...]) -> str:
        return write(git, file, key, values(wanted) if key == "core.bare" else wanted)

    patch.setattr(restoring, "write_values", other)


def _absent_becomes_false(patch: Patch) -> None:
    _writing(patch, lambda wanted: wanted or ("false",))


def _everything_becomes_false(patch: Patch) -> None:
    _writing(patch, lambda wanted: ("false",))


def _one_value_is_enough(patch: Patch) -> None:
    _writing(patch, lambda wanted: ("false",) if wanted == ("no", "off") else wanted)


# --- caller-is-a-linked-worktree ---


def _own_directory_alone(patch: Patch) -> None:
    patch.setattr(checkouts, "common_behind", lambda git_dir: git_dir)


def _nothing_is_scrubbed(patch: Patch) -> None:
    patch.setattr(preparing, "scrubbed", dict)


def _one_variable_is_scrubbed(patch: Patch) -> None:
    def few(environ: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in environ.items() if name not in ("GIT_DIR", "GIT_WORK_TREE")}

    patch.setattr(preparing, "scrubbed", few)


def _everything_of_git_is_scrubbed(patch: Patch) -> None:
    def all_of_it(environ: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in environ.items() if not name.startswith("GIT_")}

    patch.setattr(preparing, "scrubbed", all_of_it)


def _as_the_environment_says(patch: Patch) -> None:
    right = checkouts.checkout_at

    def believed(cwd: str) -> Checkout | None:
        named = os.environ.get("GIT_COMMON_DIR")
        return right(str(Path(named).parent) if named else cwd)

    patch.setattr("runcoord._git.taking.checkout_at", believed)


# --- worktrees-registered ---


def _registrations_are_left(patch: Patch) -> None:
    right = comparing.differences
    patch.setattr(
        restoring,
        "differences",
        lambda before, now: [each for each in right(before, now) if each.what is not What.REGISTRATION],
    )
    patch.setattr("runcoord._git.comparing.behaviour_differences", lambda before, now: [])


def _head_is_moved_back(patch: Patch) -> None:
    carried_out = restoring._Restoration.carried_out

    def moving(self: restoring._Restoration) -> Any:
        for head in self._before.heads:
            Path(head.path).write_text(head.text, "utf-8")
        return carried_out(self)

    patch.setattr(restoring._Restoration, "carried_out", moving)


def _head_is_not_told(patch: Patch) -> None:
    right = comparing.differences
    patch.setattr(
        restoring,
        "differences",
        lambda before, now: [each for each in right(before, now) if each.what is not What.HEAD],
    )


def _lost_with_its_index(patch: Patch) -> None:
    """The registration comes back without what says where the worktree's repository is."""
    put = putting_back.put_registration

    def partly(snapshot: Any, registration: Any) -> Any:
        left_out = put(snapshot, registration)
        Path(registration.admin.path, "commondir").unlink()
        return left_out

    patch.setattr(restoring, "put_registration", partly)
    judged = restoring._Restoration._judged
    patch.setattr(
        restoring._Restoration,
        "_judged",
        lambda self, now: judged(self, replace(self._before, locks=now.locks)),
    )


RESTORING: list[Defect] = [
    Defect(
        "core-bare-left-true",
        "Nothing is put back after a failed run.",
        "caller-git-usable",
        _never_put_back,
        scenario="after-every-end-but-success",
    ),
    Defect(
        "core-bare-left-true",
        "It is put back when the command fails, and not when it is stopped or runs out of time.",
        "caller-git-usable",
        _only_when_the_command_fails,
        name="only-own-failure",
        scenario="after-every-end-but-success",
    ),
    Defect(
        "core-bare-left-true",
        "It is put back before the tree is gone.",
        "caller-git-usable",
        _before_the_tree_is_gone,
        name="too-early",
        scenario="the-flip-comes-while-the-tree-is-ended",
    ),
    Defect(
        "core-bare-left-true",
        "The whole config is put back, with what the command has set on purpose.",
        "git_value",
        _the_whole_file,
        name="whole-file",
    ),
    Defect(
        "core-bare-left-true",
        "Only core.bare of the common config is looked at.",
        "caller-git-usable",
        _one_key_of_one_file,
        name="one-key",
        scenario="broken-in-other-ways",
    ),
    Defect(
        "core-bare-left-true",
        "Worktrees that were not there before are removed.",
        "worktrees",
        _work_of_the_command_is_removed,
        name="removes-work",
    ),
    Defect(
        "core-bare-left-true",
        "A stop at the last moment makes it a run that did not complete, and its checkout is left as it is.",
        "caller-git-usable",
        _recorded_before_it_is_put_back,
        name="last-moment",
        scenario="stopped-at-the-last-moment",
    ),
    Defect(
        "bare-before-stays-bare",
        "Whatever it was before, the key is written as false.",
        "git_value",
        _everything_becomes_false,
    ),
    Defect(
        "bare-before-stays-bare",
        "A key that was not set is written as false.",
        "git_value",
        _absent_becomes_false,
        name="absent",
        scenario="absent-stays-absent",
    ),
    Defect(
        "bare-before-stays-bare",
        "Several values become one, in another spelling.",
        "git_value",
        _one_value_is_enough,
        name="spelling",
        scenario="values-as-they-were-written",
    ),
    Defect(
        "caller-is-a-linked-worktree",
        "The repository is looked for in the worktree's own git directory.",
        "caller-git-usable",
        _own_directory_alone,
    ),
    Defect(
        "caller-is-a-linked-worktree",
        "GIT_DIR and its like leak into the command.",
        "exports",
        _nothing_is_scrubbed,
        name="leaks",
        scenario="git-dir-in-the-callers-environment",
    ),
    Defect(
        "caller-is-a-linked-worktree",
        "Only the variables that come to mind are taken out.",
        "exports",
        _one_variable_is_scrubbed,
        name="leaks-others",
        scenario="git-dir-in-the-callers-environment",
    ),
    Defect(
        "caller-is-a-linked-worktree",
        "Everything of git is taken out, with credentials, ssh and author.",
        "exports",
        _everything_of_git_is_scrubbed,
        name="scrubs-all",
        scenario="git-dir-in-the-callers-environment",
    ),
    Defect(
        "caller-is-a-linked-worktree",
        "The repository that the environment names is written down, and put back.",
        "caller-git-usable",
        _as_the_environment_says,
        name="another-repository",
        scenario="git-dir-in-the-callers-environment",
    ),
    Defect(
        "worktrees-registered",
        "A registration that is gone stays gone.",
        "caller-git-usable",
        _registrations_are_left,
    ),
    Defect(
        "worktrees-registered",
        "Restoration removes the worktrees that the command made.",
        "worktrees",
        _work_of_the_command_is_removed,
        name="removes",
    ),
    Defect(
        "worktrees-registered",
        "A registration comes back in part, and is called restored.",
        "caller-git-usable",
        _lost_with_its_index,
        name="in-part",
    ),
    Defect(
        "worktrees-registered",
        "HEAD is moved back, away from what was committed.",
        "head",
        _head_is_moved_back,
        name="moves-head",
        scenario="head-is-never-moved",
    ),
    Defect(
        "worktrees-registered",
        "That HEAD moved is told to nobody.",
        "git_report",
        _head_is_not_told,
        name="untold-head",
        scenario="head-is-never-moved",
    ),
]
