"""OpenTelemetry spans around a run, its teardown and its restoration, where a program uses OpenTelemetry.

Loading the interface takes longer than starting a command, and without a provider every span goes nowhere. So
it is used when the program has loaded it, or has named a provider in the environment. Attributes are names,
numbers and outcomes; never values of an environment, nor arguments of a command.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from typing import Any

MODULE = "opentelemetry.trace"
PROVIDER_VARIABLE = "OTEL_PYTHON_TRACER_PROVIDER"
"""With this set the interface finds its provider by itself."""
TRACER = "runcoord"


class Span:
    """One span; does nothing where there is no OpenTelemetry."""

    def __init__(self, real: Any = None) -> None:
        self._real = real

    def say(self, **attributes: str | float | bool) -> None:
        """Set attributes, each under ``runcoord.`` and its name."""
        if self._real is not None:
            for name, value in attributes.items():
                self._real.set_attribute(f"runcoord.{name}", value)


@contextmanager
def span(name: str, **attributes: str | float | bool) -> Iterator[Span]:
    """A span that is the current one within the block. An exception of the block is recorded by its type."""
    trace = _interface()
    if trace is None:
        yield Span()
        return
    tracer = trace.get_tracer(TRACER)
    # Not record_exception: its message and stack trace could carry what was in an environment.
    with tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False) as real:
        made = Span(real)
        made.say(**attributes)
        try:
            yield made
        except BaseException as error:
            made.say(error=type(error).__name__)
            raise


def _interface() -> Any:
    loaded = sys.modules.get(MODULE)
    if loaded is not None or not os.environ.get(PROVIDER_VARIABLE):
        return loaded
    try:
        from importlib import import_module

        return import_module(MODULE)
    except ImportError:
        return None
