"""The coordinator's side of a run's shim: starting it, talking to it, doing without it if it is gone."""

from __future__ import annotations

from runcoord._launching.last_words import read_last_words
from runcoord._launching.launcher import ShimLauncher

__all__ = ["ShimLauncher", "read_last_words"]
