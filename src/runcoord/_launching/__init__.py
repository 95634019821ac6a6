"""The coordinator's side of a run's shim: starting it, talking to it, doing without it if it is gone."""

from __future__ import annotations

from runcoord._launching.last_words import read_last_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from runcoord._launching.launcher import ShimLauncher
else:

    def __getattr__(name: str) -> object:
        # Found when it is asked for: recovery reads last words also on systems that have no shims.
        if name != "ShimLauncher":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from runcoord._launching.launcher import ShimLauncher

        return ShimLauncher


__all__ = ["ShimLauncher", "read_last_words"]
