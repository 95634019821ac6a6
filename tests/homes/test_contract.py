"""Both implementations of homes keep the contract, here and on emulated systems."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
from pyfakefs.fake_filesystem import OSType
from pyfakefs.fake_filesystem_unittest import Patcher

from homes.masking import without_held_directories
from runcoord._homes import open_homes
from runcoord.ports import Homes
from runcoord.testing import HomesContract


class Here(HomesContract):
    """Real directories."""

    around: ExitStack

    def setup_method(self) -> None:
        self.around = ExitStack()
        self.enter()
        super().setup_method()

    def teardown_method(self) -> None:
        try:
            super().teardown_method()
        finally:
            self.around.close()

    def enter(self) -> None:
        """Become another system."""

    def make_homes(self) -> Homes:
        return open_homes()

    def make_place(self) -> str:
        return os.path.realpath(tempfile.mkdtemp(prefix="homes-"))


class TestHeldDirectories(Here):
    def test_nothing_is_missing_on_this_system(self) -> None:
        assert self.opened().missing == ()


class TestSystemWithoutHeldDirectories(Here):
    def enter(self) -> None:
        self.around.enter_context(without_held_directories())

    def test_what_is_missing_is_told(self) -> None:
        missing = " ".join(self.opened().missing)
        assert "O_DIRECTORY" in missing
        assert "pruned" in missing

    def test_what_the_system_can_do_is_asked_each_time(self) -> None:
        self.around.close()
        assert self.opened().missing == ()
        with without_held_directories():
            assert self.opened().missing


class TestSystemWithoutPathDescriptors(Here):
    """As on macOS: a directory is held by opening it for reading."""

    def enter(self) -> None:
        patch = self.around.enter_context(pytest.MonkeyPatch.context())
        patch.delattr(os, "O_PATH")


class Emulated(Here):
    """Reading changes the time of the last change there, which it does on no real system."""

    kind = OSType.LINUX
    test_marks_stay_while_nothing_changes = None
    test_marks_change_with_the_file = None
    test_a_file_is_read_as_it_is = None

    def enter(self) -> None:
        patcher = self.around.enter_context(Patcher())
        assert patcher.fs is not None
        patcher.fs.os = self.kind
        if not patcher.fs.exists("/tmp"):
            patcher.fs.create_dir("/tmp")


class TestEmulatedLinux(Emulated):
    pass


class TestEmulatedMac(Emulated):
    """Names are the same in upper and lower case."""

    kind = OSType.MACOS

    def test_a_folder_is_found_by_the_name_that_it_has(self) -> None:
        self.make("Run-1", state=b"{}")
        assert Path(self.at("RUNS", "run-1")).exists()
        assert self.opened().names(9).names == ["Run-1"]
        assert self.opened().seen("Run-1", "state.json") is not None


class TestEmulatedMacWithoutHeldDirectories(TestEmulatedMac):
    def enter(self) -> None:
        super().enter()
        self.around.enter_context(without_held_directories())
