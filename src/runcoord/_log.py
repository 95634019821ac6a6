"""Log records that say the same to a person and to a program: the fields are in the text and in ``extra``.

They go to loggers of the standard library. That is loaded with the first record that somebody could read:
loading it takes longer than most of what a short command does.
"""

from __future__ import annotations

import sys

from runcoord._core.texts import storable

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from logging import Logger

DEBUG, INFO, WARNING, ERROR = 10, 20, 30, 40
"""Levels of the standard library, by their fixed numbers."""
UNASKED = WARNING
"""From this level on records are shown also in a program that never heard of logging."""

_handled: list[str] = []
"""Loggers that get a handler which does nothing, as soon as the standard library's logging is loaded."""


class Log:
    """One logger, by its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def logger(self) -> Logger:
        """The standard library's."""
        import logging

        while _handled:
            logging.getLogger(_handled.pop()).addHandler(logging.NullHandler())
        return logging.getLogger(self.name)


def for_programs_only(name: str) -> None:
    """Nothing of this logger and those below it is shown to people, unless the program asks for it."""
    _handled.append(name)


def say(log: Log, level: int, what: str, **fields: object) -> None:
    """One record: ``what``, then every field as ``name=value``. Values of payloads and environments never
    belong in here, only names, numbers and errors. What UTF-8 cannot say is escaped in the text: a handler
    that cannot write a record drops it, and pytest-xdist gives up on a report with such a text in it."""
    if level < UNASKED and "logging" not in sys.modules:
        return  # nobody can have asked for it
    logger = log.logger()
    if logger.isEnabledFor(level):
        shown = storable(" ".join(f"{name}={value}" for name, value in fields.items()))
        logger.log(level, "%s: %s", what, shown, extra=dict(fields), stacklevel=2)
