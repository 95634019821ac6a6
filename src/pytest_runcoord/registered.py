"""Which hooks of runcoord somebody implements; loaded with the plugin, so it is cheap."""

from __future__ import annotations

import pytest

HOOK_PREFIX = "pytest_runcoord_"
"""Of hooks that others implement; see :mod:`pytest_runcoord.hookspecs`."""


def hooks_in(config: pytest.Config) -> dict[str, frozenset[int]]:
    """The hooks that there are implementations of, and the identity of each."""
    hooks = vars(config.pluginmanager.hook)
    return {
        name: frozenset(map(id, caller.get_hookimpls()))
        for name, caller in hooks.items()
        if name.startswith(HOOK_PREFIX) and caller.get_hookimpls()
    }


def version(config: pytest.Config) -> str:
    """From the distribution that pytest found the plugin in; importing the library for it would cost more."""
    for plugin, dist in config.pluginmanager.list_plugin_distinfo():
        if getattr(plugin, "__name__", "") == "pytest_runcoord.plugin":
            return str(dist.version)
    return "(version unknown: not loaded from an installed distribution)"
