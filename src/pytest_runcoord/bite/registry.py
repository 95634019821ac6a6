"""The faults of one session: those that are shipped, and those that plugins and conftest files bring."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pytest

from pytest_runcoord._positions import did_you_mean
from pytest_runcoord.bite.fault import BoundaryFault
from pytest_runcoord.bite.faults import FAULTS
from pytest_runcoord.own_hooks import Hook, hooks_of
from pytest_runcoord.subject import CAPABILITIES

HOOK = "pytest_runcoord_faults"
FIT = re.compile(r"[A-Za-z0-9_.-]{1,80}\Z")
"""What a name may have: it is the end of a node id."""


def registered(config: pytest.Config) -> tuple[BoundaryFault, ...]:
    """Shipped faults first, then those of others. Raises :class:`pytest.UsageError` for what a hook gives and
    cannot be a fault."""
    found = {each.name: ("runcoord", each) for each in FAULTS}
    for hook in hooks_of(config, HOOK):
        for fault in _given(hook):
            if fault.name in found:
                of = found[fault.name][0]
                raise hook.mistake(f"gave a fault named {fault.name!r}, and there is one already, of {of}")
            found[fault.name] = hook.where, fault
    return tuple(fault for _, fault in found.values())


def _given(hook: Hook) -> Iterable[BoundaryFault]:
    given = hook.call()
    if given is None:
        return
    if isinstance(given, BoundaryFault) or not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise hook.mistake(f"gave {given!r}", "give a list of BoundaryFault")
    for fault in given:
        if not isinstance(fault, BoundaryFault):
            raise hook.mistake(f"gave {fault!r}, which is no BoundaryFault", "see pytest_runcoord.bite")
        problem = _problem(fault)
        if problem:
            raise hook.mistake(f"gave a fault that cannot be meant: {problem}")
        yield fault


def _problem(fault: BoundaryFault) -> str:
    """What is wrong with a fault; empty if nothing is."""
    name: Any = fault.name
    if not isinstance(name, str) or FIT.match(name) is None:
        return f"the name {name!r} is not made of letters, digits, '.', '_' and '-'"
    if not isinstance(fault.says, str) or not fault.says.strip():
        return f"{name!r} does not say what the subject does"
    if not callable(fault.wrap):
        return f"{name!r}: wrap is {fault.wrap!r}, which cannot be called"
    for need in fault.needs:
        if need not in CAPABILITIES:
            return f"{name!r} needs {need!r}, which is no capability; {did_you_mean(str(need), CAPABILITIES)}"
    return ""
