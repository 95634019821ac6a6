"""JSON objects from files that anybody may have written.

What :mod:`json` takes beyond the standard is refused (a key twice, ``NaN``), and so is what costs more than
its size: depth, and numbers of many digits.
"""

from __future__ import annotations

import json
from typing import Any

from runcoord._core.limits import MAX_JSON_DEPTH, MAX_NUMBER_CHARACTERS


class NotStrict(ValueError):
    """Bytes that are not one strict JSON object; says why, and quotes nothing of them."""


def strict_object(data: bytes) -> dict[str, Any]:
    """The object that ``data`` is, as UTF-8, with or without a byte order mark. Text in it may hold lone
    surrogates, and a float may be infinite (``1e999``). Raises :class:`NotStrict`."""
    if not data.strip():
        raise NotStrict("it is empty" if not data else "it is blank")
    decoder = _QUICK if len(data) <= MAX_NUMBER_CHARACTERS else _CAREFUL
    try:
        document = decoder.decode(data.decode("utf-8").removeprefix("\ufeff"))
    except UnicodeDecodeError as error:
        raise NotStrict(f"it is not UTF-8 (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise NotStrict(f"it is not JSON: {error.msg} (line {error.lineno}, column {error.colno})") from None
    except RecursionError:
        raise _too_deep() from None
    if type(document) is not dict:
        raise NotStrict(f"it is not an object but {_KINDS.get(type(document), 'a number')}")
    if data.count(b"{") + data.count(b"[") > MAX_JSON_DEPTH:
        _require_flat(document)
    return document


_KINDS: dict[type, str] = {list: "a list", str: "text", bool: "true or false", type(None): "null"}


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise NotStrict("it has a key twice")
    return document


def _no_constant(_: str) -> Any:
    raise NotStrict("it has a number that is none (NaN or Infinity)")


def _integer(digits: str) -> int:
    if len(digits) > MAX_NUMBER_CHARACTERS:
        raise NotStrict(f"it has a number of more than {MAX_NUMBER_CHARACTERS} digits")
    return int(digits)


def _float(digits: str) -> float:
    if len(digits) > MAX_NUMBER_CHARACTERS:
        raise NotStrict(f"it has a number of more than {MAX_NUMBER_CHARACTERS} digits")
    return float(digits)


_QUICK = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)
_CAREFUL = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_no_constant, parse_int=_integer, parse_float=_float
)
"""For a file that is large enough for a number of too many digits."""


def _too_deep() -> NotStrict:
    return NotStrict(f"it has more than {MAX_JSON_DEPTH} objects and lists inside of each other")


def _require_flat(document: dict[str, Any]) -> None:
    level: list[Any] = [document]
    for _ in range(MAX_JSON_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) is dict or type(inner) is list
        ]
        if not level:
            return
    raise _too_deep()
