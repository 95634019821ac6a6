"""A project of its own for each test that runs pytest, as the tests of the plugin have it."""

from __future__ import annotations

from plugin.conftest import _bare_environment, run, run_apart, write

__all__ = ["_bare_environment", "run", "run_apart", "write"]
