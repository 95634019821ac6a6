"""Commands of one coordinator: the parts that a command is run with, put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runcoord._coordinator import RunVerbs
from runcoord._core.teardown import Scope
from runcoord._executor import Executor
from runcoord._supervisor.accepting import Intake
from runcoord._supervisor.command import CommandRun, Workshop
from runcoord._supervisor.driving import drive
from runcoord._supervisor.keeping import Keeper
from runcoord._supervisor.preparing import CommandOrder, VariableNames, prepare
from runcoord._supervisor.report import CommandReport
from runcoord._supervisor.starting import Launched, launch
from runcoord.errors import InvalidRequest
from runcoord.ports import Launcher

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from pathlib import Path


class Supervisor:
    """Runs commands as runs of one coordinator."""

    def __init__(self, verbs: RunVerbs, executor: Executor, launcher: Launcher, folders: str | None) -> None:
        self._verbs, self._launcher, self._folders = verbs, launcher, folders
        self._shop = Workshop(verbs, executor, Keeper(verbs))

    def launch(self, order: CommandOrder, run_id: str = "") -> Launched:
        """Guard, look up and start a command, gate closed; nothing of it is in the store yet."""
        prepared = prepare(order, self._verbs.ids)
        return launch(prepared, self._launcher, run_id or self._verbs.ids.new("run"), self._folders)

    def command(self, launched: Launched, intake: Intake) -> CommandRun:
        """A launched command, to be driven step by step."""
        return CommandRun(self._shop, intake, launched)

    def run(self, order: CommandOrder, intake: Intake) -> CommandReport:
        """Launch a command and drive it to its end, in this thread."""
        return drive(self.command(self.launch(order, intake.run_id), intake))


def order_of(
    argv: Sequence[str],
    *,
    directory: str | Path | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
    grace: float | None = None,
    scope: Scope | str = Scope.TREE,
    names: VariableNames | None = None,
    max_depth: int | None = None,
    terminal: bool = False,
) -> CommandOrder:
    """What was asked for, checked as far as types go. Raises :class:`~runcoord.errors.InvalidRequest`."""
    if isinstance(argv, str | bytes):
        raise InvalidRequest(
            "the command is one text, not a list of texts",
            remedy="Pass [program, argument, ...]; for a shell: ['sh', '-c', text].",
            field="argv",
        )
    try:
        reach = Scope(scope)
    except ValueError:
        known = ", ".join(Scope)
        raise InvalidRequest(
            f"unknown scope {scope!r}", remedy=f"Use one of: {known}.", field="scope"
        ) from None
    return CommandOrder(
        argv=tuple(argv),
        directory=str(directory) if directory is not None else "",
        environment=environment,
        timeout=timeout,
        grace=grace,
        scope=reach,
        names=names or VariableNames(),
        max_depth=max_depth,
        terminal=terminal,
    )
