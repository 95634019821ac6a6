"""The global options, help, version, and what starting costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cli.planting import Garden
from cli.shell import PROCESS_SECONDS, Shell, command, environment, in_a_process
from runcoord import __version__
from runcoord.cli.app import COMMANDS
from runcoord.cli.failures import MEANINGS

NAMES = list(COMMANDS)


def test_the_help_names_every_command_exit_code_and_the_store_in_use(path: Path, shell: Shell) -> None:
    answer = shell("--help", env={"XDG_DATA_HOME": "/srv/data"})
    assert answer.code == 0
    for name in NAMES:
        assert f"\n  {name} " in answer.out
    for code, meaning in MEANINGS.items():
        assert f"{int(code):>5}  {meaning}\n" in answer.out
    assert "RUNCOORD_STORE" in answer.out
    assert "default: /srv/data/runcoord/runs.db]" in " ".join(answer.out.split())
    assert not path.exists()


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help_and_takes_the_global_options(shell: Shell, name: str, flag: str) -> None:
    answer = shell(name, flag)
    assert answer.code == 0
    assert answer.out.startswith(f"Usage: runcoord {name} ")
    for option in ("--store", "--json", "--color / --no-color"):
        assert option in answer.out


def test_without_a_command_the_help_is_shown_but_not_as_a_success(shell: Shell) -> None:
    answer = shell()
    assert (answer.code, answer.out) == (2, "")
    assert "Usage: runcoord" in answer.err


def test_the_store_can_be_named_before_and_after_the_command_and_the_later_wins(
    garden: Garden, tmp_path: Path
) -> None:
    garden.accepted("r")
    elsewhere = str(tmp_path / "elsewhere.db")
    here = str(garden.path)
    shell = Shell(tmp_path / "from-the-environment.db")
    assert shell("--store", here, "runs").code == 0
    assert shell("runs", "--store", here).code == 0
    assert shell("--store", elsewhere, "runs", "--store", f"sqlite:///{here}").code == 0
    assert shell("--store", here, "runs", "--store", elsewhere).code == 3
    assert "from-the-environment.db" in shell("runs").err


def test_an_empty_variable_is_no_store(tmp_path: Path) -> None:
    answer = Shell(Path())("runs", env={"RUNCOORD_STORE": "", "XDG_DATA_HOME": str(tmp_path)})
    assert answer.code == 3
    assert str(tmp_path / "runcoord" / "runs.db") in answer.err


def test_an_option_that_names_no_store_is_not_taken_for_the_default_one(garden: Garden, shell: Shell) -> None:
    garden.claimed("r")
    answer = shell("stop", "r", "--store", "", env={"RUNCOORD_STORE": str(garden.path)})
    assert (answer.code, answer.out) == (2, "")
    assert "--store" in answer.err
    assert "names no store" in answer.err
    assert garden.coordinator.run("r").stop_requested_at is None
    assert garden.coordinator.run("r").outcome is None


def test_a_relative_data_directory_is_ignored(tmp_path: Path) -> None:
    answer = Shell(Path())(
        "runs", env={"RUNCOORD_STORE": None, "XDG_DATA_HOME": "data", "HOME": str(tmp_path)}
    )
    assert answer.code == 3
    assert str(tmp_path) in answer.err


@pytest.mark.parametrize("args", [["--json", "runs"], ["runs", "--json"], ["--json", "runs", "--json"]])
def test_json_can_be_asked_for_before_and_after_the_command(
    garden: Garden, shell: Shell, args: list[str]
) -> None:
    garden.accepted("r")
    assert [run["run"] for run in shell(*args).document["runs"]] == ["r"]


def test_the_module_and_the_script_are_the_same_command(garden: Garden) -> None:
    garden.accepted("r")
    script = Path(sys.executable).with_name("runcoord")
    if not script.exists():
        pytest.skip("the distribution is not installed in this environment, so there is no script")
    done = subprocess.run(
        [script, "--version"],
        env=environment(garden.path),
        capture_output=True,
        text=True,
        timeout=PROCESS_SECONDS,
        check=True,
    )
    assert done.stdout == in_a_process(garden.path, "--version").out == f"runcoord {__version__}\n"


LOADED = """
import sys
sys.argv[1:] = {args!r}
try:
    from runcoord.cli import main
    main()
finally:
    print(*sorted(sys.modules), file=sys.stderr)
