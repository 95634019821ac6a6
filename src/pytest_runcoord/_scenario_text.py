"""From the bytes of a scenario file to its text: size, encoding, and no character that cannot be seen."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from ._limits import MAX_SCENARIO_BYTES
from ._positions import Position, ScenarioFileError

#: Not in YAML 1.2 at all, or a line break to one reader and not to another, or invisible.
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")

#: Longest first: the mark of UTF-32 begins with that of UTF-16.
_OTHER_ENCODINGS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


def read_bytes(path: Path, shown_as: str) -> bytes:
    """The content of a file, never more than the limit; raises :class:`ScenarioFileError`."""
    start = Position(shown_as, 1, 1)
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_SCENARIO_BYTES + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ScenarioFileError(
            start, f"the file cannot be read: {reason}", "check that it exists and may be read"
        ) from error
    return data


def decode(data: bytes, path: str) -> str:
    """The text of a file; raises :class:`ScenarioFileError` for what is too large or not UTF-8."""
    start = Position(path, 1, 1)
    if len(data) > MAX_SCENARIO_BYTES:
        raise ScenarioFileError(
            start,
            f"the file is larger than {MAX_SCENARIO_BYTES} bytes",
            "split it; large values belong into the code of a step, not into the file",
        )
    for mark, name in _OTHER_ENCODINGS:
        if data.startswith(mark):
            raise ScenarioFileError(start, f"the file is written in {name}", "save it as UTF-8")
    skipped = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    data = data[skipped:]
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        raise ScenarioFileError(
            at_index(before, len(before), path),
            f"byte 0x{data[error.start]:02x} at offset {skipped + error.start} is not UTF-8",
            "save the file as UTF-8",
        ) from error
    unseen = _UNSEEN.search(text)
    if unseen is not None:
        code = f"U+{ord(unseen.group()):04X}"
        raise ScenarioFileError(
            at_index(text, unseen.start(), path),
            f"the character {code} cannot be seen and is not allowed here",
            f'remove it, or write it as an escape in double quotes: "\\u{code[2:]}"',
        )
    return text


def at_index(text: str, index: int, path: str) -> Position:
    """Where a character stands; line breaks are those of YAML: LF, CR and CR LF."""
    lines = re.split("\r\n|\r|\n", text[:index])
    return Position(path, len(lines), len(lines[-1]) + 1)
