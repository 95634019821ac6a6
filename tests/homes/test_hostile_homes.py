"""Homes that mean harm are imported: the good folders all, of the others nothing but their names."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import pytest
from hypothesis import HealthCheck, example, given, settings

from homes.hostile import HISTORY, IMPORTED, SECRET, SHAPES, HostileHome, Planned, hostile_homes, is_bad
from homes.masking import without_held_directories
from homes.watching import descriptors, watched
from runcoord import Coordinator, open_coordinator
from runcoord.ports import Ports, RefusalKind
from runcoord.testing import MemoryStore

FEW = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
MANY = settings(max_examples=2_000, deadline=None, suppress_health_check=list(HealthCheck))

_FORBIDDEN: list[str] = []
_TOUCHED: list[str] = []


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    """Sees every opening by path, also one that the code under test does not make through :mod:`os`."""
    if _FORBIDDEN and event == "open" and isinstance(arguments[0], str) and _FORBIDDEN[0] in arguments[0]:
        _TOUCHED.append(arguments[0])


sys.addaudithook(_audit)


@contextmanager
def nothing_touched(home: HostileHome) -> Iterator[None]:
    """Nothing outside of the root is opened, nothing anywhere is written, no descriptor is left."""
    before, ours = home.everything(), descriptors()
    _FORBIDDEN[:], _TOUCHED[:] = [str(home.outside)], []
    try:
        with watched() as watch:
            yield
    finally:
        _FORBIDDEN.clear()
    root = str(home.root)
    strangers = [
        path for path in watch.paths if path not in {root, str(home.home)} and root + "/" not in path
    ]
    assert [path for path in strangers if str(home.place) in path] == []
    assert [path for path in watch.written if str(home.place) in path] == []
    assert _TOUCHED == []
    assert watch.open == {}
    assert descriptors() == ours
    assert home.everything() == before


def coordinator() -> Coordinator:
    return open_coordinator("", ports=Ports(store=MemoryStore()))


def imported(entries: list[Planned]) -> None:
    home = HostileHome(Path(os.path.realpath(tempfile.mkdtemp(prefix="hostile-")))).make(entries)
    try:
        with coordinator() as ours:
            with nothing_touched(home):
                report = ours.import_folders(str(home.home))
            _as_expected(home, ours, report.refused + report.corrupt)
            assert report.problem is None
            assert report.looked_at == len(entries)
            runs = {name for name, verdict in expected(home).items() if verdict in {IMPORTED, HISTORY}}
            with nothing_touched(home):
                again = ours.import_folders(str(home.home))
            assert (again.known, again.imported, again.history) == (len(runs), 0, 0)
            assert again.looked_at == len(entries)
    finally:
        home.remove()


def expected(home: HostileHome) -> dict[str, object]:
    return {name: RefusalKind.NAME if is_bad(name) else verdict for name, verdict in home.verdicts.items()}


def _as_expected(home: HostileHome, ours: Coordinator, refused: list[object]) -> None:
    seen: dict[str, object] = {}
    for run in ours.runs().runs:
        told = ours.events(run_id=run.run_id).events
        seen[run.run_id] = IMPORTED if told else HISTORY
        assert run.spec.agent == "inside"
        assert SECRET not in repr((run, told))
    wanted = expected(home)
    assert seen == {name: verdict for name, verdict in wanted.items() if verdict in {IMPORTED, HISTORY}}
    kinds = sorted(str(each.kind) for each in refused)  # type: ignore[attr-defined]
    assert kinds == sorted(str(verdict) for verdict in wanted.values() if verdict not in {IMPORTED, HISTORY})
    assert SECRET not in repr(refused)


EVERY_SHAPE = [Planned(f"run-{number:02}", shape) for number, shape in enumerate(sorted(SHAPES))]


@example(EVERY_SHAPE[:20])
@example(EVERY_SHAPE[20:])
@FEW
@given(hostile_homes())
def test_the_good_folders_of_a_hostile_home_are_imported_and_nothing_else_is_touched(
    entries: list[Planned],
) -> None:
    imported(entries)


@pytest.mark.soak
@MANY
@given(hostile_homes())
def test_the_good_folders_of_thousands_of_hostile_homes_are_imported(entries: list[Planned]) -> None:
    imported(entries)


@example(EVERY_SHAPE[:20])
@example(EVERY_SHAPE[20:])
@FEW
@given(hostile_homes(6))
def test_a_system_without_held_directories_imports_the_same(entries: list[Planned]) -> None:
    with without_held_directories():
        imported(entries)


class Swapping:
    """A second thread that swaps folders and files for links to what is outside, until it is told to end."""

    def __init__(self, home: HostileHome, names: list[str]) -> None:
        self._home, self._names = home, names
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._swap)
        self.swaps = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._done.set()
        self._thread.join(60)
        assert not self._thread.is_alive()

    def _swap(self) -> None:
        aside = self._home.home / "aside"
        aside.mkdir()
        while not self._done.is_set():
            for name in self._names:
                path, kept = self._home.root / name, aside / name
                decoy = self._home.outside / name
                path.rename(kept)
                path.symlink_to(decoy)
                path.unlink()
                kept.rename(path)
                state, spare = path / "state.json", path / "spare"
                state.rename(spare)
                os.link(decoy / "state.json", state)
                state.unlink()
                state.symlink_to(decoy / "state.json")
                state.unlink()
                spare.rename(state)
                self.swaps += 1


def _raced(rounds: int) -> None:
    home = HostileHome(Path(os.path.realpath(tempfile.mkdtemp(prefix="racing-"))))
    names = ["swapped-1", "swapped-2"]
    home.make([Planned(name, "good") for name in [*names, *(f"good-{number}" for number in range(8))]])
    for name in names:
        (home.outside / name).mkdir()
        (home.outside / name / "state.json").write_bytes(
            (home.root / name / "state.json").read_bytes().replace(b"inside", SECRET.encode())
        )
    ours, seen = descriptors(), set[str]()
    try:
        with Swapping(home, names) as swapping:
            while rounds > 0 or swapping.swaps < 20:
                rounds -= 1
                with coordinator() as one:
                    report = one.import_folders(str(home.home))
                    runs = {run.run_id: run for run in one.runs().runs}
                assert SECRET not in repr((runs, report))
                assert {f"good-{number}" for number in range(8)} <= runs.keys()
                assert {run.spec.agent for run in runs.values()} == {"inside"}
                seen |= {each.kind for each in report.refused}
        assert descriptors() == ours
        assert seen <= {"link", "swapped", "missing", "hard-link"}
    finally:
        home.remove()


def test_folders_that_are_swapped_while_they_are_read_give_nothing_of_what_is_outside() -> None:
    _raced(40)


@pytest.mark.soak
def test_folders_that_are_swapped_thousands_of_times_give_nothing_of_what_is_outside() -> None:
    _raced(3_000)


def test_folders_that_are_swapped_where_nothing_is_held_leave_the_others_alone() -> None:
    with without_held_directories():
        home = HostileHome(Path(os.path.realpath(tempfile.mkdtemp(prefix="racing-"))))
        home.make([Planned(name, "good") for name in ["swapped-1", "good-1", "good-2"]])
        (home.outside / "swapped-1").mkdir()
        (home.outside / "swapped-1" / "state.json").write_bytes(b"{}")
        try:
            with Swapping(home, ["swapped-1"]) as swapping:
                while swapping.swaps < 20:
                    with coordinator() as one:
                        one.import_folders(str(home.home))
                        assert {"good-1", "good-2"} <= {run.run_id for run in one.runs().runs}
        finally:
            home.remove()
