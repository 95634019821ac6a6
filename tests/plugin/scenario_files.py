"""Scenarios that the tests of the plugin write into projects of their own."""

from __future__ import annotations

PASSING = """\
runcoord: 1
scenario: plain-life
says: A run is submitted, claimed, started and completed.
origin: [a finding]
tags: [lifecycle]
steps:
  - open: gw1
  - submit: {run: r1}
  - claim: {run: r1, by: gw1, lease: 90s, as: mine}
  - start: {with: mine}
  - complete: {with: mine}
expect:
  - run: {id: r1, outcome: completed}
"""

#: Line 9 is accepted though it says that it must be refused.
FAILING = """\
runcoord: 1
scenario: never-refused
says: A first claim is refused.
steps:
  - open: gw1
  - submit: {run: r1}
  - advance: 5s
  - suspend: 1h
  - claim: {run: r1, by: gw1, lease: 90s, refused: lease-held}
  - advance: 1s
"""
FAILING_LINE = 9

#: Line 5 is not a word of the language.
WRONG = """\
runcoord: 1
scenario: misspelt
says: It has a step that does not exist.
steps:
  - opne: gw1
"""
WRONG_LINE = 5

#: Not YAML: line 2 opens a bracket that nothing closes.
UNREADABLE = """\
runcoord: 1
scenario: [unclosed
steps: []
"""

VARIANTS = """\
runcoord: 1
scenario: two-stores
says: The same on both stores.
axes: {store: [memory, default]}
steps:
  - open: gw1
  - submit: {run: r1}
"""

DELIVERING = """\
runcoord: 1
scenario: told-once
says: The event of a run arrives once.
given:
  destinations: {chat: accepts}
steps:
  - open: gw1
  - submit: {run: r1, destination: chat}
  - claim: {run: r1, by: gw1, lease: 90s, as: mine}
  - start: {with: mine}
  - complete: {with: mine}
  - deliver: {by: gw1}
expect:
  - delivered: {run: r1, to: chat, count: 1}
"""

#: A subject without an outbox, for a file little.py.
LITTLE_SUBJECT = """\
from pytest_runcoord.reference import Reference

class Little(Reference):
    name = "little"
    capabilities = Reference.capabilities - {"outbox"}
"""


def together(*documents: str) -> str:
    """Several scenarios in one file."""
    return "---\n".join(documents)


def passing(name: str, tags: str = "") -> str:
    """A scenario that passes, under a name of its own."""
    text = PASSING.replace("plain-life", name)
    return text.replace("[lifecycle]", f"[{tags}]") if tags else text.replace("tags: [lifecycle]\n", "")


def failing(name: str) -> str:
    return FAILING.replace("never-refused", name)
