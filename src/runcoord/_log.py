"""Log records that say the same to a person and to a program: the fields are in the text and in ``extra``."""

from __future__ import annotations

import logging

from runcoord._core.texts import storable


def say(log: logging.Logger, level: int, what: str, **fields: object) -> None:
    """One record: ``what``, then every field as ``name=value``. Values of payloads and environments never
    belong in here, only names, numbers and errors. What UTF-8 cannot say is escaped in the text: a handler
    that cannot write a record drops it, and pytest-xdist gives up on a report with such a text in it."""
    if log.isEnabledFor(level):
        shown = storable(" ".join(f"{name}={value}" for name, value in fields.items()))
        log.log(level, "%s: %s", what, shown, extra=dict(fields), stacklevel=2)
