"""Writing a file whole or not at all: who has it open, or reads it meanwhile, sees the old one until then."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest


def write_whole(path: Path, text: str) -> None:
    """Write ``text`` to ``path``, or to what that is a link to, with the mode that any new file has. Raises
    ``OSError``, also for a device, which a file would take the place of; then nothing is changed."""
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is no plain file", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    try:
        with open(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def require_file(option: str, path: Path) -> None:
    """Raise :class:`pytest.UsageError` for what cannot be a file that is written at the end."""
    try:
        taken = path.exists() and not path.is_file()
    except OSError as error:  # a name that is too long, or a folder that cannot be looked into
        raise pytest.UsageError(
            f"{option}: {path} cannot be written: {error.strerror or error}. Nothing was run."
        ) from error
    if taken:
        what = "a directory" if path.is_dir() else "no plain file"
        raise pytest.UsageError(f"{option}: {path} is {what}. Nothing was run.")
    require_writable(option, Path(os.path.realpath(path)).parent)


def require_writable(option: str, directory: Path) -> None:
    """Raise :class:`pytest.UsageError` for a directory in which nothing can be written."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise pytest.UsageError(
            f"{option}: {directory} is no directory that can be written: "
            f"{error.strerror or error}. Nothing was run."
        ) from error


def _umask() -> int:
    """The process's mask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
