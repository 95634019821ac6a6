"""What this system can do about directories, asked when it matters.

A flag that was read when a module was imported says what the system could do then: a mask of a test, or of an
emulated platform, comes later.
"""

from __future__ import annotations

import os

from runcoord._core.values import value


@value
class Flags:
    """Flags for opening; 0 where the system has none of a kind."""

    directory: int
    """To hold a directory, to reach what is in it."""
    listing: int
    """To list a directory."""
    reading: int
    """To read a file: never waits, never becomes the terminal, follows nothing."""
    creating: int


def flags() -> Flags:
    def flag(name: str) -> int:
        return int(getattr(os, name, 0))

    every = flag("O_CLOEXEC") | flag("O_NOFOLLOW") | flag("O_BINARY") | flag("O_NOINHERIT")
    listing = os.O_RDONLY | flag("O_DIRECTORY") | every
    return Flags(
        # Holding it needs no permission to list it.
        directory=(flag("O_PATH") | flag("O_DIRECTORY") | every) if flag("O_PATH") else listing,
        listing=listing,
        reading=os.O_RDONLY | flag("O_NONBLOCK") | flag("O_NOCTTY") | every,
        creating=os.O_WRONLY | os.O_CREAT | os.O_EXCL | every,
    )


_BY_DESCRIPTOR = ("open", "stat", "unlink", "rmdir")


def unable_to_hold() -> str:
    """Why directories cannot be held on this system; empty when they can."""
    lacking = [name for name in ("O_DIRECTORY", "O_NOFOLLOW") if not getattr(os, name, 0)]
    # By name: who replaced a function in ``os`` by one of their own did not take away what it can do.
    able = _names_of(getattr(os, "supports_dir_fd", ()))
    lacking += [f"os.{name} with dir_fd" for name in _BY_DESCRIPTOR if name not in able]
    if "scandir" not in _names_of(getattr(os, "supports_fd", ())):
        lacking.append("os.scandir of a descriptor")
    return ", ".join(lacking)


def _names_of(functions: object) -> frozenset[str]:
    return frozenset(getattr(each, "__name__", "") for each in functions)  # type: ignore[attr-defined]
