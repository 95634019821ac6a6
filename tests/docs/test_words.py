"""The words that the guide for a finding offers exist, and are written as it writes them."""

from __future__ import annotations

import re

import pytest

from docs.blocks import Block, page_path
from docs.sessions import Wrong, check_fragment
from pytest_runcoord.probed_ports import FAULTS
from pytest_runcoord.verbs import default_registry

PAGE = "docs/how-to/reproduce-a-finding.md"
ARGUMENTS = frozenset({"is"})
"""Keys of a word that the table names beside it."""


def offered() -> list[str]:
    """What the second column of the first table has as code."""
    table = (
        page_path(PAGE).read_text("utf-8").partition("| The review says | Write |\n")[2].partition("\n\n")[0]
    )
    rows = [line.split(" | ", 1)[1] for line in table.splitlines()[1:]]
    return [code for row in rows for code in re.findall(r"`([^`]+)`", row)]


@pytest.mark.parametrize("code", offered())
def test_what_the_guide_offers_can_be_written(code: str) -> None:
    registry = default_registry()
    word, colon, value = code.partition(":")
    if not colon or not value.strip():
        assert word in (*registry.steps, *registry.options, *FAULTS)
    elif word in registry.options or word in ARGUMENTS or "..." in value:
        assert word != "is" or value.strip() in FAULTS
    else:
        listed = f"- {code}\n" if word in registry.steps else f"{code}\n"
        check_fragment(Block(PAGE, 1, 0, "yaml", listed))


def test_a_word_that_does_not_exist_is_found() -> None:
    assert len(offered()) > 20
    with pytest.raises(Wrong):
        check_fragment(Block(PAGE, 1, 0, "yaml", "- stal: {by: gw1, for: 95s}\n"))
