"""What the library logs while a scenario runs."""

from __future__ import annotations

import logging

LIBRARY = "runcoord"
MAX_RECORDS = 5_000
"""Records that are kept of one scenario; later ones are only counted."""


class Logbook(logging.Handler):
    """Keeps every record of the library, of every level, until it is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []
        self.dropped = 0
        self._log = logging.getLogger(LIBRARY)
        self._level = self._log.level
        self._log.addHandler(self)
        self._log.setLevel(logging.DEBUG)

    def emit(self, record: logging.LogRecord) -> None:
        if len(self.records) < MAX_RECORDS:
            self.records.append(record)
        else:
            self.dropped += 1

    def close(self) -> None:
        self._log.removeHandler(self)
        self._log.setLevel(self._level)
        super().close()
