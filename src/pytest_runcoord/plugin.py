"""The pytest plugin ``runcoord``; imports pytest and the standard library only, the rest at first use."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    from pytest_runcoord.collection import ScenarioFile
    from pytest_runcoord.fixtures import CrashedLease, RecordedDestination, StalledRenewals, TzDrift
    from pytest_runcoord.from_python import ScenarioRunner
    from pytest_runcoord.gate import Gate
    from pytest_runcoord.homes.fixtures import DataHome, RunFolders
    from pytest_runcoord.misnamed_files import MisnamedFile
    from pytest_runcoord.patching import KillGuard, ProcessTree
    from pytest_runcoord.patching.tree import PidReuse, Reboot
    from pytest_runcoord.telling import Telling
    from runcoord import Coordinator
    from runcoord.testing import ManualClock

ENDINGS = (".runcoord.yaml", ".runcoord.yml")
"""Of files that are looked at closer; nothing is collected from the second, which is said."""
GUARDS: pytest.StashKey[list[KillGuard]] = pytest.StashKey()
"""Guards of a test that is under way: what they refused fails it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("runcoord", "crash and recovery scenarios (runcoord)")
    group.addoption(
        "--runcoord-suite",
        action="store_true",
        help="run the scenarios that come with runcoord; without other arguments only those",
    )
    group.addoption(
        "--runcoord-subject",
        metavar="SUBJECT",
        help="run scenarios on this coordinator instead of the reference: module:Class, file.py:Class, "
        "'program: COMMAND', or a name that a plugin knows; 'reference' leads back to the reference",
    )
    group.addoption(
        "--runcoord-tier",
        action="append",
        metavar="TIER",
        help="only variants of this tier, sim or real; may be repeated",
    )
    group.addoption(
        "--runcoord-require-tier",
        action="append",
        metavar="TIER",
        help="a variant of this tier that is skipped fails, and so does a run without any",
    )
    group.addoption(
        "--runcoord-require",
        metavar="N",
        help="fail the run if fewer than N scenarios ran in it",
    )
    group.addoption(
        "--runcoord-report",
        metavar="DIR",
        help="write DIR/index.html: every scenario as a picture, in one file that needs nothing else; "
        "write it in one word, --runcoord-report=DIR",
    )
    group.addoption(
        "--runcoord-json",
        metavar="FILE",
        help="write what came of the run as JSON, by a documented schema",
    )
    group.addoption(
        "--runcoord-annotations",
        action="store_true",
        help="annotate failures for GitHub Actions; by itself where GITHUB_ACTIONS is true",
    )
    group.addoption(
        "--runcoord-bite",
        action="store_true",
        help="instead of the scenarios: put faults in at the boundary of the subject, one after another, and "
        "fail for each that turns none of the scenarios red",
    )


class OwnModules:
    """Finds the modules of runcoord as if pytest's rewriting of assertions were not there.

    pytest rewrites whatever lies below the name of a plugin, and to do so reads and hashes the source at each
    import (9.2): that was half of the time that loading takes. Nothing in here asserts for the sake of a test
    but the contract suites in ``runcoord.testing``, which are left to it.
    """

    def __init__(self, rewriting: object) -> None:
        self._rewriting = rewriting
        sys.meta_path.insert(0, self)

    def end(self) -> None:
        """Find nothing any more; nor again, if somebody else took it out of the list before."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What the finders behind this one say of a module of ours; ``None`` of any other: they are asked."""
        if not name.startswith(("runcoord.", "pytest_runcoord.")) or name.startswith("runcoord.testing"):
            return None
        behind = False
        for finder in sys.meta_path:
            if finder is self:
                behind = True
            elif behind and finder is not self._rewriting and hasattr(finder, "find_spec"):
                found = finder.find_spec(name, path, target)
                if found is not None:
                    return found
        return None


def _find_own_modules(config: pytest.Config) -> None:
    """Until the end of the session, if pytest rewrites assertions in it at all."""
    rewriting = getattr(config.pluginmanager, "rewrite_hook", None)
    if rewriting in sys.meta_path:
        config.add_cleanup(OwnModules(rewriting).end)


@pytest.hookimpl(trylast=True)  # what others register when they are configured may have hooks of ours
def pytest_configure(config: pytest.Config) -> None:
    _find_own_modules(config)
    from pytest_runcoord.gate import Gate
    from pytest_runcoord.registered import hooks_in

    if hooks_in(config):
        from pytest_runcoord.extending import declare

        declare(config)

    gate = Gate(config, _teller)
    if config.pluginmanager.register(gate, "runcoord-gate") is None:
        raise pytest.UsageError(
            "-p no:runcoord-gate: without its gate a run would be green whatever ran; leave it out, or leave "
            "out all of runcoord by -p no:runcoord. Nothing was run."
        )
    if gate.tells:
        gate.tell()
    if config.getoption("runcoord_report") is not None:
        from pytest_runcoord.html_report.hooks import HtmlReport

        config.pluginmanager.register(HtmlReport(config), "runcoord-html-report")
    if config.getoption("runcoord_bite"):
        from pytest_runcoord.bite.session import BiteSession

        config.pluginmanager.register(BiteSession(config), "runcoord-bite")


