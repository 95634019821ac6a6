"""Reading the source without importing it: modules, their imports, the lengths of their functions.

An import inside a function counts like any other, and so do one for a type only and a constant name given to
``import_module``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"


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


def functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, int]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}{child.name}"
            if not isinstance(child, ast.ClassDef):
                yield name, (child.end_lineno or child.lineno) - child.lineno + 1
            yield from functions(child, f"{name}.")
        else:
            yield from functions(child, prefix)


def planted(root: Path, files: Mapping[str, str]) -> Tree:
    """A small tree with a known fault, to try a check on."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return read_tree(root)
