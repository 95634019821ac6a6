"""Seeded defects of the grace that is read from the environment."""

from __future__ import annotations

import logging
import os

import pytest

from defects.catalogue import Defect
from runcoord._core import grace, variables
from runcoord._core.grace import Grace
from runcoord._supervisor import preparing

Patch = pytest.MonkeyPatch


def _malformed_is_zero(patch: Patch) -> None:
    plain = variables.plain_number
    patch.setattr(grace, "plain_number", lambda value: plain(value) or 0)


def _as_the_language_reads_it(patch: Patch) -> None:
    def number(value: bytes) -> int | None:
        try:
            return int(float(value.decode()))
        except ValueError:
            return None

    patch.setattr(grace, "plain_number", number)


def _without_a_word(patch: Patch) -> None:
    right = grace.grace_of
    patch.setattr(preparing, "grace_of", lambda environ, name: Grace(right(environ, name).seconds))


def _with_the_value(patch: Patch) -> None:
    right = grace.grace_of

    def telling(environ: dict[bytes, bytes], name: str) -> Grace:
        logging.getLogger("runcoord.commands").info("the grace is %s", os.environ.get(name))
        return right(environ, name)

    patch.setattr(preparing, "grace_of", telling)


def _no_cap(patch: Patch) -> None:
    patch.setattr(grace, "MAX_GRACE_SECONDS", 10**10)


def _zero_means_none_was_given(patch: Patch) -> None:
    right = grace.grace_of

    def other(environ: dict[bytes, bytes], name: str) -> Grace:
        found = right(environ, name)
        return found if found.seconds else Grace(5)

    patch.setattr(preparing, "grace_of", other)


def _malformed_is_refused(patch: Patch) -> None:
    def strict(environ: dict[bytes, bytes], name: str) -> Grace:
        found = grace.grace_of(environ, name)
        if found.problem:
            raise ValueError(found.problem)
        return found

    patch.setattr(preparing, "grace_of", strict)


def _one_name_only(patch: Patch) -> None:
    right = grace.grace_of
    patch.setattr(preparing, "grace_of", lambda environ, name: right(environ))


GRACE: list[Defect] = [
    Defect(
        "grace-malformed", "A grace that cannot be read is none: killed at once.", "took", _malformed_is_zero
    ),
    Defect(
        "grace-malformed",
        "The grace is read as the language reads numbers: 1.5 is 1, and a minus is taken.",
        "took",
        _as_the_language_reads_it,
        name="any-number",
    ),
    Defect(
        "grace-malformed",
        "The default is taken without a word.",
        "log",
        _without_a_word,
        name="without-a-word",
    ),
    Defect("grace-malformed", "The value is logged.", "unlogged", _with_the_value, name="logs-the-value"),
    Defect(
        "grace-malformed",
        "A command whose grace cannot be read is not run.",
        "supervise",
        _malformed_is_refused,
        name="refused",
    ),
    Defect(
        "grace-malformed",
        "0 means that none was given.",
        "signals",
        _zero_means_none_was_given,
        name="zero",
        scenario="a-long-grace-is-capped",
    ),
    Defect(
        "grace-malformed",
        "A grace of any length is kept.",
        "took",
        _no_cap,
        name="no-cap",
        scenario="a-long-grace-is-capped",
    ),
    Defect(
        "grace-malformed",
        "A host's own name of the variable is ignored.",
        "took",
        _one_name_only,
        name="own-name",
        scenario="grace-as-asked",
    ),
]
