"""Writing: one JSON document or text for people on standard output, notes and errors on standard error."""

from __future__ import annotations

import io
import math
import os
import re
import sys

from runcoord import Happened
from runcoord.cli.failures import Failure, OutputFailed
from runcoord.cli.wording import is_harmless, printable

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TextIO

    from rich.text import Text

_BEYOND_ASCII = re.compile(r"[^\n\x20-\x7e]")
_UNBOUNDED_COLUMNS = 1_000_000
"""Width handed to the text engine where there is no terminal: wider than any line."""

CHANGED = {
    Happened.NO: "nothing was changed",
    Happened.MAYBE: "it may have happened",
    Happened.YES: "the run was recorded",
}


class Output:
    """The two streams of this process, looked up at every write.

    ``json``: documents for programs instead of text. ``color``: on, off, or (``None``) where it fits.
    """

    def __init__(self) -> None:
        self.json = False
        self.color: bool | None = None

    # --- standard output ---

    @property
    def width(self) -> int | None:
        """Columns of the terminal; ``None`` where the output is no terminal and nothing is to be cut."""
        return _terminal_size().columns if is_terminal(sys.stdout) else None

    @property
    def height(self) -> int | None:
        """Lines of the terminal; ``None`` where the output is no terminal."""
        return _terminal_size().lines if is_terminal(sys.stdout) else None

    def document(self, value: Any) -> None:
        """The one JSON document of a command."""
        _write(sys.stdout, json_text(value, indent=2) + "\n")

    def lines(self, lines: Iterable[Text | str]) -> None:
        """Lines for people, laid out already. Text in them must be printable."""
        _write(sys.stdout, self._rendered(lines, sys.stdout))

    def sentences(self, lines: Iterable[str]) -> None:
        """Sentences for people; long ones are broken between words on a terminal."""
        _write(sys.stdout, self._rendered(_folded(lines, sys.stdout), sys.stdout))

    def exact(self, text: str) -> None:
        """A stored text by itself: as it is where it goes to a file or program, printable on a terminal."""
        if is_terminal(sys.stdout):
            text = printable(text, keep="\n\t").removesuffix("\n") + "\n"
        _write(sys.stdout, text)

    # --- standard error ---

    def note(self, line: str, *, whole: bool = False) -> None:
        """A remark beside the answer, for people only: programs find it in the document. One that is
        ``whole`` stays one line, however long: it has a command to copy."""
        if not self.json:
            styled = [_styled(line, "dim")]
            _write_error(self._rendered(styled if whole else _folded(styled, sys.stderr), sys.stderr))

    def beside(self, line: str) -> None:
        """One plain line beside the output of somebody else's command. Text in it is made printable."""
        _write_error(f"{_COMMAND}: {printable(line)}\n")

    def error_document(self, value: Any) -> None:
        """One line of JSON."""
        _write_error(json_text(value) + "\n")

    def failure(self, failure: Failure) -> None:
        """An error, or a warning that goes with an answer."""
        if self.json:
            _write_error(json_text(failure.document()) + "\n")
            return
        first = _styled("Error:", "bold red")
        first.append(f" {_sentence(printable(failure.problem, keep=_LINE_BREAK))}", "not bold default")
        lines: list[Text | str] = [first]
        if failure.remedy:
            lines.append(f"  {_sentence(printable(failure.remedy))}")
        lines.append(_styled(f"  ({failure.code}; {CHANGED[failure.happened]})", "dim"))
        _write_error(self._rendered(_folded(lines, sys.stderr), sys.stderr))

    # --- rendering ---

    def colored(self, stream: TextIO | None) -> bool:
        """Whether to colour what goes to ``stream``: as told, else on a terminal without ``NO_COLOR``."""
        if self.color is not None:
            return self.color
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        return not plain and is_terminal(stream)

    def _rendered(self, lines: Iterable[Text | str], stream: TextIO | None) -> str:
        from rich.console import Console

        color = self.colored(stream)
        console = Console(
            file=io.StringIO(),
            width=_UNBOUNDED_COLUMNS,
            force_terminal=color,
            color_system="standard" if color else None,
            no_color=not color,
            force_jupyter=False,
            legacy_windows=False,
            highlight=False,
            markup=False,
            emoji=False,
        )
        with console.capture() as captured:
            for line in lines:
                console.print(line, soft_wrap=True)
        return captured.get()


def _styled(text: str, style: str) -> Text:
    from rich.text import Text

    return Text(text, style=style)


def _sentence(text: str) -> str:
    """``text`` with a full stop, unless it ends with a mark of its own or a command to copy."""
    ended = text.endswith((".", "?", "!")) or f"{_COMMAND} " in text.rpartition(": ")[2]
    return text if ended else f"{text}."


_COMMAND = "runcoord"
_LINE_BREAK = "\n"


def _folded(lines: Iterable[Text | str], stream: TextIO | None) -> Iterable[Text | str]:
    """Lines that fit the terminal, broken between words; the rest of an indented line is indented too."""
    if not is_terminal(stream):
        yield from lines
        return
    from rich.text import Text

    from runcoord.cli.tables import wrapped

    width = _terminal_size().columns
    for line in lines:
        text = Text(line) if isinstance(line, str) else line
        indent = len(text.plain) - len(text.plain.lstrip(" "))
        for part in wrapped(text[indent:] if indent else text, width - indent):
            yield Text(" " * indent) + part


def _terminal_size() -> os.terminal_size:
    import shutil  # loads three modules for compression

    return shutil.get_terminal_size()


def is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def tolerate_unencodable() -> None:
    """Let characters that the streams' encoding lacks be written as escapes rather than fail."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON that is safe to look at: no control or invisible character is in it unescaped."""
    import json

    text = json.dumps(_plain(value), ensure_ascii=False, indent=indent, allow_nan=False, default=str)
    return _BEYOND_ASCII.sub(_json_escape, text)


def _plain(value: Any) -> Any:
    """``value`` with numbers that JSON lacks written as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value


def _json_escape(match: re.Match[str]) -> str:
    import json

    character = match.group()
    return character if is_harmless(character) else json.dumps(character)[1:-1]


def _write(stream: TextIO | None, text: str) -> None:
    """Write and flush. A closed pipe is raised as it is; anything else is :class:`OutputFailed`."""
    if stream is None:
        raise OutputFailed("standard output is closed")
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        raise OutputFailed(getattr(error, "strerror", None) or str(error)) from error


def _write_error(text: str) -> None:
    """The same for standard error, where there is nobody left to tell about a failure."""
    try:
        _write(sys.stderr, text)
    except (OutputFailed, BrokenPipeError):
        return
