"""Values of named fields: as :mod:`dataclasses` has them, but made when they are first used.

For packages that are loaded at every start and use a part of what they load. ``@value`` cannot be changed
and can be hashed, ``@record`` can be changed; ``field`` and ``replace`` are as in :mod:`dataclasses`, whose
functions ``fields``, ``asdict`` and ``replace`` take both. Fields are not inherited, and annotations must be
text (``from __future__ import annotations``).
"""

from __future__ import annotations

from runcoord._core.values import field, record, replace, value

__all__ = ["field", "record", "replace", "value"]
