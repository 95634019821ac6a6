"""The pytest plugin ``runcoord``: declarative crash and recovery scenarios, faults, invariants, a CI gate."""

from __future__ import annotations

import sys

# The suites for stores of other makers assert; their messages are to say what differs. With -p and without
# autoload pytest rewrites only the module that -p names. Not where pytest is not running, or comes too late.
if "pytest" in sys.modules and "runcoord.testing" not in sys.modules:
    sys.modules["pytest"].register_assert_rewrite("runcoord.testing")
