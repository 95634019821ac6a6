"""What importing the library loads, and the names that it finds only when they are asked for."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import runcoord
import runcoord._git
import runcoord._launching

SECONDS = 60.0
"""Longest time that a process of a test may take; only a fault takes that long."""


def printed(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=SECONDS, check=True
    )
    return done.stdout


NOT_FOR_EVERYBODY = {
    "asyncio",
    "click",
    "concurrent.futures",
    "psutil",
    "pytest",
    "rich",
    "socket",
    "uuid",
    "yaml",
}
"""Modules that only some users of the library need; those who do not should not wait for them."""


def loaded_by(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after ``code``."""
    return set(printed(f"{code}\nimport sys\nprint(*sys.modules)").split())


def test_importing_the_library_loads_nothing_of_it_yet() -> None:
    ours = {name for name in loaded_by("import runcoord") if name.startswith("runcoord")}
    assert ours == {"runcoord", "runcoord._late", "runcoord._version"}


def test_importing_the_library_loads_nothing_costly() -> None:
    loaded = loaded_by("import runcoord")
    assert (
        loaded & {"dataclasses", "hashlib", "inspect", "json", "logging", "sqlite3", *NOT_FOR_EVERYBODY}
        == set()
    )


def test_opening_a_coordinator_and_looking_loads_nothing_that_only_others_need(tmp_path: Path) -> None:
    loaded = loaded_by(
        "from runcoord import open_coordinator\n"
        f"with open_coordinator({str(tmp_path / 'runs.db')!r}) as coordinator: coordinator.runs()"
    )
    assert "runcoord._coordinator" in loaded
    assert loaded & {"hashlib", "random", *NOT_FOR_EVERYBODY} == set()


@pytest.mark.parametrize(
    "package", [runcoord, runcoord._git, runcoord._launching], ids=lambda package: package.__name__
)
def test_types_and_places_of_late_names_agree(package: Any) -> None:
    """What a type checker reads, what is found late, and ``__all__`` are three lists of the same names."""
    tree = ast.parse(Path(package.__file__).read_text("utf-8"))
    [types] = [node for node in tree.body if isinstance(node, ast.If)]
    read = {
        alias.name: node.module
        for node in types.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert read.keys() | {"__version__"} & set(package.__all__) == set(package.__all__)
    assert package._NAMES.place_of == read


def test_a_clock_for_tests_is_had_without_the_contract_suites() -> None:
    loaded = loaded_by("from runcoord.testing import ManualClock, MemoryStore")
    assert {name for name in loaded if "contract" in name or name.endswith("process_making")} == set()


def test_every_name_for_tests_is_found() -> None:
    way = "import runcoord.testing as t; print({getattr(t, name).__module__ for name in t.__all__} != set())"
    assert printed(way) == "True\n"


def test_the_public_modules_are_found_on_the_package_without_an_import_of_their_own() -> None:
    way = "import runcoord; print(runcoord.errors.Refused.code, runcoord.ports.Ports.__name__)"
    assert printed(way) == "refused Ports\n"


DECLARING = ("value", "record", "dataclass")


def test_every_value_says_what_it_is() -> None:
    assert runcoord.__file__ is not None
    silent = [
        f"{path.name}: {node.name}"
        for path in sorted(Path(runcoord.__file__).parent.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef) and not ast.get_docstring(node)
        if {ast.unparse(each).partition("(")[0] for each in node.decorator_list}
        & {"value", "record", "dataclass"}
    ]
    assert silent == []


@pytest.mark.parametrize("way", ["from runcoord import AsyncCalls", "import runcoord; runcoord.AsyncCalls"])
def test_the_helper_for_asyncio_is_loaded_when_it_is_asked_for(way: str) -> None:
    assert printed(f"import sys; {way}; print('asyncio' in sys.modules)") == "True\n"


def test_every_public_name_is_there_and_listed() -> None:
    assert set(runcoord.__all__) <= set(dir(runcoord))
    assert [name for name in runcoord.__all__ if not hasattr(runcoord, name)] == []


def test_a_name_that_does_not_exist_is_an_ordinary_error() -> None:
    with pytest.raises(AttributeError, match="module 'runcoord' has no attribute 'Cordinator'"):
        runcoord.Cordinator  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ImportError, match="Cordinator"):
        from runcoord import Cordinator  # type: ignore[attr-defined]  # noqa: F401
