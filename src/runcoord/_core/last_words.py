"""What a shim writes when its coordinator is gone: how the command ended, for the next recovery.

It informs and authorises nothing: no identity of a process in it is ever signalled.
"""

from __future__ import annotations

from collections.abc import Mapping

from runcoord._core.teardown import TeardownReport, report_from
from runcoord._core.values import value

TYPE_CHECKING = False  # that of typing, which is not loaded for the process that a run hangs on
if TYPE_CHECKING:
    from typing import Any

FORMAT = 1
"""Number of the stored form."""


@value
class LastWords:
    """How a command and its tree ended, as its shim saw it."""

    cookie: str
    """Of the run."""
    executed: bool
    """The command began. False: its gate was never opened, or it could not be executed."""
    status: int | None = None
    """How the command ended, as ``Popen.returncode``; ``None`` when it did not begin, or survived."""
    by_itself: bool = False
    """It ended before the teardown began."""
    interruptions: int = 0
    """How often the terminal's interrupt key was pressed."""
    teardown: TeardownReport | None = None

    def document(self) -> dict[str, Any]:
        """The stored form, of JSON types."""
        return {
            "format": FORMAT,
            "cookie": self.cookie,
            "executed": self.executed,
            "status": self.status,
            "by_itself": self.by_itself,
            "interruptions": self.interruptions,
            "teardown": None if self.teardown is None else self.teardown.document(),
        }


def last_words_from(document: object) -> LastWords | None:
    """The last words in a stored form; ``None`` for anything that is none, which then says nothing."""
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        return None
    status = document.get("status")
    if status is not None and not (_is_count(status, -255) and status <= 255):
        return None
    try:
        teardown = document["teardown"]
        executed, by_itself = document["executed"], document["by_itself"]
        if not (isinstance(executed, bool) and isinstance(by_itself, bool)):
            return None
        if not _is_count(document["interruptions"], 0):
            return None
        return LastWords(
            cookie=str(document["cookie"]),
            executed=executed,
            status=status,
            by_itself=by_itself,
            interruptions=document["interruptions"],
            teardown=None if teardown is None else report_from(teardown),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _is_count(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