def _teller(gate: Gate) -> Telling:
    from pytest_runcoord.telling import Telling

    return Telling(gate.config, gate)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ScenarioFile | MisnamedFile | None:
    if not file_path.name.endswith(ENDINGS):
        return None
    from pytest_runcoord.file_names import misnamed

    if misnamed(file_path.name):
        from pytest_runcoord.misnamed_files import MisnamedFile

        return MisnamedFile.from_parent(parent, path=file_path)
    from pytest_runcoord.collection import ScenarioFile

    return ScenarioFile.from_parent(parent, path=file_path)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Signals that a guard refused fail the test that they were sent in."""
    __tracebackhide__ = True
    try:
        yield
    except Exception as failure:
        for guard in item.stash.get(GUARDS, ()):
            guard.note_on(failure)
        raise
    for guard in item.stash.get(GUARDS, ()):
        guard.check()


# --- fixtures ---


@pytest.fixture
def runcoord_clock() -> ManualClock:
    """A clock that moves when told to: advance, step (wall clock only), suspend, reboot.

    The other fixtures share it; give it to your own code as ``Ports(clock=runcoord_clock)``.
    """
    from runcoord.testing import ManualClock

    return ManualClock()


@pytest.fixture
def runcoord_destination() -> RecordedDestination:
    """Where the coordinators of these fixtures deliver to, under the name chat: keeps ``messages``.

    Set ``error`` to an exception to have it raised instead: ``runcoord.DestinationRefused`` refuses for good,
    any other means "not now".
    """
    from pytest_runcoord.fixtures import RecordedDestination

    return RecordedDestination()


@pytest.fixture
def runcoord_coordinator(
    tmp_path: Path, runcoord_clock: ManualClock, runcoord_destination: RecordedDestination
) -> Iterator[Coordinator]:
    """A coordinator on the default store in tmp_path, with runcoord_clock and runcoord_destination.

    Events for the destination ``chat`` are recorded, those for others held.
    """
    from pytest_runcoord.fixtures import DESTINATION, manual_coordinator

    with manual_coordinator(
        tmp_path, runcoord_clock, {DESTINATION: runcoord_destination}, "test"
    ) as coordinator:
        yield coordinator


@pytest.fixture
def runcoord_crashed_lease(
    tmp_path: Path,
    runcoord_clock: ManualClock,
    runcoord_coordinator: Coordinator,
    runcoord_destination: RecordedDestination,
) -> Iterator[CrashedLease]:
    """A run that was claimed and started by an owner that is gone, its lease still running.

    Gives ``run_id``, the ``lease`` of the dead owner, the ``coordinator`` of a survivor, ``clock`` and
    ``destination``. Advance the clock past the lease, and ``coordinator.recover()`` ends the run.
    """
    from pytest_runcoord.fixtures import crashed_lease

    with crashed_lease(tmp_path, runcoord_clock, runcoord_coordinator, runcoord_destination) as crashed:
        yield crashed


@pytest.fixture
def runcoord_stalled_renewals(
    runcoord_clock: ManualClock,
    runcoord_coordinator: Coordinator,
    runcoord_destination: RecordedDestination,
) -> StalledRenewals:
    """An execution whose heartbeat is stalled: ``advance(95)`` lets its lease run out.

    ``resume()`` lets it beat again as ``advance`` moves the clock; ``with renewals.stall(): ...`` stalls it
    for a while. ``execution.guard()`` raises when its work must end.
    """
    from pytest_runcoord.fixtures import DESTINATION, StalledRenewals

    run_id = runcoord_coordinator.submit(run_id="stalled", destination=DESTINATION).run_id
    execution = runcoord_coordinator.begin(run_id)
    return StalledRenewals(execution, runcoord_coordinator, runcoord_clock, runcoord_destination)


@pytest.fixture
def runcoord_tz_drift() -> Iterator[TzDrift]:
    """Changes the time zone of this process and its children, and puts it back.

    ``drift("Asia/Tokyo")`` until the test ends, ``with drift("Asia/Tokyo"): ...`` until the block ends;
    ``lc_time="de_DE.UTF-8"`` changes the locale of dates too. ``ValueError`` for what this system lacks.
    """
    from pytest_runcoord.fixtures import TzDrift

    drift = TzDrift()
    yield drift
    drift.restore()


@pytest.fixture
def runcoord_process_tree(
    request: pytest.FixtureRequest, runcoord_clock: ManualClock, tmp_path: Path
) -> Iterator[ProcessTree]:
    """Simulated processes, for code that signals and waits by ``os``, ``subprocess`` or ``psutil``.

    ``tree({"server": {"children": [{"worker": {"ignores": ["TERM"]}}]}})`` starts them as children of the
    test; ``tree["worker"]`` has ``pid``, ``alive``, ``status`` and ``signals``, ``tree.program(name, ...)``
    declares what ``subprocess.Popen`` may start. Time is that of ``runcoord_clock``. A signal to anything
    else is not sent, and fails the test.
    """
    from pytest_runcoord.patching import process_tree

    with process_tree(runcoord_clock, tmp_path / "proc") as tree:
        request.node.stash.setdefault(GUARDS, []).append(tree.guard)
        yield tree
    tree.guard.check()


@pytest.fixture
def runcoord_pid_reuse(runcoord_process_tree: ProcessTree) -> PidReuse:
    """Gives the pid of a simulated process to a stranger: ``stranger = runcoord_pid_reuse("worker")``.

    The process has ended and was reaped. The stranger began in the same clock tick, so that pid and start
    time are equal; ``same_tick=False`` makes it a later one. The test fails when it is signalled. While
    another process is in the group or session that it began, nobody can have its pid: ``ValueError``.
    """
    return runcoord_process_tree.reuse


@pytest.fixture
def runcoord_reboot(runcoord_process_tree: ProcessTree) -> Reboot:
    """Restarts the simulated machine: ``runcoord_reboot()``. No simulated process is left, pids begin again.

    ``runcoord_clock`` has another boot id, and its boottime begins at 0; the wall clock has moved by the
    ``seconds`` that the machine was off.
    """
    return runcoord_process_tree.reboot


@pytest.fixture
def runcoord_kill_guard(request: pytest.FixtureRequest) -> Iterator[KillGuard]:
    """Lets real signals through only to processes that the test started; any other is not sent.

    Whoever sends one sees ``PermissionError``, and the test fails. ``allow(pid)`` makes a process the test's
    own that was there before, or that has left its parents. Signals of child processes are not seen.
    """
    from pytest_runcoord.patching import KillGuard, guarded

    guard = KillGuard()
    request.node.stash.setdefault(GUARDS, []).append(guard)
    with guarded(guard):
        yield guard
    guard.check()


@pytest.fixture
def runcoord_freeze(runcoord_clock: ManualClock) -> Iterator[ManualClock]:
    """time.time(), datetime.now() and the like read runcoord_clock, for code that has no clock of its own.

    By freezegun, with its limits: ``time.monotonic()`` follows the wall clock too, threads may see real time,
    ``asyncio.sleep`` never ends. Code that takes a clock should be given ``runcoord_clock`` instead.
    """
    from pytest_runcoord.fixtures import frozen_to

    with frozen_to(runcoord_clock) as clock:
        yield clock


@pytest.fixture
def runcoord_run_folders(tmp_path: Path, runcoord_clock: ManualClock) -> Iterator[RunFolders]:
    """Folders that runs left behind, good and hostile ones, for an importer of your own.

    ``folders("r1", result="done")`` makes ``<home>/runs/r1``, ``folders("r2", "torn")`` one that is no good,
    ``folders.hostile()`` one of every kind; ``path`` is the home, ``good`` and ``bad`` name what must come in
    and what must be refused. ``check()`` says whether anything was changed; a file outside that was written
    through a link fails the test by itself, and so does who waits at a FIFO. Times in them are by
    ``runcoord_clock``.
    """
    from pytest_runcoord.homes.fixtures import RunFolders

    folders = RunFolders(tmp_path / "run-folders", runcoord_clock.wall)
    yield folders
    folders.end()


@pytest.fixture(params=("plain", "symlinked", "symlinked-ancestor", "relative", "trailing-slash"))
def runcoord_data_home(
    request: pytest.FixtureRequest, tmp_path: Path, runcoord_clock: ManualClock
) -> Iterator[DataHome]:
    """A home with run folders whose path is spelled in five ways; the test runs once with each.

    ``path`` is what an importer is given: plain, a symbolic link, below one, relative to the working
    directory, with a slash at its end. It must find the same folders each time, those in ``root``. Otherwise
    as ``runcoord_run_folders``.
    """
    from pytest_runcoord.homes.fixtures import DataHome

    home = DataHome(tmp_path / "data-home", runcoord_clock.wall, request.param)
    yield home
    home.end()


@pytest.fixture
def runcoord_scenario(request: pytest.FixtureRequest) -> ScenarioRunner:
    """Runs a scenario from Python: ``runcoord_scenario("finding.runcoord.yaml").check()``.

    Takes a path (relative to the test's folder) or the YAML text itself, and gives the result: its verdict,
    history and exercised invariants. ``check()`` raises with the whole report unless it passed.
    """
    from pytest_runcoord.from_python import ScenarioRunner

    return ScenarioRunner(request.path.parent, request.config)
