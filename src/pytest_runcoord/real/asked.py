"""What an incarnation asks its world about processes, beside the moments that it announces."""

from __future__ import annotations

SCAN = "scan"
"""Before the result of a scan is given: what it may not show."""
HAS_ENDED = "has-ended"
"""Whether the command of a tree has ended in truth: its shim then says so, sooner or later."""
TORN_DOWN = "torn-down"
"""A tree was torn down: time passes on the world's clocks as it would have."""

ASKED = frozenset({SCAN, HAS_ENDED, TORN_DOWN})
