"""What importing the library loads, and the names that it finds only when they are asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import runcoord

SECONDS = 60.0
"""Longest time that a process of a test may take; only a fault takes that long."""


def printed(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=SECONDS, check=True
    )
    return done.stdout


def test_importing_the_library_loads_nothing_that_only_some_of_its_users_need() -> None:
    loaded = set(printed("import sys, runcoord; print(*sys.modules)").split())
    assert "runcoord._coordinator" in loaded
    assert loaded & {"asyncio", "click", "psutil", "pytest", "rich", "yaml"} == set()


@pytest.mark.parametrize("way", ["from runcoord import AsyncCalls", "import runcoord; runcoord.AsyncCalls"])
def test_the_helper_for_asyncio_is_loaded_when_it_is_asked_for(way: str) -> None:
    assert printed(f"import sys; {way}; print('asyncio' in sys.modules)") == "True\n"


def test_every_public_name_is_there_and_listed() -> None:
    assert set(runcoord.__all__) <= set(dir(runcoord))
    assert [name for name in runcoord.__all__ if not hasattr(runcoord, name)] == []


def test_a_name_that_does_not_exist_is_an_ordinary_error() -> None:
    with pytest.raises(AttributeError, match="module 'runcoord' has no attribute 'Cordinator'"):
        runcoord.Cordinator  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ImportError, match="Cordinator"):
        from runcoord import Cordinator  # type: ignore[attr-defined]  # noqa: F401
