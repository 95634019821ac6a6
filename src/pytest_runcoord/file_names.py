"""How files of scenarios are called, and how some are called that nobody would run."""

from __future__ import annotations

SUFFIX = ".runcoord.yaml"
ALMOST = ".runcoord.yml"
"""The other ending of YAML: nothing is collected from such a file, which is easily overlooked."""


def misnamed(name: str) -> str:
    """What to do about the name of a file of scenarios that would never run; empty for others."""
    return f"rename it to {name.removesuffix(ALMOST)}{SUFFIX}" if name.endswith(ALMOST) else ""
