"""The language with the words of some plugins, where no pytest runs: for `runcoord check` and `schema`."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_runcoord.verbs import default_registry
from pytest_runcoord.vocabulary import Registry

if TYPE_CHECKING:
    from pytest_runcoord.own_hooks import Hook

HOOK = "pytest_runcoord_words"


class WrongPlugin(Exception):
    """A plugin cannot be loaded, or adds no words, or words that make no sense."""


def registry_with(plugins: Iterable[str]) -> Registry:
    """All words, with those that modules (``package.module``) or files (``tests/conftest.py``) add.

    Raises :class:`WrongPlugin`.
    """
    if not (names := list(plugins)):
        return default_registry()
    import pytest

    from pytest_runcoord.own_words import extended

    try:
        return extended([_hook(name) for name in names])
    except pytest.UsageError as error:
        raise WrongPlugin(str(error).removesuffix(" Nothing was run.")) from error


def _hook(name: str) -> Hook:
    from pytest_runcoord.modules import module_named, module_of_file
    from pytest_runcoord.own_hooks import Hook

    what = f"the plugin {name!r}"
    is_file = name.endswith(".py")
    module = module_of_file(what, Path(name)) if is_file else module_named(what, name)
    function = getattr(module, HOOK, None)
    if not callable(function):
        raise WrongPlugin(f"{what} has no {HOOK}, by which it would add words")
    arguments = tuple(inspect.signature(function).parameters)
    if set(arguments) - {"registry"}:
        raise WrongPlugin(f"{what}: the hook {HOOK} takes 'registry', not {', '.join(arguments)}")
    return Hook(HOOK, function, arguments, name)
