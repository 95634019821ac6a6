"""Frozen values of many fields, made and changed at a fraction of the usual price.

A run has nearly thirty fields and a decision changes four of them. A frozen class sets each field by a call:
:func:`dataclasses.replace` and the constructor were a fifth of the Python that a verb costs. These two write
the fields at once. They are for classes that keep their fields in ``__dict__`` (``frozen=True`` without
``slots``) and check nothing when they are made.
"""

from __future__ import annotations

from collections.abc import Iterable

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")


def evolved(value: T, **changes: Any) -> T:
    """``value`` with ``changes``. ``TypeError`` for a field that it has not."""
    kind, before = type(value), value.__dict__
    fields = before | changes
    if len(fields) != len(before):
        unknown = ", ".join(sorted(changes.keys() - before.keys()))
        raise TypeError(f"{kind.__name__} has no field {unknown}")
    new = object.__new__(kind)
    object.__setattr__(new, "__dict__", fields)
    return new


def assembled(kind: type[T], fields: Iterable[tuple[str, Any]]) -> T:
    """A value of ``kind`` from all of its fields."""
    new = object.__new__(kind)
    new.__dict__.update(fields)
    return new
