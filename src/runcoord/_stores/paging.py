"""Lists by number, a page at a time, in either direction."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from runcoord._core.values import value


@value
class BothWays:
    """A list by ``seq``, a page at a time: of rows above ``:after``, or down from ``:last``."""

    oldest_first: str
    newest_first: str


def both_ways(*parts: str) -> BothWays:
    """The list of what one ``SELECT`` finds, or of what several find. Each ends where the page's bound
    belongs."""

    def text(bound: str, order: str) -> str:
        if len(parts) == 1:
            return f"{parts[0]} {bound} ORDER BY seq{order} LIMIT :limit"
        return f"SELECT * FROM ({_union(parts, bound)}) ORDER BY +seq{order} LIMIT :limit"

    return _with_bounds(text)


def merged_both_ways(*parts: str) -> BothWays:
    """The same of several that each find their rows in the list's order: merged as they come, not sorted."""
    return _with_bounds(lambda bound, order: f"{_union(parts, bound)} ORDER BY seq{order} LIMIT :limit")


def _union(parts: Sequence[str], bound: str) -> str:
    return " UNION ALL ".join(f"{part} {bound}" for part in parts)


def _with_bounds(text: Callable[[str, str], str]) -> BothWays:
    return BothWays(text("seq > :after", ""), text("seq <= :last", " DESC"))
