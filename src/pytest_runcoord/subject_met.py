"""What is known of a subject once a scenario was run on it: kept where a report wants to say it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest

from runcoord.values import record


@record
class SubjectMet:
    """Plain values, since they come from other processes. All empty until a scenario ran."""

    name: str = ""
    version: str = ""
    capabilities: list[str] | None = None

    def meet(self, subject: Any) -> None:
        """Look at a subject that a scenario is about to run on; ``None`` is the reference."""
        if self.name:
            return
        if subject is None:
            from pytest_runcoord.reference import Reference

            subject = Reference
        self.name = "unknown"
        try:
            self.name = str(subject.name) or "unknown"
            version = getattr(subject, "version", "")
            self.version = version if isinstance(version, str) else ""
            self.capabilities = sorted(map(str, subject.capabilities))
        except Exception:  # noqa: BLE001  the scenario says what is wrong with it
            self.capabilities = None

    def as_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> SubjectMet:
        return cls(**json.loads(text))


SUBJECT_MET = pytest.StashKey[SubjectMet]()
"""There where somebody wants to know."""
