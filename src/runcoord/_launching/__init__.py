"""The coordinator's side of a run's shim: starting it, talking to it, doing without it if it is gone."""

from __future__ import annotations

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from runcoord._launching.last_words import read_last_words
    from runcoord._launching.launcher import ShimLauncher

else:  # recovery reads last words and launches nothing
    from runcoord._late import LateNames

    _NAMES = LateNames(__name__, {"last_words": ("read_last_words",), "launcher": ("ShimLauncher",)})
    __getattr__ = _NAMES.find


__all__ = ["ShimLauncher", "read_last_words"]
