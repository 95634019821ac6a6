"""Imports go downwards only, inside functions too, and nobody sees more than the layer allows.

The ladder is the table ``LADDER``; a new part of ``runcoord`` takes its place there.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from source_tree import ROOT, SOURCE, Tree, planted, read_tree

#: Lowest first. Parts on one step are strangers: none imports another. A part is a module or a package with
#: all that is inside it; ``runcoord`` stands for the file ``runcoord/__init__.py`` alone.
LADDER: tuple[frozenset[str], ...] = (
    frozenset(
        {"runcoord.errors", "runcoord._late", "runcoord._paths", "runcoord._spans", "runcoord._version"}
    ),
    frozenset({"runcoord._core"}),
    frozenset(
        {
            "runcoord._home_ports",
            "runcoord._keys",
            "runcoord._log",
            "runcoord._process_ports",
            "runcoord._store_ports",
            "runcoord.values",
        }
    ),
    frozenset({"runcoord.ports"}),
    frozenset(
        {
            "runcoord._answers",
            "runcoord._bounded",
            "runcoord._changes",
            "runcoord._clock",
            "runcoord._git",
            "runcoord._homes",
            "runcoord._processes",
            "runcoord._stores",
            "runcoord._ticker",
        }
    ),
    frozenset({"runcoord._lookups", "runcoord._probing", "runcoord._registration"}),
    frozenset({"runcoord._async_calls", "runcoord._coordinator", "runcoord._teardown"}),
    frozenset({"runcoord._sender", "runcoord._shim"}),
    frozenset({"runcoord._heartbeat", "runcoord._launching", "runcoord._outbox"}),
    frozenset({"runcoord._ending_trees", "runcoord._putting_back"}),
    frozenset({"runcoord._cleaning", "runcoord._deaths", "runcoord._importer"}),
    frozenset(
        {
            "runcoord._executor",
            "runcoord._recoverer",
        }
    ),
    frozenset({"runcoord._folder_verbs", "runcoord._maintenance", "runcoord._supervisor"}),
    frozenset({"runcoord._assembly"}),
    frozenset({"runcoord"}),
    frozenset({"runcoord.testing"}),
    frozenset({"runcoord.cli"}),
    frozenset({"runcoord.__main__"}),
    frozenset({"pytest_runcoord"}),
)

#: The hook that only pytest calls, when it has taken the library for the plugin.
ONLY_INSIDE_PYTEST = frozenset({("runcoord", "pytest", False)})

#: What the harness may see of the library: what any other project may see too.
PUBLIC = frozenset({"runcoord", "runcoord.errors", "runcoord.ports", "runcoord.testing", "runcoord.values"})

#: Standard library modules without clock, chance, input or output: no ``datetime``, because of its ``now()``.
ALLOWED_IN_CORE = frozenset({("runcoord._core.values", "sys")})
"""A method that is made late gets the names of the module that its class was declared in."""
PURE = frozenset(
    {
        "__future__",
        "_sha2",
        "_sha256",
        "abc",
        "base64",
        "bisect",
        "collections",
        "copy",
        "dataclasses",
        "decimal",
        "enum",
        "functools",
        "hashlib",
        "heapq",
        "itertools",
        "json",
        "math",
        "operator",
        "re",
        "string",
        "types",
        "typing",
        "unicodedata",
    }
)

#: Third-party packages of a plain ``pip install runcoord``. The library must work with these alone;
#: ``runcoord.testing`` belongs to the extra ``pytest``.
BASE_DEPENDENCIES = frozenset({"click", "psutil", "rich", "yaml"})

#: Modules of the standard library that not every supported Python has; the absence of one is expected.
OF_SOME_PYTHONS = frozenset({"_sha2", "_sha256"})

#: What the modules that pytest loads at start may import outside of functions: pytest, and standard library
#: modules that pytest itself has loaded by then.
AT_PYTEST_START = frozenset(
    {
        "__future__",
        "argparse",
        "collections",
        "contextlib",
        "dataclasses",
        "enum",
        "functools",
        "importlib",
        "os",
        "pathlib",
        "pytest",
        "re",
        "sys",
        "types",
        "typing",
        "warnings",
    }
)
LOADED_AT_PYTEST_START = ("pytest_runcoord", "pytest_runcoord.plugin")

#: Never loaded by loading the plugin, not even through something else.
HEAVY = frozenset(
    {"click", "freezegun", "hypothesis", "psutil", "pyfakefs", "rich", "runcoord", "sqlite3", "yaml"}
)


def is_ours(module: str) -> bool:
    return module.partition(".")[0] in {"runcoord", "pytest_runcoord"}


def part_of(module: str) -> str | None:
    """The part of the ladder that a module belongs to; None when it has no place there."""
    parts = frozenset().union(*LADDER)
    name = module
    while name:
        if name in parts and (name == module or name != "runcoord"):
            return name
        name = name.rpartition(".")[0]
    return None


def step_of(part: str) -> int:
    return next(step for step, parts in enumerate(LADDER) if part in parts)


def without_a_place(tree: Tree) -> list[str]:
    return [f"{module} has no place in the ladder" for module in tree.files if part_of(module) is None]


def not_downwards(tree: Tree) -> list[str]:
    findings = []
    for each in tree.imports:
        importer = part_of(each.importer)
        target = part_of(each.target) if is_ours(each.target) else importer
        if target is None:
            findings.append(f"{each}, which has no place in the ladder")
        elif importer is not None and target != importer and step_of(target) >= step_of(importer):
            findings.append(f"{each}, which is not below it")
    return findings


def cycles(tree: Tree) -> list[str]:
    """Each cycle once, as a path; found by taking away modules that import nothing that is left."""
    targets: dict[str, set[str]] = {module: set() for module in tree.files}
    for each in tree.imports:
        if each.target in targets and each.target != each.importer:
            targets[each.importer].add(each.target)
    while leaves := [module for module, below in targets.items() if not below]:
        for leaf in leaves:
            del targets[leaf]
        for below in targets.values():
            below.difference_update(leaves)
    findings = []
    while targets:
        path = [min(targets)]
        while (following := min(targets[path[-1]] & targets.keys(), default="")) and following not in path:
            path.append(following)
        if following:
            findings.append(" -> ".join([*path[path.index(following) :], following]))
        for module in path:
            del targets[module]
    return findings


def impure_core(tree: Tree) -> list[str]:
    findings = []
    for each in tree.imports:
        if part_of(each.importer) != "runcoord._core":
            continue
        pure = each.target.partition(".")[0] in PURE or (each.importer, each.target) in ALLOWED_IN_CORE
        if not pure and part_of(each.target) not in {"runcoord._core", "runcoord.errors"}:
            findings.append(f"{each}: the core takes values and gives values")
    return findings


def beyond_the_public(tree: Tree) -> list[str]:
    findings = []
    for each in tree.imports:
        if not is_ours(each.importer) or not is_ours(each.target):
            continue
        inside = part_of(each.importer) == "pytest_runcoord"
        if inside and part_of(each.target) not in PUBLIC | {"pytest_runcoord"}:
            findings.append(f"{each}: the harness sees only what any project may see")
        if not inside and part_of(each.target) == "runcoord.testing" != part_of(each.importer):
            findings.append(f"{each}: production does not rest on doubles")
    return findings


def beyond_the_base_install(tree: Tree) -> list[str]:
    allowed = sys.stdlib_module_names | OF_SOME_PYTHONS | BASE_DEPENDENCIES | {"runcoord"}
    return [
        f"{each}: a plain install of runcoord does not have it"
        for each in tree.imports
        if part_of(each.importer) not in {"runcoord.testing", "pytest_runcoord"}
        and (each.importer, each.target, each.at_load) not in ONLY_INSIDE_PYTEST
        and each.target.partition(".")[0] not in allowed
    ]


def heavy_at_start(tree: Tree) -> list[str]:
    return [
        f"{each}: import it where it is first used"
        for each in tree.imports
        if each.importer in LOADED_AT_PYTEST_START
        and each.at_load
        and each.target.partition(".")[0] not in AT_PYTEST_START
    ]


@pytest.fixture(scope="module")
def tree() -> Tree:
    return read_tree(SOURCE)


def test_every_module_has_a_place_in_the_ladder(tree: Tree) -> None:
    assert len(tree.files) >= 2
    assert without_a_place(tree) == []


def test_imports_go_downwards_only(tree: Tree) -> None:
    assert not_downwards(tree) == []


def test_no_modules_import_each_other_in_a_circle(tree: Tree) -> None:
    assert cycles(tree) == []


def test_the_core_imports_only_pure_parts_the_errors_and_itself(tree: Tree) -> None:
    assert impure_core(tree) == []


def test_the_harness_sees_only_the_public_modules_and_production_sees_no_doubles(tree: Tree) -> None:
    assert beyond_the_public(tree) == []


def test_the_library_imports_nothing_that_a_plain_install_lacks(tree: Tree) -> None:
    assert beyond_the_base_install(tree) == []


def test_the_plugin_imports_only_pytest_and_a_few_standard_modules_at_load(tree: Tree) -> None:
    assert set(LOADED_AT_PYTEST_START) <= set(tree.files)
    assert heavy_at_start(tree) == []


def test_loading_the_plugin_loads_nothing_heavy_not_even_through_something_else() -> None:
    code = "import sys, pytest_runcoord.plugin; print(*{name.partition('.')[0] for name in sys.modules})"
    shown = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        cwd=ROOT / "tests",
    )
    loaded = set(shown.stdout.split())
    assert "pytest_runcoord" in loaded
    assert loaded & HEAVY == set()


# The checks themselves, on small trees with one fault each.

UPWARD = {
    "at the top": "from runcoord._coordinator import Coordinator\n",
    "inside a function": "def late():\n    import runcoord._coordinator\n",
    "for a type only": "import typing\nif typing.TYPE_CHECKING:\n    import runcoord._coordinator\n",
    "as a relative import": "from .. import _coordinator\n",
    "as a relative import of a name": "from .._coordinator import Coordinator\n",
    "by its name as text": "import importlib\nx = importlib.import_module('runcoord._coordinator')\n",
    "of the package itself": "from runcoord import Coordinator\n",
}


@pytest.mark.parametrize("text", UPWARD.values(), ids=[how.replace(" ", "-") for how in UPWARD])
def test_an_upward_import_is_found(tmp_path: Path, text: str) -> None:
    files = {"runcoord/__init__.py": "", "runcoord/_stores/a.py": text, "runcoord/_coordinator.py": "X = 1\n"}
    [finding] = not_downwards(planted(tmp_path, files))
    assert finding.startswith("runcoord._stores.a (line ")
    assert finding.endswith("which is not below it")


def test_a_downward_import_and_a_late_third_party_one_are_fine(tmp_path: Path) -> None:
    files = {
        "runcoord/_stores/__init__.py": "from runcoord import errors\nfrom ._rows import Row\n",
        "runcoord/_stores/_rows.py": "from ..ports import Store\ndef late():\n    import psutil\n",
        "runcoord/errors.py": "",
        "runcoord/ports.py": "from runcoord.errors import X\n",
        "runcoord/__init__.py": "from runcoord._stores import Row\n",
    }
    tree = planted(tmp_path, files)
    assert [*not_downwards(tree), *cycles(tree), *without_a_place(tree), *beyond_the_base_install(tree)] == []


@pytest.mark.parametrize("other", ["_processes", "_homes", "_git", "_clock", "_shim"])
def test_strangers_on_one_step_may_not_import_each_other(tmp_path: Path, other: str) -> None:
    files = {"runcoord/_stores.py": f"import runcoord.{other}\n", f"runcoord/{other}.py": ""}
    assert len(not_downwards(planted(tmp_path, files))) == 1


def test_a_module_without_a_place_is_found(tmp_path: Path) -> None:
    tree = planted(tmp_path, {"runcoord/_novelty.py": "", "runcoord/cli.py": "import runcoord._elsewhere\n"})
    assert without_a_place(tree) == ["runcoord._novelty has no place in the ladder"]
    [finding] = not_downwards(tree)
    assert "runcoord._elsewhere, which has no place" in finding


def test_a_circle_is_found_also_when_it_hides_in_a_function(tmp_path: Path) -> None:
    files = {
        "runcoord/_core/a.py": "from runcoord._core import b\n",
        "runcoord/_core/b.py": "from . import c\n",
        "runcoord/_core/c.py": "def late():\n    from runcoord._core.a import X\n",
        "runcoord/_core/d.py": "from runcoord._core import a\n",
    }
    assert cycles(planted(tmp_path, files)) == [
        "runcoord._core.a -> runcoord._core.b -> runcoord._core.c -> runcoord._core.a"
    ]


def test_every_circle_is_found_not_only_the_first(tmp_path: Path) -> None:
    files = {
        f"runcoord/_core/{a}.py": f"from runcoord._core import {b}\n" for a, b in ("ab", "ba", "cd", "dc")
    }
    assert len(cycles(planted(tmp_path, files))) == 2


@pytest.mark.parametrize("name", ["time", "random", "os", "sqlite3", "logging", "datetime", "uuid", "yaml"])
def test_an_impure_import_of_the_core_is_found(tmp_path: Path, name: str) -> None:
    assert len(impure_core(planted(tmp_path, {"runcoord/_core/a.py": f"import {name}\nimport math\n"}))) == 1


@pytest.mark.parametrize("text", ["from runcoord import _core\n", "from runcoord._stores.sqlite import X\n"])
def test_a_private_import_of_the_harness_is_found(tmp_path: Path, text: str) -> None:
    tree = planted(tmp_path, {"pytest_runcoord/a.py": text, "runcoord/_core/__init__.py": ""})
    assert len(beyond_the_public(tree)) == 1


def test_production_that_imports_the_doubles_is_found(tmp_path: Path) -> None:
    tree = planted(tmp_path, {"runcoord/cli.py": "from runcoord.testing import MemoryStore\n"})
    assert len(beyond_the_public(tree)) == 1


def test_an_import_that_a_plain_install_lacks_is_found(tmp_path: Path) -> None:
    files = {"runcoord/cli.py": "def late():\n    import pytest\n", "runcoord/testing.py": "import pytest\n"}
    [finding] = beyond_the_base_install(planted(tmp_path, files))
    assert finding.startswith("runcoord.cli (line 2) imports pytest")


def test_a_heavy_import_at_load_is_found_and_a_late_one_is_fine(tmp_path: Path) -> None:
    text = "try:\n    import yaml\nexcept ImportError:\n    yaml = None\ndef late():\n    import rich\n"
    [finding] = heavy_at_start(planted(tmp_path, {"pytest_runcoord/plugin.py": text}))
    assert finding.startswith("pytest_runcoord.plugin (line 2) imports yaml")
