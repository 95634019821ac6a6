"""Seeded defects of the guard against runs that start themselves: whether it guards, and what it reads."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping

import pytest

from defects.catalogue import Defect
from runcoord._core import depth, variables
from runcoord._core.depth import Admission, DepthNames
from runcoord._supervisor import preparing, running
from runcoord._supervisor.preparing import CommandOrder, Prepared
from runcoord._supervisor.starting import Launched
from runcoord.errors import DepthExceeded
from runcoord.ports import Ids

Patch = pytest.MonkeyPatch

# --- depth-limit ---


def _nobody_checks(patch: Patch) -> None:
    def admit(environ: Mapping[bytes, bytes], names: DepthNames, *, at_most: int) -> Admission:
        found = int(environ.get(names.depth.encode(), b"0"))
        return Admission(found, 3, {names.depth: str(found + 1), names.maximum: "3"})

    patch.setattr(preparing, "admit", admit)


def _one_too_deep(patch: Patch) -> None:
    admit = depth.admit

    def lenient(environ: Mapping[bytes, bytes], names: DepthNames, *, at_most: int) -> Admission:
        try:
            return admit(environ, names, at_most=at_most)
        except DepthExceeded as refusal:
            if refusal.details["depth"] != refusal.details["max"]:
                raise
            found, maximum = refusal.details["depth"], refusal.details["max"]
            return Admission(found, maximum, {names.depth: str(found + 1), names.maximum: str(maximum)})

    patch.setattr(preparing, "admit", lenient)


def _looks_up_first(patch: Patch) -> None:
    prepare = preparing.prepare

    def late(order: CommandOrder, ids: Ids) -> Prepared:
        preparing.usable_directory(order.directory)
        return prepare(order, ids)

    patch.setattr(running, "prepare", late)


def _starts_first(patch: Patch) -> None:
    launch = running.Supervisor.launch

    def eager(self: running.Supervisor, order: CommandOrder, run_id: str = "") -> Launched:
        names = DepthNames(order.names.depth, order.names.maximum)
        with pytest.MonkeyPatch.context() as unguarded:
            unguarded.setattr(preparing, "_admitted", lambda order, around: Admission(0, 3, {}))
            launched = launch(self, order, run_id)
        try:
            depth.admit(preparing._around(order), names)
        except DepthExceeded:
            launched.tree.close()
            raise
        return launched

    patch.setattr(running.Supervisor, "launch", eager)


def _logs_what_it_found(patch: Patch) -> None:
    admitted = preparing._admitted

    def talkative(order: CommandOrder, around: Mapping[bytes, bytes]) -> Admission:
        try:
            return admitted(order, around)
        except DepthExceeded:
            logging.getLogger("runcoord.commands").warning("refused in the environment %s", dict(os.environ))
            raise

    patch.setattr(preparing, "_admitted", talkative)


def _says_no_numbers(patch: Patch) -> None:
    def refusal(names: DepthNames, found: int | None, maximum: int, *, unread: bool) -> DepthExceeded:
        return DepthExceeded("too deep", remedy="", depth=-1, max=-1)

    patch.setattr(depth, "_refusal", refusal)


def _one_name_only(patch: Patch) -> None:
    admit = depth.admit
    patch.setattr(preparing, "admit", lambda environ, names, *, at_most: admit(environ, at_most=at_most))


# --- depth-malformed ---


def _malformed_is_zero(patch: Patch) -> None:
    plain = variables.plain_number
    patch.setattr(depth, "plain_number", lambda value: plain(value) or 0)


def _as_python_reads_it(patch: Patch) -> None:
    def number(value: bytes) -> int | None:
        try:
            return int(value.decode())
        except ValueError:
            return None

    patch.setattr(depth, "plain_number", number)


def _any_length(patch: Patch) -> None:
    """More digits are cut off, as a fixed width does."""
    plain = variables.plain_number
    patch.setattr(
        depth, "plain_number", lambda value: plain(value[-9:]) if value.strip().isdigit() else plain(value)
    )


def _digits_alone(patch: Patch) -> None:
    plain = variables.plain_number
    patch.setattr(depth, "plain_number", lambda value: plain(value) if value.isdigit() else None)


def _logs_the_value(patch: Patch) -> None:
    refusal = depth._refusal

    def telling(names: DepthNames, found: int | None, maximum: int, *, unread: bool) -> DepthExceeded:
        error = refusal(names, found, maximum, unread=unread)
        logging.getLogger("runcoord").warning("%s is %r", names.depth, os.environ.get(names.depth))
        return error

    patch.setattr(depth, "_refusal", telling)


GUARD: list[Defect] = [
    Defect("depth-limit", "Nobody looks at the depth.", "depth-closed", _nobody_checks),
    Defect(
        "depth-limit",
        "The check is for more than the maximum, where its neighbour is for the maximum.",
        "depth-closed",
        _one_too_deep,
        name="one-too-deep",
    ),
    Defect(
        "depth-limit",
        "The tree is started, and then the guard refuses it.",
        "depth-closed",
        _starts_first,
        name="starts-first",
    ),
    Defect(
        "depth-limit",
        "Directory and program are looked up before the guard is asked.",
        "refused",
        _looks_up_first,
        name="looks-up-first",
    ),
    Defect(
        "depth-limit",
        "The refusal is logged with the environment.",
        "unlogged",
        _logs_what_it_found,
        name="logs-values",
    ),
    Defect("depth-limit", "The error names no numbers.", "answer", _says_no_numbers, name="no-numbers"),
    Defect(
        "depth-limit",
        "A host's own names are ignored: there are two sources of truth.",
        "depth-closed",
        _one_name_only,
        name="own-names",
        scenario="a-host-names-its-own-variables",
    ),
    Defect(
        "depth-malformed",
        "A depth that cannot be read is taken for 0.",
        "depth-closed",
        _malformed_is_zero,
    ),
    Defect(
        "depth-malformed",
        "The depth is read as the language reads numbers: a minus, underscores, digits of any script.",
        "depth-closed",
        _as_python_reads_it,
        name="any-number",
    ),
    Defect(
        "depth-malformed",
        "Of a number that is too long only the end counts.",
        "depth-closed",
        _any_length,
        name="overflow",
    ),
    Defect(
        "depth-malformed",
        "The value that could not be read is logged.",
        "unlogged",
        _logs_the_value,
        name="logs-the-value",
    ),
    Defect(
        "depth-malformed",
        "Blanks and a plus, which the original takes, are refused.",
        "supervise",
        _digits_alone,
        name="too-strict",
        scenario="a-plain-depth-is-accepted",
    ),
]
