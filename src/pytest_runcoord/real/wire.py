"""JSON lines over a pair of pipes: one message a line, in both directions."""

from __future__ import annotations

import json
import os
import select
import time
from typing import Any

MAX_LINE_BYTES = 64 * 1024 * 1024
"""Longest message; a snapshot of a thousand runs with results at their limit fits."""
READ_BYTES = 64 * 1024

_now = time.monotonic


class WireClosed(Exception):
    """The other side has closed its end, or is gone."""


class WireTimeout(Exception):
    """The other side did not answer in time."""


class Wire:
    """One end. ``seconds`` bounds the wait for one message, in real time; ``None`` waits for the other side
    for as long as it lives (its death ends the wait)."""

    def __init__(self, read: int, write: int, seconds: float | None) -> None:
        self._read, self._write, self._seconds = read, write, seconds
        self._rest = b""

    def send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
        try:
            while data:
                data = data[os.write(self._write, data) :]
        except (BrokenPipeError, OSError) as error:
            raise WireClosed(str(error)) from error

    def receive(self) -> dict[str, Any]:
        end = None if self._seconds is None else _now() + self._seconds
        while b"\n" not in self._rest:
            if end is not None and not select.select([self._read], [], [], max(0.0, end - _now()))[0]:
                raise WireTimeout(f"no answer within {self._seconds:g} s")
            try:
                data = os.read(self._read, READ_BYTES)
            except OSError as error:
                raise WireClosed(str(error)) from error
            if not data:
                raise WireClosed("the other side is gone")
            self._rest += data
            if len(self._rest) > MAX_LINE_BYTES:
                raise WireClosed("a message is longer than its bound")
        line, _, self._rest = self._rest.partition(b"\n")
        message: dict[str, Any] = json.loads(line.decode("utf-8", "surrogatepass"))
        return message
