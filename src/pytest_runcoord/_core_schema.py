"""What an unquoted YAML value means: the table of the YAML 1.2 core schema (YAML 1.2.2, section 10.3).

One difference is on purpose. A number with a leading zero, ``0777``, is text: YAML 1.1 reads it as 511 and
YAML 1.2 as 777, and a reader cannot know which was meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ._limits import MAX_NUMBER_CHARACTERS
from ._nodes import Plain

_WORDS: dict[str, Plain] = dict.fromkeys(("", "~", "null", "Null", "NULL"))
_WORDS |= dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(("false", "False", "FALSE"), False)

_NUMBER = re.compile(
    r"(?P<decimal>[-+]?(?:0|[1-9][0-9]*))\Z"
    r"|(?P<octal>0o[0-7]+)\Z"
    r"|(?P<hexadecimal>0x[0-9a-fA-F]+)\Z"
    r"|(?P<float>[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)\Z"
    r"|(?P<special>[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))\Z"
)
_READ: dict[str, Callable[[str], Plain]] = {
    "decimal": int,
    "octal": lambda text: int(text[2:], 8),
    "hexadecimal": lambda text: int(text[2:], 16),
    "float": float,
    "special": lambda text: float(text.replace(".", "")),
}
#: A plain value that begins otherwise is text; looking at one character spares most of the work.
_MAY_BE_A_NUMBER = frozenset("0123456789+-.")
MAY_BE_MORE = _MAY_BE_A_NUMBER | frozenset("tTfFnN~")


class NumberTooLong(ValueError):
    """A number with more characters than anybody means."""


def resolve(text: str) -> Plain:
    """What an unquoted value means; the text itself if it is neither number, truth value nor null."""
    if text in _WORDS:
        return _WORDS[text]
    found = _NUMBER.match(text) if text[0] in _MAY_BE_A_NUMBER else None
    if found is None:
        return text
    if len(text) > MAX_NUMBER_CHARACTERS:
        raise NumberTooLong
    return _READ[found.lastgroup or "float"](text)
