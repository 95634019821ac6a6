"""What a program did wrong, and what it refused, as errors that say what was read and how it ended."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_runcoord.subjects.lines import RUNNING
from pytest_runcoord.world_errors import SubjectFault
from runcoord.errors import Happened, RuncoordError

SHOWN_BYTES = 200
"""Bytes of a line that a report shows."""
SHOWN_LINES = 10
"""Lines of standard error that a report shows; ``runcoord speak`` shows all that are kept."""
BRIEF_CHARACTERS = 80
"""Characters of a line, and of the last words, in a message of one line."""
MAX_MESSAGE_CHARACTERS = 1_000
"""Characters of what a program says in words, of a refusal or an error; more is cut off."""


class ProgramFault(SubjectFault):
    """A program did not keep to the protocol, or died.

    ``read`` is the line that was wrong, or what there is of one, ``how`` how the process ended, and
    ``stderr`` what it said last.
    """

    def __init__(
        self,
        program: str,
        verb: str,
        problem: str,
        *,
        read: bytes = b"",
        how: str = "",
        stderr: Sequence[str] = (),
        remedy: str = "",
    ) -> None:
        last = [each.strip() for each in stderr if each.strip("~^ \t")]
        parts = [f"it wrote {shown(read, BRIEF_CHARACTERS)}"] if read else []
        parts += [how] if how and how != RUNNING else []
        parts += [cut(last[-1], BRIEF_CHARACTERS)] if last else []
        seen = [f"it wrote {shown(read, SHOWN_BYTES)}"] if read else []
        seen += [how] if how else []
        seen += ["its standard error ends with: " + " / ".join(last[-SHOWN_LINES:])] if last else []
        super().__init__(
            verb,
            subject=program,
            problem=f"{problem} ({'; '.join(parts)})" if parts else problem,
            expected="one line of JSON that answers",
            seen="; ".join(seen),
            remedy=remedy,
        )
        self._said = {"program": program, "verb": verb, "problem": problem, "remedy": remedy}
        self._read, self._how, self.stderr = read, how, tuple(stderr)

    def again(self) -> ProgramFault:
        """The same, to be raised once more."""
        made = ProgramFault(**self._said, read=self._read, how=self._how, stderr=self.stderr)
        made.__cause__ = self
        return made


class ProgramRefusal(RuncoordError):
    """A program refused a request; ``refusal`` is the name for it that scenarios use."""

    def __init__(self, refusal: str, message: str, happened: str, details: Mapping[str, Any]) -> None:
        super().__init__(
            cut(message, MAX_MESSAGE_CHARACTERS) or refusal, happened=Happened(happened), **details
        )
        self.refusal = refusal


def cut(text: str, most: int) -> str:
    """A text of at most so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def written(line: Mapping[str, Any]) -> bytes:
    """A line as it was written, or one that means the same."""
    return json.dumps(line).encode()


def shown(read: bytes, most: int) -> str:
    """What was read, as any terminal can show it."""
    text = read[:most].decode("utf-8", "backslashreplace")
    text = "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
    return f"'{text}'" if len(read) <= most else f"'{text}…'"
