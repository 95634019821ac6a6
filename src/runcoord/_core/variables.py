"""Names and numbers of environment variables: what is believed of them."""

from __future__ import annotations

import re

from runcoord._core.limits import MAX_NUMERAL, MAX_NUMERAL_DIGITS, MAX_VARIABLE_CHARACTERS
from runcoord.errors import InvalidConfiguration

_NUMERAL = re.compile(rb"\+?[0-9]{1,%d}" % MAX_NUMERAL_DIGITS)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def plain_number(value: bytes) -> int | None:
    """The number that ``value`` is, or ``None`` when it is anything but a plain one.

    Plain: ASCII digits, within the limits on how many and how large, with ASCII blanks around and one plus
    before them, as in the coordinator whose recovery review this project grew out of. Not all that
    :class:`int` takes: digits of every script, underscores, and a minus, which is below any maximum.
    """
    digits = value.strip()
    if not _NUMERAL.fullmatch(digits):
        return None
    number = int(digits)
    return number if number <= MAX_NUMERAL else None


def require_variable(setting: str, name: object) -> None:
    """Refuse what is no name of an environment variable, with ``InvalidConfiguration``."""
    plain = isinstance(name, str) and len(name) <= MAX_VARIABLE_CHARACTERS and _VARIABLE.fullmatch(name)
    if not plain:
        raise InvalidConfiguration(
            f"{setting} {name!r:.{2 * MAX_VARIABLE_CHARACTERS}} is not the name of an environment variable",
            remedy="Use letters A to Z, digits and underscores, with no digit first;"
            f" at most {MAX_VARIABLE_CHARACTERS} characters.",
            setting=setting,
        )
