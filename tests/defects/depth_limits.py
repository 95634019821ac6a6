"""Seeded defects of the maximum depth, and of what is handed down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from defects.catalogue import Defect
from runcoord._core import depth, limits, variables
from runcoord._core.depth import Admission, DepthNames
from runcoord._core.lineage import FoundLine
from runcoord._supervisor import preparing

Patch = pytest.MonkeyPatch

# --- max-malformed-or-forged ---


def _default_of_six(patch: Patch) -> None:
    patch.setattr(depth, "DEFAULT_MAX_DEPTH", 6)


def _no_ceiling(patch: Patch) -> None:
    patch.setattr(depth, "MAX_DEPTH_CEILING", 10**9)
    patch.setattr("runcoord._core.limits.MAX_DEPTH_CEILING", 10**9)


def _malformed_is_no_limit(patch: Patch) -> None:
    """A maximum that cannot be read is as if there was none."""
    admit = depth.admit

    def trusting(environ: Mapping[bytes, bytes], names: DepthNames, *, at_most: int) -> Admission:
        found = environ.get(names.maximum.encode())
        if found is not None and variables.plain_number(found) is None:
            environ = {**environ, names.maximum.encode(): b"32"}
        return admit(environ, names, at_most=at_most)

    patch.setattr(preparing, "admit", trusting)


def _zero_is_no_limit(patch: Patch) -> None:
    admit = depth.admit

    def generous(environ: Mapping[bytes, bytes], names: DepthNames, *, at_most: int) -> Admission:
        known = {name: value for name, value in environ.items() if value != b"0"}
        return admit(known, names, at_most=at_most)

    patch.setattr(preparing, "admit", generous)


def _an_option_raises_it(patch: Patch) -> None:
    admit = depth.admit

    def raised(environ: Mapping[bytes, bytes], names: DepthNames, *, at_most: int) -> Admission:
        if at_most != limits.MAX_DEPTH_CEILING:
            environ = {**environ, names.maximum.encode(): str(at_most).encode()}
        return admit(environ, names, at_most=at_most)

    patch.setattr(preparing, "admit", raised)


# --- depth-increments ---


def _exporting(patch: Patch, exports: Any) -> None:
    """``exports`` is given what was found in the environment and the right exports."""
    admit = depth.admit

    def other(environ: Mapping[bytes, bytes], names: DepthNames, *, at_most: int) -> Admission:
        admission = admit(environ, names, at_most=at_most)
        return replace(admission, exports=exports(environ, names, admission))

    patch.setattr(preparing, "admit", other)


def _nobody_increments(patch: Patch) -> None:
    _exporting(
        patch, lambda environ, names, admission: admission.exports | {names.depth: str(admission.depth)}
    )


def _only_where_it_was_set(patch: Patch) -> None:
    _exporting(
        patch,
        lambda environ, names, admission: admission.exports if names.depth.encode() in environ else {},
    )


def _no_maximum_further_down(patch: Patch) -> None:
    _exporting(patch, lambda environ, names, admission: {names.depth: str(admission.depth + 1)})


def _laundered(patch: Patch) -> None:
    admit = depth.admit

    def washing(environ: Mapping[bytes, bytes], names: DepthNames, *, at_most: int) -> Admission:
        found = environ.get(names.depth.encode(), b"0")
        if variables.plain_number(found) is None:
            environ = {**environ, names.depth.encode(): b"1"}
        return admit(environ, names, at_most=at_most)

    patch.setattr(preparing, "admit", washing)


def _counted_by_the_variable_alone(patch: Patch) -> None:
    patch.setattr(depth, "line_of", lambda environ: FoundLine(None))


LIMITS: list[Defect] = [
    Defect(
        "max-malformed-or-forged",
        "A second default of 6 lives beside the one of 3.",
        "depth-closed",
        _default_of_six,
        name="second-default",
    ),
    Defect(
        "max-malformed-or-forged",
        "A maximum that cannot be read is no limit.",
        "depth-closed",
        _malformed_is_no_limit,
        name="malformed",
    ),
    Defect(
        "max-malformed-or-forged",
        "A forged maximum of 999999 is believed.",
        "depth-closed",
        _no_ceiling,
        name="forged",
    ),
    Defect(
        "max-malformed-or-forged",
        "A maximum of 0 means that there is none.",
        "depth-closed",
        _zero_is_no_limit,
        name="zero",
    ),
    Defect(
        "max-malformed-or-forged",
        "An option raises the maximum that was handed down.",
        "depth-closed",
        _an_option_raises_it,
        name="raised",
        scenario="an-option-only-lowers-the-maximum",
    ),
    Defect(
        "depth-increments",
        "The guard checks, and nobody increments.",
        "depth-closed",
        _nobody_increments,
    ),
    Defect(
        "depth-increments",
        "The depth is handed down only where it was set already.",
        "depth-closed",
        _only_where_it_was_set,
        name="only-where-set",
    ),
    Defect(
        "depth-increments",
        "The maximum is not handed down.",
        "depth-closed",
        _no_maximum_further_down,
        name="no-maximum",
    ),
    Defect(
        "depth-increments",
        "A malformed depth is read as a number further down, and 1 more is exported.",
        "depth-closed",
        _laundered,
        name="laundered",
        scenario="nothing-is-laundered",
    ),
    Defect(
        "depth-increments",
        "The variable alone is asked, so what a run starts without it, or with a lower one, counts anew.",
        "depth-closed",
        _counted_by_the_variable_alone,
        name="variable-alone",
        scenario="a-lowered-depth-begins-nothing-anew",
    ),
]
