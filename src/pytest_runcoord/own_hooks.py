"""One implementation of a hook: where it stands, and what it gives or raises."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from runcoord.values import value


@value
class Hook:
    """One implementation of a hook, and where it stands."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[str, ...]
    where: str

    def call(self, **values: Any) -> Any:
        """What it gives; raises :class:`pytest.UsageError` for anything that it raises."""
        try:
            return self.function(*[values[name] for name in self.arguments])
        except pytest.UsageError:
            raise
        except Exception as error:
            raise self.mistake(self.raised(error)) from error

    def raised(self, error: BaseException) -> str:
        """What it raised, and on which line of its own file."""
        file = self.function.__code__.co_filename if hasattr(self.function, "__code__") else ""
        lines, trace = [], error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == file:
                lines.append(trace.tb_lineno)
            trace = trace.tb_next
        at = f", at line {lines[-1]}" if lines else ""
        return f"raised {type(error).__name__}: {' '.join(str(error).split())}{at}"

    def mistake(self, problem: str, remedy: str = "") -> pytest.UsageError:
        advice = f" ({remedy})" if remedy else ""
        return pytest.UsageError(f"{self.where}: the hook {self.name} {problem}{advice}. Nothing was run.")


def where(config: pytest.Config, implementation: Any) -> str:
    """The file and line of an implementation, from pytest's rootdir."""
    code = getattr(inspect.unwrap(implementation.function), "__code__", None)
    if code is None:
        return str(implementation.plugin_name)
    path = Path(code.co_filename)
    inside = path.is_relative_to(config.rootpath)
    return f"{path.relative_to(config.rootpath) if inside else path}:{code.co_firstlineno}"


def hooks_of(config: pytest.Config, name: str) -> Iterator[Hook]:
    """The implementations of one hook, in the order in which pluggy would call them."""
    caller = getattr(config.pluginmanager.hook, name, None)
    for implementation in reversed(caller.get_hookimpls() if caller is not None else []):
        yield Hook(
            name,
            implementation.function,
            tuple(implementation.argnames),
            where(config, implementation),
        )
