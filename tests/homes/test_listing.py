"""The names in a root: all of them, in order, a bounded number at a time, however long they are."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Iterator
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runcoord._homes import listing

MEGABYTE = 2**20


class Entry:
    """What the system tells of an entry of a directory, as far as it is looked at."""

    def __init__(self, name: str) -> None:
        self.name = name


def entries(names: Iterator[str]) -> Iterator[os.DirEntry[str]]:
    return cast("Iterator[os.DirEntry[str]]", (Entry(name) for name in names))


@given(
    st.sets(st.text(st.sampled_from("ab\xe9\U0001f600\udc80"), min_size=1, max_size=9), max_size=60),
    st.integers(1, 20),
    st.integers(1, 60),
)
def test_every_name_is_listed_once_and_in_order_however_few_are_held(
    names: set[str], limit: int, characters: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "FOLDER_NAMES_CHARACTERS", characters)
        listed, after, more = list[str](), "", True
        while more:
            found = listing.names_among(entries(iter(names)), limit, after)
            assert len(found.names) <= limit
            assert found.names or not found.more
            listed, more = listed + found.names, found.more
            after = listed[-1] if listed else ""
    assert listed == sorted(names)


def test_names_that_are_as_long_as_can_be_take_no_more_memory_than_short_ones() -> None:
    names = ("\U0001f600" + f"{number:08d}" + "x" * 240 for number in range(60_000, 0, -1))
    tracemalloc.start()
    try:
        found = listing.names_among(entries(names), 50_000, "")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.more
    assert found.names[0].startswith("\U0001f60000000001x")
    assert peak < 32 * MEGABYTE
