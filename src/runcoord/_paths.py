"""Paths, without the time that loading :mod:`pathlib` takes."""

from __future__ import annotations

import os


def joined(*parts: str) -> str:
    """As :mod:`pathlib` joins them: an absolute one begins anew, and nothing stands in it twice or says
    nothing."""
    path = os.path.join(*parts)
    root = os.sep if path.startswith(os.sep) else ""
    return root + os.sep.join(part for part in path.split(os.sep) if part not in ("", os.curdir)) or os.curdir
