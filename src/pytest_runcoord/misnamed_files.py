"""A file that is meant for scenarios, and whose name keeps it from ever being run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_runcoord.file_names import SUFFIX, misnamed


class MisnamedFile(pytest.File):
    """One ``*.runcoord.yml``: a collection error, since a gate would be green without its scenarios."""

    def collect(self) -> Iterator[pytest.Item]:
        name = self.path.name
        raise self.CollectError(f"{name}: scenarios are collected from *{SUFFIX} only ({misnamed(name)})")
