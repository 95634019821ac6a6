"""A command as a run: guarded, recorded before it begins, kept under a lease, ended with all of its
processes, and the caller's git state put back when it did not complete."""

from __future__ import annotations
