"""Reading modules as text: their symbols, signatures and docstrings, for the generated pages.

The text rather than the objects, because attributes have no docstring at run time, and because a signature as
written is the same under every version of Python.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType


@dataclass(frozen=True)
class Field:
    """An attribute of a class, or a constant."""

    annotation: str
    doc: str


@dataclass(frozen=True)
class Symbol:
    """A class, a function, or a name that something was assigned to."""

    line: int
    doc: str
    signature: str = ""
    returns: str = ""
    decorators: tuple[str, ...] = ()
    fields: dict[str, Field] = field(default_factory=dict)
    methods: dict[str, Symbol] = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """One module."""

    path: Path
    text: str
    symbols: dict[str, Symbol]


@cache
def module_source(name: str) -> Source:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise LookupError(f"there is no module {name}")
    path = Path(spec.origin)
    text = path.read_text("utf-8")
    return Source(path, text, _symbols(ast.parse(text).body))


def _symbols(body: list[ast.stmt]) -> dict[str, Symbol]:
    found: dict[str, Symbol] = {}
    for index, node in enumerate(body):
        if isinstance(node, ast.ClassDef):
            found[node.name] = Symbol(
                node.lineno,
                ast.get_docstring(node) or "",
                decorators=_decorators(node),
                fields=_fields(node.body),
                methods={n: each for n, each in _symbols(node.body).items() if each.signature},
            )
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found[node.name] = _function(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for name in _targets(node):
                found[name] = Symbol(node.lineno, _doc_after(body, index))
    return found


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Symbol:
    returns = ast.unparse(node.returns) if node.returns is not None else ""
    arguments = re.sub(r"^(self|cls)(, )?", "", ast.unparse(node.args))
    arguments = re.sub(r"(: [\w\[\], |.]+?)=", r"\1 = ", arguments)
    arrow = f" -> {returns}" if returns and returns != "None" else ""
    word = "await " if isinstance(node, ast.AsyncFunctionDef) else ""
    decorators = _decorators(node)
    signature = (
        f"{node.name}{arrow}" if "property" in decorators else f"{word}{node.name}({arguments}){arrow}"
    )
    return Symbol(node.lineno, ast.get_docstring(node) or "", signature, returns, decorators)


def _decorators(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, ...]:
    return tuple(ast.unparse(each) for each in node.decorator_list)


def _fields(body: list[ast.stmt]) -> dict[str, Field]:
    """Annotated attributes, and the members of an enumeration with their values for a type."""
    found: dict[str, Field] = {}
    for index, node in enumerate(body):
        if isinstance(node, ast.AnnAssign):
            found[ast.unparse(node.target)] = Field(ast.unparse(node.annotation), _doc_after(body, index))
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            for name in _targets(node):
                found[name] = Field(str(node.value.value), _doc_after(body, index))
    return found


def _targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [each.id for each in targets if isinstance(each, ast.Name)]


def _doc_after(body: list[ast.stmt], index: int) -> str:
    """The text that stands after an assignment, which is how this project documents one."""
    after = body[index + 1] if index + 1 < len(body) else None
    if (
        isinstance(after, ast.Expr)
        and isinstance(after.value, ast.Constant)
        and isinstance(after.value.value, str)
    ):
        return inspect.cleandoc(after.value.value)
    return ""


SECTION = re.compile(r"^# --- (.+?) -*$")


def constants(module: ModuleType) -> dict[str, dict[str, str]]:
    """The constants of a module with their docs, by the sections that its comments make."""
    source = module_source(module.__name__)
    lines = source.text.splitlines()
    found: dict[str, dict[str, str]] = {}
    for name, symbol in source.symbols.items():
        if name.isupper():
            above = (SECTION.match(line) for line in reversed(lines[: symbol.line]))
            section = next((each.group(1) for each in above if each), "")
            found.setdefault(section, {})[name] = symbol.doc
    return found


# --- docstrings as Markdown -----------------------------------------------------------------------


def markdown(doc: str, *, paragraphs: bool = False) -> str:
    """A docstring as Markdown, on one line unless ``paragraphs`` are wanted."""
    text = re.sub(
        r":\w+:`~?([\w.]+)`", lambda found: f"`{found.group(1).rpartition('.')[2]}`", inspect.cleandoc(doc)
    )
    text = text.replace("``", "`")
    if not paragraphs:
        return one_line(text)
    return "\n\n".join(one_line(each) for each in re.split(r"\n\s*\n", text))


def one_line(text: str) -> str:
    return " ".join(text.split())


def first_paragraph(doc: str) -> str:
    return markdown(re.split(r"\n\s*\n", doc)[0])
