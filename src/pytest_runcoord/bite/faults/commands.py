"""Faults of commands as runs: how deep they start one another, what they leave of git."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_runcoord.bite.boundary import Asked, Boundary, FaultySession
from pytest_runcoord.bite.fault import BoundaryFault, fault
from pytest_runcoord.subject import Answer

ENDING = frozenset({"settle", "interrupt", "recover", "startup"})
VARIABLES = {"depth": "RUNCOORD_DEPTH", "maximum": "RUNCOORD_MAX_DEPTH"}


class _GateOpen(Boundary):
    """What is refused for its depth is started all the same, as if it were nobody's child."""

    def call(self, asked: Asked) -> Answer:
        try:
            return asked.go()
        except Exception as error:
            if asked.verb != "supervise" or self.refusal(error) != "depth-exceeded":
                raise
        asked.args.pop("max_depth", None)
        with _unset({**VARIABLES, **asked.args.get("names", {})}):
            answer = asked.go()
        self.meet()
        return answer


@contextmanager
def _unset(names: dict[str, str]) -> Iterator[None]:
    before = {each: os.environ.pop(each, None) for each in (names["depth"], names["maximum"])}
    try:
        yield
    finally:
        os.environ.update({name: value for name, value in before.items() if value is not None})


class _GitLeftBare(Boundary):
    """Where a command did not complete, its repository is left with ``core.bare`` true."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: dict[str, Path] = {}

    def call(self, asked: Asked) -> Answer:
        if asked.verb == "supervise":
            self.runs[asked.args["run"]] = Path(asked.args["directory"])
        try:
            return asked.go()
        finally:
            if asked.verb in ENDING and self.runs:
                self._leave(asked.session)

    def _leave(self, session: FaultySession) -> None:
        for run in self.look(session).runs.values():
            if run.outcome in (None, "completed") or run.run_id not in self.runs:
                continue
            config = self.runs.pop(run.run_id) / ".git" / "config"
            if config.is_file():
                self.meet()
                config.write_text(f"{config.read_text('utf-8')}[core]\n\tbare = true\n", "utf-8")


FAULTS: tuple[BoundaryFault, ...] = (
    fault(
        "depth-gate-open",
        "A command is started at the maximum depth, or past it.",
        _GateOpen,
        needs="supervision",
        words="supervise depth-exceeded env",
        shows_in="supervise",
        caught_by="depth-closed",
    ),
    fault(
        "git-left-bare",
        "Where a command failed, git is left as the command left it: without a work tree.",
        _GitLeftBare,
        needs="supervision",
        words="supervise git settle interrupt git_status",
        shows_in="supervise",
        caught_by="caller-git-usable",
    ),
)
