"""Frozen dataclasses to JSON types and back, strictly: what is written in another form is refused.

Bytes become ``{"text": ...}`` when they are UTF-8, so that a person can read them, else ``{"base64": ...}``.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import enum
import functools
import types
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

R = TypeVar("R")


class NotTheForm(Exception):
    """A document that is not of the form of its kind; the text says where."""


def as_document(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {each.name: as_document(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return [as_document(each) for each in value]
    if isinstance(value, bytes):
        try:
            return {"text": value.decode("utf-8")}
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode("ascii")}
    return value.value if isinstance(value, enum.Enum) else value


def from_document(kind: type[R], document: Any) -> R:
    """The value. Raises :class:`NotTheForm`."""
    value = _decoded(kind, document, kind.__name__)
    if not isinstance(value, kind):
        raise NotTheForm(f"{kind.__name__}: {type(document).__name__}")
    return value


def _decoded(kind: Any, document: Any, where: str) -> Any:
    origin = get_origin(kind)
    if origin in {Union, types.UnionType}:
        if document is None and type(None) in get_args(kind):
            return None
        [kind] = [each for each in get_args(kind) if each is not type(None)]
        return _decoded(kind, document, where)
    if origin is tuple:
        if not isinstance(document, list):
            raise NotTheForm(f"{where} is no list")
        item = get_args(kind)[0]
        return tuple(_decoded(item, each, f"{where}[{place}]") for place, each in enumerate(document))
    if dataclasses.is_dataclass(kind):
        return _record(kind, document, where)
    if kind is bytes:
        return _bytes(document, where)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        try:
            return kind(document)
        except ValueError as error:
            raise NotTheForm(f"{where}: {error}") from error
    if type(document) is not kind:
        raise NotTheForm(f"{where} is {type(document).__name__}, not {getattr(kind, '__name__', kind)}")
    return document


def _record(kind: Any, document: Any, where: str) -> Any:
    hints = _hints(kind)
    if not isinstance(document, dict) or document.keys() != hints.keys():
        raise NotTheForm(f"{where} has not the fields {', '.join(hints)}")
    return kind(**{name: _decoded(hint, document[name], f"{where}.{name}") for name, hint in hints.items()})


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _bytes(document: Any, where: str) -> bytes:
    if isinstance(document, dict) and len(document) == 1:
        [(form, text)] = document.items()
        if isinstance(text, str):
            try:
                if form == "text":
                    return text.encode("utf-8")
                if form == "base64":
                    return base64.b64decode(text, validate=True)
            except (UnicodeEncodeError, binascii.Error) as error:
                raise NotTheForm(f"{where}: {error}") from error
    raise NotTheForm(f"{where} is neither text nor base64")
