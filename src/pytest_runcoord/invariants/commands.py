"""Invariants about commands as runs: how deep they may start one another, what they leave of git."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pytest_runcoord.environments import depth_in
from pytest_runcoord.history import Entry
from pytest_runcoord.invariants.base import Invariant
from pytest_runcoord.subject import RunSeen, Snapshot


class DepthClosed(Invariant):
    id = "depth-closed"
    says = "Nothing is started at or past the maximum depth, and what is started is told a greater depth."
    needs = frozenset({"supervision"})
    hears = frozenset({"verb"})
    verbs = frozenset({"supervise"})

    def see(self, entry: Entry, before: Snapshot) -> None:
        data = entry.data
        depth, maximum, above = data["read_depth"], data["read_maximum"], data["above"]
        run = data["on"]
        started = [shim for shim in self.world.processes.shims() if shim.process.run == run]
        if depth is None or depth >= maximum or above >= maximum:
            self.exercised += 1
            if started:
                self.fail(
                    f"{run} was started at or past the maximum",
                    expected=f"nothing: the maximum is {maximum}",
                    seen=f"depth {'malformed' if depth is None else depth}, {above} runs above it in truth",
                )
            return
        for shim in started:
            if shim.executed:
                self.exercised += 1
                self._compare(run, shim.order.environment, data, max(depth, above), maximum)

    def _compare(
        self, run: str, environment: Mapping[str, str], data: dict[str, Any], depth: int, maximum: int
    ) -> None:
        names: tuple[str, str] = data["depth_name"], data["maximum_name"]
        told = depth_in(
            {os.fsencode(name): os.fsencode(value) for name, value in environment.items()}, *names
        )
        unset = [each for each in names if each not in environment]
        if unset or told.depth != depth + 1 or told.maximum > maximum:
            self.fail(
                f"{run} was told another depth than it has",
                expected=f"depth {depth + 1}, and a maximum of at most {maximum}",
                seen=f"depth {told.depth}, maximum {told.maximum}" + (f", {unset} not set" if unset else ""),
            )


class CallerGitUsable(Invariant):
    id = "caller-git-usable"
    says = (
        "When a run did not complete, git works where it worked before, or its report says that it may not."
    )
    needs = frozenset({"supervision"})

    def __init__(self, *world: object) -> None:
        super().__init__(*world)  # type: ignore[arg-type]
        self._asked: set[str] = set()

    def compare(self, before: Snapshot, after: Snapshot) -> None:
        if "checkouts" not in vars(self.world):
            return
        for run in after.runs.values():
            if run.outcome not in (None, "completed") and run.run_id not in self._asked:
                self._asked.add(run.run_id)
                self._look(run)

    def _look(self, run: RunSeen) -> None:
        checkouts = self.world.checkouts
        worked = checkouts.worked.get(run.run_id, ())
        if run.run_id not in checkouts.touched or not worked:
            return
        self.exercised += 1
        if (
            run.git is not None
            and run.git["state"] == "refused"
            and run.git["report"].get("what") != "compared"
        ):
            return  # it was to be put back, could not or must not be, and that is said
        broken = [place for place in worked if checkouts.path(place).is_dir() and not checkouts.works(place)]
        if broken:
            self.fail(
                f"git does not work any more where {run.run_id} was run, and nobody says so",
                expected=f"'git status' works in {', '.join(worked)}",
                seen=f"it fails in {', '.join(broken)}",
            )


COMMAND_INVARIANTS: tuple[type[Invariant], ...] = (DepthClosed, CallerGitUsable)
