"""Homes with run folders, as scenarios and fixtures make them, and the port that they are reached by."""

from __future__ import annotations