"""
FEW = 16
"""Collections before the entry point is reached, with room; there were forty and more."""
NEVER = {"asyncio", "concurrent.futures", "hypothesis", "psutil", "pytest", "socket", "yaml"}
OF_THE_STORE = {"hashlib", "json", "pathlib", "runcoord.ports", "sqlite3"}


@pytest.mark.parametrize(
    ("args", "absent"),
    [
        (["--version"], {"rich", "importlib.metadata", *OF_THE_STORE, *NEVER}),
        (["--help"], {"rich", "asyncio"}),  # commands of other packages load what they like
        (["runs", "--help"], {"rich", "importlib.metadata", *NEVER}),
        (["runs", "--json"], {"rich", "importlib.metadata", "hashlib", "random", *NEVER}),
        (
            ["run", "--no-git", "--", "true"],
            {
                *("click", "dataclasses", "hashlib", "inspect", "logging", "traceback", "uuid"),
                *("pathlib", "typing", "urllib.parse", "runcoord._processes.scan"),
                *("rich", "importlib.metadata", "random", "runcoord._git.values", *NEVER),
            },
        ),
        (["show", "none"], {"runcoord.cli.control", "runcoord.cli.events", "hashlib", *NEVER}),
    ],
)
def test_what_an_invocation_does_not_need_is_not_loaded(
    garden: Garden, args: list[str], absent: set[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(args=args)],
        env=environment(garden.path),
        capture_output=True,
        text=True,
        timeout=PROCESS_SECONDS,
        check=False,
    )
    loaded = set(done.stderr.split())
    assert loaded & {"click", "runcoord.cli.run_line"}
    assert loaded & absent == set()


COUNTED = """
import dataclasses, sys
made = []
standard = dataclasses.dataclass
def counted(*given, **how):
    made.append(given)
    return standard(*given, **how)
dataclasses.dataclass = counted
sys.argv[1:] = {args!r}
try:
    from runcoord.cli import main
    main()
finally:
    from runcoord._core.values import _LATE, _Late
    modules = [each for name, each in sys.modules.items() if name.partition(".")[0] == "runcoord"]
    kinds = {{each for module in modules for each in vars(module).values() if isinstance(each, type)}}
    late = [vars(kind).get("__init__") for kind in kinds if "__match_args__" in vars(kind)]
    used = sum(not isinstance(each, _Late) for each in late)
    print(len(sys.modules), len(modules), len(late), used, *made, file=sys.stderr)
"""


def test_starting_true_loads_few_modules_and_builds_no_dataclass(garden: Garden) -> None:
    """Each module costs its start a fifth of a millisecond, a dataclass three times that."""
    done = subprocess.run(
        [sys.executable, "-c", COUNTED.format(args=["run", "--no-git", "--", "true"])],
        env=environment(garden.path),
        capture_output=True,
        text=True,
        timeout=PROCESS_SECONDS,
        check=True,
    )
    modules, ours, values, used, *dataclasses = done.stderr.split()
    assert dataclasses == []
    assert int(modules) <= 225  # with those of the standard library, which differ by version
    assert 50 < int(ours) <= 115
    assert 0 < int(used) <= 64 < int(values)


def test_an_invocation_that_opens_no_store_loads_a_handful_of_our_modules() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(args=["--version"])],
        capture_output=True,
        text=True,
        timeout=PROCESS_SECONDS,
        check=True,
    )
    ours = {name for name in done.stderr.split() if name.startswith("runcoord.")}
    assert ours == {
        f"runcoord.{name}"
        for name in ("_core", "_core.texts", "_core.values", "_late", "_log", "_version", "cli", "errors")
    } | {
        f"runcoord.cli.{name}"
        for name in (
            "app",
            "default_store",
            "ending",
            "failures",
            "global_options",
            "output",
            "session",
            "wording",
        )
    }


COLLECTED = """
import atexit, gc, sys
collections = []
gc.callbacks.append(lambda phase, _: collections.append(phase) if phase == "start" else None)
atexit.register(lambda: print(len(collections), gc.get_freeze_count(), file=sys.stderr))
sys.argv[1:] = ["runs", "--json"]
from runcoord.cli import main
main()
"""


def test_an_invocation_looks_for_no_garbage_while_it_is_loaded_nor_in_the_end(garden: Garden) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COLLECTED],
        env=environment(garden.path),
        capture_output=True,
        text=True,
        timeout=PROCESS_SECONDS,
        check=True,
    )
    collections, frozen = map(int, done.stderr.split()[-2:])
    assert collections <= FEW
    assert frozen > 10_000


def test_importing_the_entry_point_loads_neither_click_nor_rich() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys, runcoord.cli; print(*sys.modules)"],
        capture_output=True,
        text=True,
        timeout=PROCESS_SECONDS,
        check=True,
    )
    assert set(done.stdout.split()) & {"click", "rich"} == set()


def test_completion_of_the_shell_is_there(path: Path) -> None:
    done = subprocess.run(
        command(),
        env=environment(path, _RUNCOORD_COMPLETE="bash_source"),
        capture_output=True,
        text=True,
        timeout=PROCESS_SECONDS,
        check=True,
    )
    assert "_RUNCOORD_COMPLETE=bash_complete" in done.stdout
