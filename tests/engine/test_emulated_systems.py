"""Homes on another system than this one: what is missing is refused, errors are met, descriptors watched."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_runcoord.homes.descriptors import open_below
from pytest_runcoord.homes.forest import Forest
from pytest_runcoord.homes.home import Home
from pytest_runcoord.homes.ignoring_case import IgnoringCase
from pytest_runcoord.homes.outside import Outside
from pytest_runcoord.homes.probed import ProbedHomes
from pytest_runcoord.homes.system import System, SystemFault
from pytest_runcoord.homes.words import CANARY, FLAGS
from pytest_runcoord.moments import HOMES
from pytest_runcoord.probed_ports import Crashed
from pytest_runcoord.real.lookout import Lookout
from runcoord._homes import open_homes
from runcoord.ports import FolderRefused, RefusalKind

READING = os.O_RDONLY | os.O_CLOEXEC


@pytest.fixture
def system() -> Iterator[System]:
    made = System()
    yield made
    made.end()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    real = tmp_path / "homes" / "home"
    made = Home(real, str(real), Outside(tmp_path / "outside"), lambda: 1_700_000_000.0)
    made.make()
    made.folder("r1")
    return made


def functions() -> dict[str, object]:
    return {name: getattr(os, name) for name in dir(os)}


# --- what is missing ---


def test_nothing_is_replaced_where_nothing_is_different(system: System) -> None:
    before = functions()
    with system.active():
        assert functions() == before


def test_everything_is_as_before_when_the_call_is_over(system: System) -> None:
    before = functions()
    system.lack(("windows",))
    with pytest.raises(AttributeError, match="O_PATH"), system.active():
        assert os.O_PATH
    assert functions() == before


@pytest.mark.parametrize("name", FLAGS)
def test_a_flag_that_is_missing_is_refused_also_when_it_was_read_before(
    system: System, tmp_path: Path, name: str
) -> None:
    read_before = getattr(os, name)
    system.lack((name,))
    with system.active():
        assert not hasattr(os, name)
        with pytest.raises(OSError, match="no such flag") as refused:
            os.open(tmp_path, READING | read_before)
        assert refused.value.errno == errno.EINVAL
    os.close(os.open(tmp_path, READING | read_before | os.O_DIRECTORY))


def test_relative_paths_that_are_missing_are_not_offered_and_refused(system: System, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    held = os.open(tmp_path, READING)
    system.lack(("dir_fd",))
    try:
        with system.active():
            assert os.open not in os.supports_dir_fd
            with pytest.raises(NotImplementedError, match="dir_fd unavailable"):
                os.open("file", READING, dir_fd=held)
            with pytest.raises(NotImplementedError, match="dir_fd unavailable"):
                os.stat("file", dir_fd=held)
            with pytest.raises(NotImplementedError, match="dir_fd unavailable"):
                os.unlink("file", dir_fd=held)
    finally:
        os.close(held)
    assert (tmp_path / "file").exists()


def test_directories_that_cannot_be_opened_or_listed_by_descriptor(system: System, tmp_path: Path) -> None:
    held = os.open(tmp_path, READING)
    system.lack(("list_fd", "open_directory"))
    try:
        with system.active():
            assert os.scandir not in os.supports_fd
            with pytest.raises(TypeError, match="not int"):
                os.scandir(held)
            with pytest.raises(PermissionError):
                os.open(tmp_path, READING)
    finally:
        os.close(held)


def test_what_is_not_missing_is_still_offered(system: System, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", "utf-8")
    system.lack(("O_PATH",))
    with system.active():
        assert {os.open, os.stat, os.unlink} <= os.supports_dir_fd
        assert os.scandir in os.supports_fd
        held = os.open(tmp_path, READING | os.O_DIRECTORY)
        file = os.open("file", READING, dir_fd=held)
        assert os.read(file, 10) == b"x"
        os.close(file)
        os.close(held)


# --- errors ---


def test_an_error_is_met_as_often_as_said_and_only_where_it_is_said(system: System, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a", "utf-8")
    (tmp_path / "b").write_text("b", "utf-8")
    fault = SystemFault("read", "EIO", 1, "b")
    system.faults.append(fault)
    with system.active():
        for name, fails in (("a", False), ("b", True), ("b", False)):
            number = os.open(tmp_path / name, READING)
            try:
                if fails:
                    with pytest.raises(OSError, match="Input/output error"):
                        os.read(number, 10)
                else:
                    assert os.read(number, 10) == name.encode()
            finally:
                os.close(number)
    assert (fault.met, system.met) == (True, 1)


# --- descriptors ---


def test_a_number_that_was_closed_belongs_to_somebody_else_at_once(system: System, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    system.busy = True
    with system.active():
        number = os.open(tmp_path / "file", READING)
        os.close(number)
        assert stat.S_ISCHR(os.fstat(number).st_mode)
        assert system.closed_twice == []
        os.close(number)
        assert system.closed_twice == [f"descriptor {number}, of {tmp_path / 'file'}"]
        assert stat.S_ISCHR(os.fstat(number).st_mode)
    system.end()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


def test_closing_what_nobody_has_open_is_noticed_and_fails_as_ever(system: System, tmp_path: Path) -> None:
    system.lack(("O_PATH",))
    with system.active():
        number = os.open(tmp_path, READING)
        os.close(number)
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.close(number)
    assert system.closed_twice == [f"descriptor {number}, which nobody has open"]


def test_what_is_open_below_a_directory_is_seen_also_as_a_mere_handle(tmp_path: Path) -> None:
    top = tmp_path.resolve()
    (top / "inner").mkdir()
    held = os.open(top / "inner", os.O_PATH | os.O_CLOEXEC)
    try:
        assert open_below(top) == [str(top / "inner")]
        assert open_below(top / "inner") == [str(top / "inner")]
        assert open_below(top / "inn") == []
    finally:
        os.close(held)
    assert open_below(top) == []


# --- the port behind the probe ---


class Recording:
    """A probe that keeps what it is told; one moment may be the last, one call may meet a fault."""

    def __init__(self, dies_at: str = "", fault: tuple[str, str] = ("", "")) -> None:
        self.reached: list[str] = []
        self._dies_at, self._fault = dies_at, fault

    def reach(self, moment: str, **data: object) -> None:
        self.reached.append(moment)
        if moment == self._dies_at:
            raise Crashed("gw1#1")

    def fault(self, verb: str) -> str | None:
        return self._fault[1] if verb == self._fault[0] else None

    def hang(self) -> None:
        raise AssertionError("nothing hangs here")

    def send(self, message: object) -> None:
        raise AssertionError("nothing is sent here")


def use(homes: ProbedHomes, home: Home) -> None:
    """One call of every kind."""
    with homes.open(home.path, "runs") as root:
        assert root.names(10).names == ["r1"]
        seen = root.seen("r1", "state.json")
        assert seen is not None
        assert root.changed({"r1": seen.mark}, "state.json") == []
        assert root.mark("r1", "state.json")
        with root.folder("r1") as folder:
            assert folder.seen("state.json") == seen
            read = folder.read("state.json", 10_000)
            assert read is not None
            assert read.data.startswith(b'{"id": "r1"')
            assert folder.read_beginning("result.txt", 10) is None
            folder.create("tombstone.json", b"{}")
        root.remove("r1", 10, ("state.json", "tombstone.json"))


def test_every_call_has_a_moment_before_it_and_one_after_it(home: Home) -> None:
    probe = Recording()
    use(ProbedHomes(open_homes, probe), home)
    assert set(probe.reached) == {f"{side}-{call}" for side in ("before", "after") for call in HOMES}
    assert os.listdir(home.root) == []  # noqa: PTH208


@pytest.mark.parametrize("call", HOMES)
@pytest.mark.parametrize("side", ["before", "after"])
def test_a_crash_at_any_moment_leaves_nothing_open(home: Home, side: str, call: str) -> None:
    with pytest.raises(Crashed):
        use(ProbedHomes(open_homes, Recording(dies_at=f"{side}-{call}")), home)
    assert open_below(home.real.resolve()) == []


@pytest.mark.parametrize("call", HOMES)
def test_an_injected_error_is_a_refusal_and_nothing_was_done(home: Home, call: str) -> None:
    before = Forest(home)
    with pytest.raises(FolderRefused) as refused:
        use(ProbedHomes(open_homes, Recording(fault=(call, "io-error"))), home)
    assert refused.value.kind is RefusalKind.UNREADABLE
    allowed = {"tombstone.json"} if call == "remove-folder" else set()
    assert {each.path for each in before.harm()} <= allowed
    assert open_below(home.real.resolve()) == []


@pytest.mark.parametrize("lacks", [("windows",), ("dir_fd",), ("O_NOFOLLOW",), ("O_PATH",)])
def test_the_same_port_works_on_another_system_or_says_what_it_cannot_promise(
    home: Home, system: System, lacks: tuple[str, ...]
) -> None:
    from pytest_runcoord.homes.probed import Nobody

    around = Nobody()
    around.system.lack(lacks)
    homes = ProbedHomes(open_homes, Recording(), around)
    with homes.open(home.path, "runs") as root:
        assert bool(root.missing) is (lacks != ("O_PATH",))
    if lacks == ("O_PATH",):
        use(homes, home)
        return
    with pytest.raises(FolderRefused) as refused:
        use(homes, home)
    assert refused.value.kind is RefusalKind.UNSUPPORTED  # of removing, which comes last
    assert (home.root / "r1" / "tombstone.json").exists()


def test_a_fault_of_one_folder_is_not_met_by_another(home: Home) -> None:
    home.folder("r2")
    homes = ProbedHomes(open_homes, Recording(fault=("open-folder r2", "denied")))
    with homes.open(home.path, "runs") as root:
        root.folder("r1").close()
        with pytest.raises(FolderRefused, match="denied"):
            root.folder("r2")


# --- in a process of its own ---


def test_a_process_tells_its_world_what_it_has_open_outside_writes_and_leaves_open(home: Home) -> None:
    told: list[tuple[str, list[str]]] = []
    lookout = Lookout(home.real.parents[1], lambda what, paths: told.append((what, paths)))
    homes = ProbedHomes(open_homes, Recording(), lookout)
    with homes.open(home.path, "runs") as root, root.folder("r1") as folder:
        assert told == []  # nothing is outside yet
        home.link("r1", "result", "outside")
        held = os.open(home.outside.path / "1", os.O_PATH | os.O_CLOEXEC)
        folder.create("tombstone.json", b"{}")
        os.close(held)
        lookout.look_behind()
    runs = str(home.root.resolve())
    assert told == [
        ("writes", ["r1", "tombstone.json"]),
        ("looked", [str(home.outside.path.resolve() / "1")]),
        ("left open", [runs, f"{runs}/r1"]),
    ]


# --- file systems without case ---


def test_names_in_another_case_are_found_and_nothing_is_made_beside_them(home: Home) -> None:
    (home.root / "r1" / "state.json").rename(home.root / "r1" / "State.JSON")
    (home.root / "r1" / "Tombstone.json").touch()
    with IgnoringCase(open_homes()).open(home.path, "RUNS") as root:
        assert root.names(10).names == ["r1"]
        seen = root.seen("R1", "state.json")
        assert seen is not None
        assert root.changed({"R1": seen.mark}, "state.json") == []
        with root.folder("R1") as folder:
            read = folder.read("state.json", 10_000)
            assert read is not None
            with pytest.raises(FolderRefused) as refused:
                folder.create("tombstone.json", b"{}")
        assert refused.value.kind is RefusalKind.EXISTS
    assert (home.root / "r1" / "Tombstone.json").read_bytes() == b""


# --- what is outside, and how folders must stay ---


def test_what_is_outside_can_be_recognised_and_must_stay(home: Home) -> None:
    home.link("r1", "state", "outside")
    assert CANARY in (home.root / "r1" / "state.json").read_text("utf-8")
    assert home.outside.harm() == []
    (home.root / "r1" / "state.json").write_text("changed", "utf-8")
    assert [each.what for each in home.outside.harm()] == ["changed"]


def test_a_folder_that_a_step_changes_is_as_it_must_be_and_the_others_are_not_looked_at(home: Home) -> None:
    home.folder("r2")
    forest = Forest(home)
    home.tombstone("r1")
    (home.root / "r2" / "more").touch()
    forest.remember("r1")
    assert [str(each) for each in forest.harm()] == ["home: r2/more is new"]
    assert forest.harm() == []


def test_a_whole_folder_that_is_gone_is_told_with_whether_it_had_a_tombstone(home: Home) -> None:
    home.tombstone("r1")
    forest = Forest(home)
    home.remove("r1")
    harm = forest.harm()
    assert {each.what for each in harm} == {"gone"}
    assert all(each.had_tombstone for each in harm)
