"""Environments of owners: what each would find in its own, should it look."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from runcoord.values import field, record, value

PROGRAMS = "bin"
"""Directory of the scenario's programs, first in every owner's PATH."""

_ASCII_BLANKS = b" \t\n\r\x0b\x0c"
_NUMERAL = re.compile(rb"\+?[0123456789]{1,10}")
LARGEST_NUMBER = 2**32 - 1


@value
class DepthRead:
    """What an environment says about depth, read by the harness: a subject that reads it wrongly must not
    blind the invariants."""

    depth: int | None
    """``None``: it is no plain number."""
    maximum: int

    @property
    def refuses(self) -> bool:
        return self.depth is None or self.depth >= self.maximum


def plain(value: bytes) -> int | None:
    """ASCII digits, at most ten, up to 2**32-1, with ASCII blanks around and one plus; else ``None``."""
    digits = value.strip(_ASCII_BLANKS)
    if _NUMERAL.fullmatch(digits) is None or int(digits) > LARGEST_NUMBER:
        return None
    return int(digits)


DEFAULT_MAXIMUM = 3
CEILING = 32


def depth_in(environment: Mapping[bytes, bytes], depth: str, maximum: str) -> DepthRead:
    """The depth and the maximum under these names, by the contract of the original."""
    stated, limit = environment.get(depth.encode()), environment.get(maximum.encode())
    most = DEFAULT_MAXIMUM if limit is None else plain(limit)
    return DepthRead(
        0 if stated is None else plain(stated), min(DEFAULT_MAXIMUM if most is None else most, CEILING)
    )


@record
class Environments:
    """The environment that every owner begins with, and what each has otherwise."""

    directory: Path
    own: dict[str, dict[bytes, bytes | None]] = field(default_factory=dict)
    """Variables by owner; ``None``: not set. The name "" stands for all owners."""

    def change(self, owner: str, changes: Mapping[bytes, bytes | None]) -> None:
        """Set and unset variables of one owner, or with "" of all."""
        self.own.setdefault(owner, {}).update(changes)

    def of(self, owner: str) -> dict[bytes, bytes]:
        """The whole environment of an owner: nothing of this process's own but how to find programs."""
        found: dict[bytes, bytes | None] = {**self.plain()}
        found.update(self.own.get("", {}))
        found.update(self.own.get(owner, {}))
        return {name: value for name, value in found.items() if value is not None}

    def plain(self) -> dict[bytes, bytes]:
        """An environment in which nothing is special."""
        path = os.fsencode(f"{self.directory / PROGRAMS}{os.pathsep}{os.environ.get('PATH', os.defpath)}")
        home = os.fsencode(self.directory)
        return {
            b"PATH": path,
            b"HOME": home,
            b"LC_ALL": b"C",
            b"GIT_CONFIG_GLOBAL": os.fsencode(os.devnull),
            b"GIT_CONFIG_NOSYSTEM": b"1",
        }

    def program(self, name: str) -> None:
        """Put a file there that can be executed, as far as anybody can tell who does not execute it."""
        path = self.directory / PROGRAMS / name
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            path.write_text("#!/bin/false\n", "utf-8")
            path.chmod(0o755)


@contextlib.contextmanager
def worn(
    environment: Mapping[bytes, bytes], keep: Callable[[dict[bytes, bytes | None]], None]
) -> Iterator[None]:
    """For a moment this process's environment is that of an owner which lives in it. What is changed of it
    meanwhile is given to ``keep``: a process keeps the environment that it changes."""
    before = dict(os.environb)
    os.environb.clear()
    os.environb.update(environment)
    try:
        yield
    finally:
        after: dict[bytes, bytes | None] = dict(os.environb)
        os.environb.clear()
        os.environb.update(before)
        gone = {name: None for name in environment if name not in after}
        changed = {name: value for name, value in after.items() if environment.get(name) != value}
        if gone or changed:
            keep({**changed, **gone})
