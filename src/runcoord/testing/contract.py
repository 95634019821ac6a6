"""The suite that every store must pass."""

from __future__ import annotations


class StoreContract:
    """To be filled."""
