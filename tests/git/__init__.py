"""Tests of the caller's git state, with real git in directories of their own."""

from __future__ import annotations
