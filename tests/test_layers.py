"""The shape of the source: imports go downwards only, files and functions stay small, names say something.

The rules are read from the source with :mod:`ast`, so nothing is imported, and an import inside a function
counts like any other. The ladder is the table ``LADDER``; a new part of ``runcoord`` takes its place there.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"

#: Lowest first. Parts on one step are strangers: none imports another. A part is a module or a package with
#: all that is inside it; ``runcoord`` stands for the file ``runcoord/__init__.py`` alone.
LADDER: tuple[frozenset[str], ...] = (
    frozenset({"runcoord.errors", "runcoord._version"}),
    frozenset({"runcoord._core"}),
    frozenset({"runcoord.ports"}),
    frozenset(
        {
            "runcoord._clock",
            "runcoord._git",
            "runcoord._homes",
            "runcoord._processes",
            "runcoord._shim",
            "runcoord._stores",
        }
    ),
    frozenset({"runcoord._coordinator"}),
    frozenset({"runcoord._heartbeat", "runcoord._outbox"}),
    frozenset(
        {
            "runcoord._bounded",
            "runcoord._executor",
            "runcoord._importer",
            "runcoord._recoverer",
            "runcoord._supervisor",
        }
    ),
    frozenset({"runcoord._assembly"}),
    frozenset({"runcoord"}),
    frozenset({"runcoord.testing"}),
    frozenset({"runcoord.cli"}),
    frozenset({"runcoord.__main__"}),
    frozenset({"pytest_runcoord"}),
)

#: What the harness may see of the library: what any other project may see too.
PUBLIC = frozenset({"runcoord", "runcoord.errors", "runcoord.ports", "runcoord.testing"})

#: Standard library modules without clock, chance, input or output: no ``datetime``, because of its ``now()``.
PURE = frozenset(
    {
        "__future__",
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

FILE_LINES = 400
FUNCTION_LINES = 70
EMPTY_NAMES = frozenset({"common", "helper", "helpers", "misc", "util", "utils"})


@dataclass(frozen=True)
class Exemption:
    """One file or function that may be longer for a while; past its date it counts as any other."""

    lines: int
    until: date
    why: str


#: Key: what a finding names, ``runcoord/x.py`` or ``runcoord/x.py::Class.method``.
LONGER_FOR_NOW: Mapping[str, Exemption] = {}


@dataclass(frozen=True)
class Import:
    """One import as written: who imports what, in which line, and whether it runs as the module is loaded."""

    importer: str
    target: str
    line: int
    at_load: bool

    def __str__(self) -> str:
        return f"{self.importer} (line {self.line}) imports {self.target}"


@dataclass(frozen=True)
class Tree:
    """The modules below one source folder and their imports."""

    files: Mapping[str, Path]
    imports: tuple[Import, ...]


@dataclass
class _Reader(ast.NodeVisitor):
    """Collects the imports of one module, resolving relative ones and ``from package import module``."""

    module: str
    is_package: bool
    known: frozenset[str]
    found: list[Import] = field(default_factory=list)
    depth: int = 0

    def _add(self, target: str, node: ast.AST) -> None:
        self.found.append(Import(self.module, target, getattr(node, "lineno", 0), at_load=self.depth == 0))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._add(alias.name, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        base = node.module or ""
        if node.level:
            package = self.module if self.is_package else self.module.rpartition(".")[0]
            for _ in range(node.level - 1):
                package = package.rpartition(".")[0]
            base = f"{package}.{base}" if base else package
        for alias in node.names:
            submodule = f"{base}.{alias.name}"
            self._add(submodule if submodule in self.known else base, node)

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in {"import_module", "__import__"} and node.args:
            name = node.args[0]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                self._add(name.value, node)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        # A type is a dependency too, so the ladder counts it; but it costs nothing when the module is loaded.
        test = node.test
        name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
        if name != "TYPE_CHECKING":
            self.generic_visit(node)
            return
        self.depth += 1
        for statement in node.body:
            self.visit(statement)
        self.depth -= 1
        for statement in node.orelse:
            self.visit(statement)

    def _visit_body(self, node: ast.AST) -> None:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1

    visit_FunctionDef = _visit_body
    visit_AsyncFunctionDef = _visit_body
    visit_Lambda = _visit_body


def read_tree(source: Path) -> Tree:
    files: dict[str, Path] = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    known = frozenset(files)
    imports: list[Import] = []
    for module, path in files.items():
        reader = _Reader(module, path.name == "__init__.py", known)
        reader.visit(ast.parse(path.read_bytes(), str(path)))
        imports += reader.found
    return Tree(files, tuple(imports))


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
        pure = each.target.partition(".")[0] in PURE
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
    allowed = sys.stdlib_module_names | BASE_DEPENDENCIES | {"runcoord"}
    return [
        f"{each}: a plain install of runcoord does not have it"
        for each in tree.imports
        if part_of(each.importer) not in {"runcoord.testing", "pytest_runcoord"}
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


def _functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, int]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}{child.name}"
            if not isinstance(child, ast.ClassDef):
                yield name, (child.end_lineno or child.lineno) - child.lineno + 1
            yield from _functions(child, f"{name}.")
        else:
            yield from _functions(child, prefix)


def too_long(source: Path, exemptions: Mapping[str, Exemption], today: date) -> list[str]:
    findings = []
    for path in sorted(source.rglob("*.py")):
        name = path.relative_to(source).as_posix()
        text = path.read_text("utf-8")
        sizes = [(name, len(text.splitlines()), FILE_LINES)]
        sizes += [(f"{name}::{at}", lines, FUNCTION_LINES) for at, lines in _functions(ast.parse(text))]
        for what, lines, limit in sizes:
            exemption = exemptions.get(what)
            if exemption is not None and today <= exemption.until:
                limit = exemption.lines
            if lines > limit:
                findings.append(f"{what} has {lines} lines, the limit is {limit}: split it at a noun")
    return findings


def empty_names(source: Path) -> list[str]:
    found = sorted(path for path in source.rglob("*") if path.suffix in {"", ".py"})
    return [
        f"{path.relative_to(source).as_posix()} says nothing about what is in it"
        for path in found
        if path.stem.strip("_").lower() in EMPTY_NAMES
    ]


@pytest.fixture(scope="module")
def tree() -> Tree:
    return read_tree(SOURCE)


def today() -> date:
    return datetime.now(UTC).date()


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


def test_no_file_and_no_function_is_too_long() -> None:
    assert too_long(SOURCE, LONGER_FOR_NOW, today()) == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert empty_names(SOURCE) == []


# The checks themselves, on small trees with one fault each.


def planted(root: Path, files: Mapping[str, str]) -> Tree:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return read_tree(root)


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


def test_long_files_and_functions_are_found(tmp_path: Path) -> None:
    method = "class A:\n    def f(self):\n" + "        pass\n" * FUNCTION_LINES
    planted(tmp_path, {"a.py": method, "b.py": "x = 1\n" * (FILE_LINES + 1), "c.py": "x = 1\n" * FILE_LINES})
    findings = too_long(tmp_path, {}, date(2026, 1, 1))
    assert [finding.partition(",")[0] for finding in findings] == [
        "a.py::A.f has 71 lines",
        "b.py has 401 lines",
    ]


def test_an_exemption_holds_up_to_its_own_limit_and_its_date(tmp_path: Path) -> None:
    planted(tmp_path, {"b.py": "x = 1\n" * (FILE_LINES + 1)})
    exempt = {"b.py": Exemption(FILE_LINES + 1, until=date(2026, 1, 31), why="to show it")}
    assert too_long(tmp_path, exempt, date(2026, 1, 31)) == []
    assert len(too_long(tmp_path, exempt, date(2026, 2, 1))) == 1
    assert (
        len(too_long(tmp_path, {"b.py": Exemption(400, date(2026, 1, 31), "too low")}, date(2026, 1, 1))) == 1
    )


@pytest.mark.parametrize("name", ["utils.py", "_helpers.py", "misc/__init__.py", "pkg/common.py"])
def test_a_name_that_says_nothing_is_found(tmp_path: Path, name: str) -> None:
    planted(tmp_path, {name: "", "pkg/leases.py": ""})
    assert len(empty_names(tmp_path)) == 1
