"""A failed scenario as pytest shows it: coloured, with file and line, the same under xdist.

pytest carries only its own classes across processes, with the location that the short summary, JUnit and
annotations read. They are private (``_pytest._code.code``, unchanged since pytest 7.4), so this is the one
file that names them; should they move, the report is plain text and everything else goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_runcoord.rendering import FailureText

try:
    from _pytest._code.code import ExceptionChainRepr, ReprEntry, ReprFileLocation, ReprTraceback
except ImportError:  # pragma: no cover - a pytest that does not exist yet
    STRUCTURED = False
else:
    STRUCTURED = True


def failure_report(text: FailureText, style: str = "auto") -> Any:
    """What ``repr_failure`` returns for ``text``: pytest's own classes, or a string.

    ``style`` is that of ``--tb``. With ``line`` pytest prints the location, nothing else belongs there.
    """
    if not STRUCTURED:
        return "\n".join(text.lines())
    location = ReprFileLocation(text.path, text.line, text.message)
    if style == "line":
        return _chain([], location)
    # "short" puts the location first and paints its E lines red; "value" leaves lines as they are, where the
    # other styles would paint them as Python.
    entries = [ReprEntry([], None, None, location, "short")]
    entries += _entry(text.excerpt, red=False)
    entries += _entry(text.verdict, red=True)
    entries += _entry([*text.history, "", *text.rerun] if text.history else text.rerun, red=False)
    return _chain(entries, location)


def collection_report(path: str, line: int, message: str, lines: Sequence[str]) -> Any:
    """The same for a file that cannot be read; ``lines`` are all that is shown."""
    if not STRUCTURED:
        return "\n".join(lines)
    return _chain([ReprEntry(lines, None, None, None, "value")], ReprFileLocation(path, line, message))


def _entry(lines: Sequence[str], *, red: bool) -> list[Any]:
    if not lines:
        return []
    if not red:
        return [ReprEntry(["", *lines], None, None, None, "value")]
    blank = ReprEntry([""], None, None, None, "value")
    return [blank, ReprEntry([f"E   {line}" for line in lines], None, None, None, "short")]


def _chain(entries: list[Any], location: Any) -> Any:
    return ExceptionChainRepr([(ReprTraceback(entries, None, "short"), location, None)])
