"""Opening a home: resolved once, then held, or by paths where nothing can be held."""

from __future__ import annotations

import os

from runcoord._core.layouts import parts_of
from runcoord._home_ports import FolderRefused, OpenRoot, RefusalKind
from runcoord._homes.capabilities import unable_to_hold
from runcoord._homes.paths import open_by_path
from runcoord._homes.pinned import open_pinned
from runcoord._homes.refusing import refusal, unusable


class SystemHomes:
    """The homes of this machine."""

    def open(self, home: str, root: str) -> OpenRoot:
        parts = parts_of(root)
        for part in parts:
            wrong = unusable(part)
            if wrong is not None:
                raise wrong
        resolved = _resolved(home)
        path = os.path.join(resolved, *parts)
        lacking = unable_to_hold()
        if lacking:
            return open_by_path(resolved, parts, path, lacking)
        return open_pinned(resolved, parts, path)


def _resolved(home: str) -> str:
    """The one time that links are followed: the operator names the home, and may name it through them."""
    if not home or "\0" in home:
        raise FolderRefused(RefusalKind.NAME, f"{home!r} is not the name of a home")
    try:
        return os.path.realpath(home, strict=True)
    except OSError as error:
        raise refusal(error, home) from error
    except ValueError as error:
        raise FolderRefused(RefusalKind.NAME, f"{home!r}: {error}") from error
