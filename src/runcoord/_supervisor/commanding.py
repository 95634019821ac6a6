"""The part of a coordinator that runs commands."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from runcoord._core.teardown import Scope

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from pathlib import Path

    from runcoord._supervisor.preparing import VariableNames
    from runcoord._supervisor.report import CommandReport
    from runcoord._supervisor.running import Supervisor


class Commands:
    """Mixed into the coordinator. What it needs is loaded when the first command is run."""

    if TYPE_CHECKING:

        @functools.cached_property
        def commands(self) -> Supervisor: ...

    def run_command(
        self,
        argv: Sequence[str],
        *,
        directory: str | Path | None = None,
        environment: Mapping[str, str] | None = None,
        timeout: float | None = None,
        grace: float | None = None,
        scope: Scope | str = Scope.TREE,
        names: VariableNames | None = None,
        max_depth: int | None = None,
        max_live_runs: int | None = None,
        git: bool = True,
        run_id: str = "",
        key: str = "",
        destination: str = "",
        agent: str = "",
        task: str = "",
        conversation_key: str = "",
    ) -> CommandReport:
        """Run a command as a run and leave nothing of it behind; returns when its outcome is recorded.

        Its standard streams are those of this process. The depth of runs in runs is guarded, nothing executes
        before the run and its processes are in the store, and it is ended with everything that can be found
        of it: when it ends by itself, after ``timeout`` seconds, when the run is stopped, when its lease is
        lost. ``grace`` is the time in seconds that its processes have then to end by themselves; the default
        is in the environment (``RUNCOORD_TEARDOWN_GRACE``), else 5. The git state of ``directory`` is put
        back after a run that did not complete, and compared after one that did. ``environment`` is whole, the
        default is that of this process; what binds git to a repository is left out of it, and the run's own
        cookie and depth are put in. Never stored or logged: any value of it.

        An exception thrown into this call (KeyboardInterrupt, SystemExit) ends the run as interrupted, and is
        raised again when nothing is left of it; a second one ends the grace.

        Raises, before anything executes: :class:`~runcoord.errors.DepthExceeded`,
        :class:`~runcoord.errors.LiveRunsExceeded`, :class:`~runcoord.errors.CommandNotFound`,
        :class:`~runcoord.errors.CommandNotExecutable`, :class:`~runcoord.errors.DirectoryUnusable`,
        :class:`~runcoord.errors.LaunchFailed`, :class:`~runcoord.errors.GitStateUnsaved`, and what submitting
        and claiming raise. Whatever goes wrong after that is in the report.
        """
        from runcoord._supervisor.accepting import Intake
        from runcoord._supervisor.running import order_of

        order = order_of(
            argv,
            directory=directory,
            environment=environment,
            timeout=timeout,
            grace=grace,
            scope=scope,
            names=names,
            max_depth=max_depth,
        )
        intake = Intake(
            run_id=run_id,
            key=key,
            destination=destination,
            agent=agent,
            task=task,
            conversation_key=conversation_key,
            max_live_runs=max_live_runs,
            git=git,
        )
        return self.commands.run(order, intake)
