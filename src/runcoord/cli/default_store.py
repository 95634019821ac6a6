"""The user's own store, where none is named."""

from __future__ import annotations

import os
import sys

from runcoord.errors import InvalidConfiguration

STORE_VARIABLE = "RUNCOORD_STORE"
DEFAULT_FILE = "runcoord/runs.db"


def default_store() -> str:
    """The user's own store: in ``XDG_DATA_HOME``, or where the platform keeps a user's data.

    Raises :class:`~runcoord.errors.InvalidConfiguration` when the user has no home directory.
    """
    given = os.environ.get("XDG_DATA_HOME", "")
    if os.path.isabs(given):  # a relative one is to be ignored, says the XDG base directory specification
        return os.path.join(given, DEFAULT_FILE)
    home = os.path.expanduser("~")
    if home.startswith("~"):
        raise InvalidConfiguration(
            "there is no home directory to keep the default store in",
            remedy=f"Name the store: --store PATH, or {STORE_VARIABLE}.",
        )
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", DEFAULT_FILE)
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA", "") or os.path.join(home, "AppData", "Local")
        return os.path.join(local, DEFAULT_FILE)
    return os.path.join(home, ".local", "share", DEFAULT_FILE)


def default_store_text() -> str:
    """The default store for the help text, with ``~`` for the home directory."""
    try:
        path = default_store()
    except InvalidConfiguration:
        return "none: there is no home directory"
    home = os.path.join(os.path.expanduser("~"), "")
    return os.path.join("~", path.removeprefix(home)) if path.startswith(home) else path
