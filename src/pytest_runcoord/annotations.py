"""Annotations on a pull request, as GitHub Actions reads them from a job's output.

One line each: ``::error file=…,line=…,col=…,title=…::message``. GitHub shows at most ten of a kind from one
step, so what is alike is one annotation, and the rest is counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

MOST_OF_A_KIND = 10
"""Annotations of one level that GitHub takes from one step; further ones it drops without a word."""
MAX_MESSAGE = 2_000
"""Characters of a message; the log has all of it."""
MAX_TITLE = 200
MOST_VARIANTS = 5
"""Variants that one annotation names."""
TITLE = "runcoord"


@dataclass(frozen=True, slots=True)
class Annotation:
    """What is said of one place. ``line`` and ``column`` count from 1 and are 0 where they are not known."""

    level: str
    """``error``, ``warning`` or ``notice``."""
    title: str
    message: str
    path: Path | None = None
    line: int = 0
    column: int = 0
    variant: str = ""


def lines(annotations: Iterable[Annotation], workspace: Path) -> list[str]:
    """The lines to print. ``workspace`` is the root of the repository; files outside of it cannot be
    annotated, and are named in the message."""
    alike: dict[tuple[str, str, str, Path | None, int, int], list[str]] = {}
    for each in annotations:
        key = (each.level, each.title, each.message, each.path, each.line, each.column)
        alike.setdefault(key, []).append(each.variant)
    levels: dict[str, list[str]] = {}
    for (level, title, message, path, line, column), variants in alike.items():
        if len(variants) > 1:
            named = ", ".join(variants[:MOST_VARIANTS])
            more = f" and {len(variants) - MOST_VARIANTS} more" if len(variants) > MOST_VARIANTS else ""
            message = f"{message} (in {len(variants)} variants: {named}{more})"
        levels.setdefault(level, []).append(
            _line(Annotation(level, title, message, path, line, column), workspace)
        )
    return [line for level, found in levels.items() for line in _first_of(level, found)]


def _first_of(level: str, found: list[str]) -> list[str]:
    if len(found) <= MOST_OF_A_KIND:
        return found
    left = len(found) - MOST_OF_A_KIND + 1
    said = Annotation(level, TITLE, f"{left} more are not annotated: see the end of the log")
    return [*found[: MOST_OF_A_KIND - 1], _line(said, Path("/"))]


def _line(each: Annotation, workspace: Path) -> str:
    properties: dict[str, str] = {}
    message = each.message[:MAX_MESSAGE]
    if each.path is not None:
        if (inside := _inside(each.path, workspace)) is not None:
            properties["file"] = inside.as_posix()
            if each.line > 0:
                properties["line"] = str(each.line)
                if each.column > 0:
                    properties["col"] = str(each.column)
        else:
            message = f"{each.path}:{each.line}: {message}" if each.line else f"{each.path}: {message}"
    properties["title"] = each.title[:MAX_TITLE]
    said = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{each.level} {said}::{_data(message)}"


def _inside(path: Path, workspace: Path) -> Path | None:
    """Where in the repository a file is, also if one of both is reached by a link."""
    for file, root in ((path, workspace), (path.resolve(), workspace.resolve())):
        if file.is_relative_to(root):
            return file.relative_to(root)
    return None


def _data(text: str) -> str:
    """What stands after the second ``::``; control characters could make another command of it."""
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return "".join(each if each.isprintable() else " " for each in text)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
