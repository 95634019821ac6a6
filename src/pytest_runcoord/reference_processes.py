"""What the reference is asked about processes: the verbs of its session for them."""

from __future__ import annotations

from pathlib import Path

from pytest_runcoord.subject import Answer, SubjectWorld
from runcoord import Coordinator, Lease
from runcoord.errors import InvalidRequest, ProbeFailed, ProcessGone
from runcoord.ports import (
    LaunchOrder,
    NewProcess,
    Processes,
    Role,
    Scope,
    TeardownReport,
    Terms,
    Tree,
    UnknownIdentity,
)
from runcoord.values import value


@value
class Launched:
    """A tree of processes, and the lease under which it was started."""

    lease: Lease
    tree: Tree


class ProcessVerbs:
    """Part of the reference's session. Each verb is what a program on the library does."""

    _coordinator: Coordinator
    _world: SubjectWorld

    def record_process(
        self, lease: Lease, pid: int, cookie: str = "", grace: float | None = None, scope: str = "tree"
    ) -> Answer:
        """Write down a process that runs already. One whose identity cannot be read is written down too, and
        a number that cannot be looked up is given to the coordinator as it is."""
        table = self._table()
        try:
            found: NewProcess = NewProcess(table.identify(pid, cookie))
        except (ProbeFailed, InvalidRequest) as error:
            found = NewProcess(UnknownIdentity(error.problem, pid))
        terms = _terms(scope, grace, cookie)
        self._coordinator.record_processes(lease, [found], terms=terms)
        return Answer({"run": lease.run_id, "epoch": lease.epoch, "pid": pid})

    def launch(
        self,
        lease: Lease,
        program: str,
        line: str,
        grace: float | None = None,
        scope: str = "tree",
    ) -> Answer:
        """Start a command behind its gate, write it and its shim down, let it begin."""
        assert self._world.launcher is not None
        cookie = line.rpartition(":")[2]
        words = str(Path(self._world.directory) / f"{lease.run_id}.last-words")
        terms = _terms(scope, grace, cookie, words)
        order = LaunchOrder(
            argv=(program,),
            executable=f"/usr/bin/{program}",
            directory=str(self._world.directory),
            environment={"RUNCOORD_COOKIE": line},
            cookie=cookie,
            scope=terms.scope,
            grace=terms.grace,
            last_words=words,
        )
        tree = self._world.launcher.launch(order)
        both = [NewProcess(tree.shim, Role.SHIM), NewProcess(tree.leader, Role.LEADER)]
        self._coordinator.record_processes(lease, both, terms=terms)
        tree.open_gate()
        values = {"run": lease.run_id, "epoch": lease.epoch, "shim": both[0].identity.pid}
        return Answer({**values, "leader": both[1].identity.pid}, Launched(lease, tree))

    def tear_down(
        self, launched: Launched, grace: float | None = None, outcome: str = "", result: str = ""
    ) -> Answer:
        """End a tree, record what became of it (with an outcome: in the same commit), let go of the shim."""
        lease, tree = launched.lease, launched.tree
        try:
            ending = tree.wait(0.0)
        except ProcessGone:
            ending = None  # nobody can tell how the command ends; its tree is ended all the same
        report = tree.tear_down(_terms("tree", grace, "").grace)
        if outcome:
            status = None if ending is None else ending.status
            self._coordinator.complete(lease, outcome, result=result, exit_status=status, teardown=report)
        else:
            self._coordinator.record_teardown(lease, report)
        tree.close()
        return Answer({"run": lease.run_id, "epoch": lease.epoch, **_told(report)})

    def _table(self) -> Processes:
        table = self._world.processes
        assert table is not None
        return table


def _terms(scope: str, grace: float | None, cookie: str, last_words: str = "") -> Terms:
    chosen = Terms(Scope(scope), handed_over=cookie, last_words=last_words)
    return chosen if grace is None else Terms(chosen.scope, grace, last_words, cookie)


def _told(report: TeardownReport) -> dict[str, object]:
    """A report as an answer tells it."""
    return {
        "emptied": report.emptied,
        "counted": report.counted,
        "left": [each.pid for each in report.left],
        "fates": sorted(each.fate.value for each in report.processes),
    }
