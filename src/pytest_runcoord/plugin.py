"""The pytest plugin ``runcoord``; imports pytest and the standard library only, everything heavy at first use."""

from __future__ import annotations
