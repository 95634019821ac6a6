"""Words that a project adds: registered in a copy of the language, and guarded where they are carried out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

import pytest

from pytest_runcoord.failures import StepFailed
from pytest_runcoord.verdict import FailureKind
from pytest_runcoord.vocabulary import Registry, VocabularyError, Word

if TYPE_CHECKING:
    from pytest_runcoord.own_hooks import Hook

OURS = "pytest_runcoord"
FAULTS = (Exception, SystemExit, pytest.fail.Exception)
"""What is a fault of a word that raises it, beside what the harness has for it. A word may skip."""


def extended(hooks: Sequence[Hook]) -> Registry:
    """The language with the words of some hooks; raises :class:`pytest.UsageError` for what makes no
    sense."""
    from pytest_runcoord.verbs import default_registry

    registry = default_registry().copy()
    for hook in hooks:
        before = {(word.section, word.name) for word in registry.words()}
        try:
            given = hook.function(registry) if hook.arguments else hook.function()
        except VocabularyError as error:
            raise hook.mistake(f"registers a word that makes no sense: {error}") from error
        except Exception as error:
            raise hook.mistake(hook.raised(error)) from error
        if given is not None:
            raise hook.mistake(f"gave {type(given).__name__}", "add words to registry, and return nothing")
        for word in registry.words():
            if (word.section, word.name) not in before:
                _check(hook, word)
                registry.attach(word, _guarded(word))
    return registry


def _check(hook: Hook, word: Word) -> None:
    function = word.function
    what = f"the {word.section} '{word.name}'"
    if function is None:
        raise hook.mistake(f"registers {what} without a function")
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise hook.mistake(f"registers {what} with an async function or a generator", "make it a plain one")
    takes = "plan and given" if word.section == "given" else f"world and {word.section}"
    try:
        inspect.signature(function).bind(None, None)
    except TypeError as error:
        raise hook.mistake(
            f"registers {what} with a function that cannot be called: {error}", f"take two arguments, {takes}"
        ) from None
    except ValueError:  # no signature to be had
        return


def _guarded(word: Word) -> Callable[..., Any]:
    """What the word does; whatever it raises that is not the harness's own is its own fault, by its name."""
    function = word.function
    assert function is not None

    @wraps(function)
    def carry_out(world: Any, clause: Any) -> Any:
        try:
            return function(public(world, word), clause)
        except FAULTS as error:
            if type(error).__module__.partition(".")[0] == OURS:
                raise
            raise StepFailed(
                FailureKind.EXTENSION,
                word.name,
                f"the {word.section} {word.name} of this project itself raised "
                f"{type(error).__name__}: {error}",
                expected="that it does what it says, or raises what pytest_runcoord.steps has for it",
                seen=place_of(error),
                remedy="Mend the word; this says nothing of the subject.",
            ) from error

    return carry_out


def public(world: Any, word: Word) -> Any:
    """The part of the world that a word of a project may use."""
    if word.section == "given":
        return world
    from pytest_runcoord.steps import StepWorld

    return StepWorld(world)


def place_of(error: BaseException) -> str:
    """What was raised, and where in the code that is not the harness's."""
    trace, at = error.__traceback__, ""
    while trace is not None:
        frame = trace.tb_frame
        if not frame.f_globals.get("__name__", "").startswith(OURS):
            at = f", at {frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__}: {error}{at}"
