"""The faults of one session: those that are shipped, and those that plugins and conftest files bring."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pytest

from pytest_runcoord._positions import did_you_mean
from pytest_runcoord.bite.fault import BoundaryFault
from pytest_runcoord.bite.faults import FAULTS
from pytest_runcoord.subject import CAPABILITIES

HOOK = "pytest_runcoord_faults"
FIT = re.compile(r"[A-Za-z0-9_.-]{1,80}\Z")
"""What a name may have: it is the end of a node id."""


def registered(config: pytest.Config) -> tuple[BoundaryFault, ...]:
    """Shipped faults first, then those of others by the name of the plugin. Raises
    :class:`pytest.UsageError` for what a plugin gives and cannot be a fault."""
    found = {each.name: ("runcoord", each) for each in FAULTS}
    hook = getattr(config.hook, HOOK, None)
    for implementation in () if hook is None else reversed(hook.get_hookimpls()):
        plugin = implementation.plugin_name
        for fault in _given(plugin, implementation.function()):
            if fault.name in found:
                raise _wrong(
                    plugin, f"a fault named {fault.name!r} is there already, of {found[fault.name][0]}"
                )
            found[fault.name] = plugin, fault
    return tuple(fault for _, fault in found.values())


def _given(plugin: str, given: Any) -> Iterable[BoundaryFault]:
    if given is None:
        return
    if isinstance(given, BoundaryFault):
        given = [given]
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise _wrong(plugin, f"it gave {given!r}, which is no list of BoundaryFault")
    for fault in given:
        if not isinstance(fault, BoundaryFault):
            raise _wrong(plugin, f"it gave {fault!r}, which is no BoundaryFault")
        if not isinstance(fault.name, str) or FIT.match(fault.name) is None:
            raise _wrong(plugin, f"the name {fault.name!r} is not made of letters, digits, '.', '_' and '-'")
        if not isinstance(fault.says, str) or not fault.says.strip():
            raise _wrong(plugin, f"{fault.name!r} does not say what the fault is")
        if not callable(fault.wrap):
            raise _wrong(plugin, f"{fault.name!r}: wrap is {fault.wrap!r}, which cannot be called")
        for need in fault.needs:
            if need not in CAPABILITIES:
                meant = did_you_mean(str(need), CAPABILITIES)
                raise _wrong(plugin, f"{fault.name!r} needs {need!r}, which is no capability; {meant}")
        yield fault


def _wrong(plugin: str, problem: str) -> pytest.UsageError:
    return pytest.UsageError(f"{HOOK} of {plugin}: {problem}")
