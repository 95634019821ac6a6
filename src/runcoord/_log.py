"""Log records that say the same to a person and to a program: the fields are in the text and in ``extra``."""

from __future__ import annotations

import logging


def say(log: logging.Logger, level: int, what: str, **fields: object) -> None:
    """One record: ``what``, then every field as ``name=value``. Values of payloads and environments never
    belong in here, only names, numbers and errors."""
    if log.isEnabledFor(level):
        shown = " ".join(f"{name}={value}" for name, value in fields.items())
        log.log(level, "%s: %s", what, shown, extra=dict(fields), stacklevel=2)
