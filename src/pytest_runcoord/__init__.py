"""The pytest plugin ``runcoord``: declarative crash and recovery scenarios, faults, invariants, a CI gate."""

from __future__ import annotations
