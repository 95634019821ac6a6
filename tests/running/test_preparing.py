"""What is settled about a command before anything of it exists."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from runcoord._core.lineage import COOKIE_VARIABLE
from runcoord._supervisor.preparing import CommandOrder, Prepared, VariableNames, find_command, prepare
from runcoord.errors import (
    CommandNotExecutable,
    CommandNotFound,
    DepthExceeded,
    DirectoryUnusable,
    InvalidConfiguration,
    InvalidRequest,
)
from runcoord.testing import CountingIds

PLAIN = {"PATH": "/usr/bin:/bin"}


@pytest.fixture(autouse=True)
def outside_of_any_run(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RUNCOORD_DEPTH", "RUNCOORD_MAX_DEPTH", "RUNCOORD_TEARDOWN_GRACE", COOKIE_VARIABLE):
        monkeypatch.delenv(name, raising=False)


def prepared(*argv: str, environment: Mapping[str, str] | None = PLAIN, **more: object) -> Prepared:
    order = CommandOrder(argv or ("true",), environment=environment, **more)  # type: ignore[arg-type]
    return prepare(order, CountingIds())


def program(path: Path, mode: int = 0o755) -> Path:
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


# --- the look-up ---------------------------------------------------------------------------------


def test_a_name_is_looked_for_along_the_path_of_the_command_not_of_this_process(tmp_path: Path) -> None:
    program(tmp_path / "here")
    assert prepared("here", environment={"PATH": f"/nowhere:{tmp_path}"}).executable == f"{tmp_path}/here"
    with pytest.raises(CommandNotFound, match="'here' in any directory of PATH"):
        prepared("here")


def test_what_cannot_be_executed_on_the_path_is_passed_over_and_named_when_there_is_nothing_else(
    tmp_path: Path,
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    program(first / "tool", 0o644)
    with pytest.raises(CommandNotExecutable, match="first/tool cannot be executed: Permission denied"):
        find_command("tool", "/", f"{first}:{second}")
    program(second / "tool")
    assert find_command("tool", "/", f"{first}:{second}") == f"{second}/tool"


def test_a_relative_path_begins_in_the_directory_of_the_command(tmp_path: Path) -> None:
    program(tmp_path / "tool")
    assert Path(prepared("./tool", directory=str(tmp_path)).executable) == tmp_path / "tool"
    with pytest.raises(CommandNotFound, match=r"'\./other'") as refusal:
        prepared("./other", directory=str(tmp_path))
    assert str(tmp_path) in refusal.value.remedy


def test_an_empty_entry_of_the_path_is_the_directory_of_the_command(tmp_path: Path) -> None:
    program(tmp_path / "tool")
    assert Path(find_command("tool", str(tmp_path), "/nowhere:")) == tmp_path / "tool"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("", CommandNotFound),
        ("nothing-of-this-name", CommandNotFound),
        ("/nothing/of/this/name", CommandNotFound),
        ("/etc/passwd/tool", CommandNotFound),
        ("/etc/passwd", CommandNotExecutable),
        ("/etc", CommandNotExecutable),
        ("/dev/null", CommandNotExecutable),
    ],
)
def test_what_is_no_program_is_named_with_its_code(name: str, kind: type[Exception]) -> None:
    with pytest.raises(kind) as refusal:
        prepared(name)
    assert name in str(refusal.value)
    assert refusal.value.details["command"] == name  # type: ignore[attr-defined]


def test_without_a_path_the_system_has_a_default_one() -> None:
    assert os.access(prepared("true", environment={}).executable, os.X_OK)


@pytest.mark.parametrize("argv", [(), ("true", "a\0b"), ("true", 3), ("true", b"x")])
def test_arguments_that_no_program_can_be_given_are_refused(argv: tuple[str, ...]) -> None:
    with pytest.raises(InvalidRequest):
        prepare(CommandOrder(argv, environment=PLAIN), CountingIds())


def test_arguments_that_are_no_utf_8_pass_unchanged_and_are_stored_as_escapes() -> None:
    odd = os.fsdecode(b"\xff")
    command = prepared("true", odd)
    assert command.argv == ("true", odd)
    assert command.payload()["command"] == ["true", "\\xff"]


def test_a_long_command_line_is_stored_in_part() -> None:
    payload = prepared("true", "x" * 5_000, *["y"] * 500).payload()
    shown = payload["command"]
    assert isinstance(shown, list)
    assert (len(shown), len(shown[1]), payload["arguments"]) == (100, 1_003, 501)


# --- the directory -------------------------------------------------------------------------------


def test_the_directory_is_this_process_s_unless_one_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "below").mkdir()
    assert prepared().directory == str(tmp_path)
    assert prepared(directory="below").directory == str(tmp_path / "below")


def test_a_directory_that_cannot_be_entered_is_named(tmp_path: Path) -> None:
    for name in ("missing", str(program(tmp_path / "file"))):
        with pytest.raises(DirectoryUnusable, match="cannot be entered") as refusal:
            prepared(directory=name)
        assert refusal.value.details["directory"] == name


def test_a_current_directory_that_is_gone_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(DirectoryUnusable, match="the current directory cannot be entered"):
        prepared()


# --- the environment -----------------------------------------------------------------------------


def test_what_binds_git_to_a_repository_is_left_out_and_the_rest_passes() -> None:
    around = PLAIN | {
        "GIT_DIR": "/x",
        "GIT_INDEX_FILE": "/y",
        "GIT_CONFIG_KEY_0": "a",
        "GIT_SSH_COMMAND": "ssh -i key",
        "GIT_AUTHOR_NAME": "somebody",
        "TOKEN": "secret",
    }
    environment = prepared(environment=around).environment
    assert {"GIT_DIR", "GIT_INDEX_FILE", "GIT_CONFIG_KEY_0"}.isdisjoint(environment)
    assert {name: environment[name] for name in ("GIT_SSH_COMMAND", "GIT_AUTHOR_NAME", "TOKEN")} == {
        "GIT_SSH_COMMAND": "ssh -i key",
        "GIT_AUTHOR_NAME": "somebody",
        "TOKEN": "secret",
    }


def test_the_depth_and_the_cookie_line_grow_by_one() -> None:
    first = prepared()
    assert (first.environment["RUNCOORD_DEPTH"], first.environment["RUNCOORD_MAX_DEPTH"]) == ("1", "3")
    assert first.environment[COOKIE_VARIABLE] == first.line.own == first.line.lineage
    second = prepare(CommandOrder(("true",), environment=first.environment), CountingIds(100))
    assert second.environment["RUNCOORD_DEPTH"] == "2"
    assert second.line.cookies == (first.line.own, second.line.own)
    assert second.launch_order("").cookie == second.line.own


def test_an_environment_made_anew_does_not_make_a_command_the_first_of_its_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    above = prepared()
    monkeypatch.setenv("RUNCOORD_DEPTH", "2")
    monkeypatch.setenv(COOKIE_VARIABLE, above.line.own)
    below = prepare(CommandOrder(("true",), environment=PLAIN), CountingIds(100))
    assert below.admission.depth == 2
    assert below.line.lineage == above.line.own


def test_values_of_the_environment_are_in_no_text_of_the_command() -> None:
    command = prepared(environment=PLAIN | {"TOKEN": "secret-value"})
    assert "secret-value" not in repr(command)
    assert "secret-value" not in str(command.payload())


@pytest.mark.parametrize(
    "environment", [{"": "x"}, {"A=B": "x"}, {"A": "x\0y"}, {"A\0": "x"}, {"A": 1}, {1: "x"}]
)
def test_what_cannot_be_an_environment_is_refused(environment: dict[str, str]) -> None:
    with pytest.raises(InvalidRequest, match="cannot be a variable"):
        prepared(environment=environment)


# --- the guard and the times ---------------------------------------------------------------------


def test_the_depth_is_guarded_before_anything_is_looked_up(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "runcoord")
    with pytest.raises(DepthExceeded):
        prepared("nothing-of-this-name", environment={"RUNCOORD_DEPTH": "3"}, directory="/missing")
    [record] = caplog.records
    assert (record.levelno, record.__dict__["depth"], record.__dict__["max"]) == (logging.WARNING, 3, 3)


def test_a_malformed_depth_is_refused_without_its_value_anywhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "runcoord")
    with pytest.raises(DepthExceeded) as refusal:
        prepared(environment=PLAIN | {"RUNCOORD_DEPTH": "hunter2"})
    assert refusal.value.details["depth"] == "malformed"
    assert "hunter2" not in f"{refusal.value} {refusal.value.details} {caplog.text}"


def test_variables_of_a_host_take_the_place_of_ours() -> None:
    names = VariableNames("HOST_DEPTH", "HOST_MAX", "HOST_GRACE")
    around = PLAIN | {"HOST_DEPTH": "1", "HOST_MAX": "2", "HOST_GRACE": "7", "RUNCOORD_DEPTH": "9"}
    command = prepared(environment=around, names=names)
    assert (command.environment["HOST_DEPTH"], command.environment["HOST_MAX"]) == ("2", "2")
    assert command.environment["RUNCOORD_DEPTH"] == "9"
    assert command.grace == 7
    with pytest.raises(InvalidConfiguration):
        VariableNames(grace="no name")


def test_an_option_lowers_the_maximum_and_never_raises_it() -> None:
    with pytest.raises(DepthExceeded):
        prepared(max_depth=0)
    assert prepared(max_depth=30).environment["RUNCOORD_MAX_DEPTH"] == "3"


def test_the_grace_is_the_given_one_then_the_environment_s_then_the_default(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert prepared().grace == 5
    assert prepared(environment=PLAIN | {"RUNCOORD_TEARDOWN_GRACE": "2"}).grace == 2
    assert prepared(environment=PLAIN | {"RUNCOORD_TEARDOWN_GRACE": "2"}, grace=0).grace == 0
    assert caplog.records == []
    assert prepared(environment=PLAIN | {"RUNCOORD_TEARDOWN_GRACE": "1.5"}).grace == 5
    [record] = caplog.records
    assert (record.levelno, record.__dict__["seconds"]) == (logging.WARNING, 5)
    assert "1.5" not in record.getMessage()


@pytest.mark.parametrize("grace", [-1, float("nan"), float("inf"), 301, True, "5"])
def test_a_grace_that_is_no_time_is_refused(grace: object) -> None:
    with pytest.raises(InvalidRequest, match="grace is"):
        prepared(grace=grace)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), False, "5"])
def test_a_timeout_that_is_no_time_is_refused(timeout: object) -> None:
    with pytest.raises(InvalidRequest, match="timeout is"):
        prepared(timeout=timeout)
