"""What plugins and ``conftest.py`` add by hooks: found, checked and declared before anything runs.

pluggy would check at registration, and answer with a traceback; pytest looks at unknown hooks only when it
has collected, and calls that an internal error. So hooks are declared to pluggy after all of them were
looked at here, when pytest is configured: every plugin and every conftest that may have some is loaded by
then.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from pytest_runcoord import hookspecs
from pytest_runcoord._positions import did_you_mean, nearest
from pytest_runcoord.own_hooks import Hook, hooks_of, where
from pytest_runcoord.project_place import mistake
from pytest_runcoord.registered import HOOK_PREFIX as PREFIX
from pytest_runcoord.registered import hooks_in
from runcoord.values import record

if TYPE_CHECKING:
    from pytest_runcoord.invariants import Invariant
    from pytest_runcoord.table_file import ProjectTable
    from pytest_runcoord.vocabulary import Registry

HOOKS: dict[str, Callable[..., Any]] = {
    name: function for name, function in vars(hookspecs).items() if name.startswith(PREFIX)
}


@record
class Extensions:
    """What this session has beside what comes with runcoord."""

    registry: Registry | None = None
    """All words, those that come with runcoord too; None where nobody added any."""
    invariants: tuple[type[Invariant], ...] = ()
    reports: tuple[Hook, ...] = ()


EXTENSIONS = pytest.StashKey[Extensions]()


def declare(config: pytest.Config) -> None:
    """Check the names and arguments of all hooks that are there, and declare them to pluggy.

    Raises :class:`pytest.UsageError` for the first that cannot be meant.
    """
    manager = config.pluginmanager
    for name, caller in sorted(vars(manager.hook).items()):
        if name.startswith(PREFIX):
            for implementation in caller.get_hookimpls():
                _check(config, name, implementation)
    manager.add_hookspecs(hookspecs)


def _check(config: pytest.Config, name: str, implementation: Any) -> None:
    at = where(config, implementation)
    if name not in HOOKS:
        if implementation.optionalhook:  # written for another version of runcoord, and says so
            return
        # Compared without what all of them begin with, which would make any two look alike.
        near = nearest(name.removeprefix(PREFIX), [each.removeprefix(PREFIX) for each in HOOKS])
        remedy = f"did you mean '{PREFIX}{near}'?" if near else f"known: {', '.join(HOOKS)}"
        raise pytest.UsageError(f"{at}: runcoord has no hook {name!r} ({remedy}). Nothing was run.")
    wanted = list(inspect.signature(HOOKS[name]).parameters)
    extra = [each for each in implementation.argnames if each not in wanted]
    if extra:
        remedy = did_you_mean(extra[0], wanted, "it has none") if wanted else "it has none"
        raise pytest.UsageError(
            f"{at}: the hook {name} has no argument {extra[0]!r} ({remedy}). Nothing was run."
        )
    if implementation.wrapper or implementation.hookwrapper:
        raise pytest.UsageError(f"{at}: the hook {name} cannot be wrapped. Nothing was run.")
    if inspect.iscoroutinefunction(implementation.function):
        raise pytest.UsageError(f"{at}: the hook {name} is async, and nobody awaits it. Nothing was run.")


def subject_named(config: pytest.Config, name: str) -> Any:
    """What a plugin gives for a name; ``None`` if none knows it."""
    for hook in hooks_of(config, "pytest_runcoord_subject"):
        found = hook.call(config=config, name=name)
        if isinstance(found, ModuleType | str | Mapping) or found is True or found is False:
            raise hook.mistake(f"gave {found!r} for {name!r}", "give a class, or None for a name of others")
        if found is not None:
            return found
    return None


def extend(config: pytest.Config) -> Extensions:
    """Everything that hooks add; raises :class:`pytest.UsageError` for what makes no sense."""
    extensions = Extensions(reports=tuple(hooks_of(config, "pytest_runcoord_report")))
    words = list(hooks_of(config, "pytest_runcoord_words"))
    if words:
        from pytest_runcoord.own_words import extended

        extensions.registry = extended(words)
    invariants = list(hooks_of(config, "pytest_runcoord_invariants"))
    if invariants:
        from pytest_runcoord.own_invariants import collected

        extensions.invariants = collected(invariants, extensions.registry)
    config.stash[EXTENSIONS] = extensions
    return extensions


def require_invariants(config: pytest.Config, table: ProjectTable) -> None:
    """Refuse a table that requires what is no invariant."""
    if not table.required_invariants:
        return
    known = sorted({each.id for each in watched_in(config)})
    for name in table.required_invariants:
        if name not in known:
            place = table.at("required_invariants")
            assert place is not None
            raise mistake(place, f"{name!r} is no invariant", did_you_mean(name, known))


TOO_LATE = (
    "pytest loads this file while it collects, which is too late for hooks of runcoord (move the hook to the "
    "conftest.py beside pytest's configuration, or into a plugin)"
)
LATE_PLUGIN = (
    "this plugin was registered when runcoord was configured already, which is too late for its hooks "
    "(register it in pytest_addoption, or in a pytest_configure that is not trylast)"
)
Known = dict[str, frozenset[int]]
"""Hooks that were there when pytest was configured, by :func:`hooks_in`."""


def refuse_late_hooks(config: pytest.Config, report: pytest.CollectReport, known: Known) -> None:
    """Say which file has hooks and was loaded while pytest collected. Stops the run; in a worker of xdist,
    whose end would be taken for a crash, the collection fails."""
    problems = []
    if report.failed and "PluginValidationError" in (text := report.longreprtext) and PREFIX in text:
        found = re.search(r"Plugin '([^']*)' for hook '(\w+)'", text)
        if found:
            problems.append(f"{found[1]}: the hook {found[2]} has a wrong argument, and {TOO_LATE}")
    problems += _late(config, known)
    known.update(hooks_in(config))
    if not problems:
        return
    if not hasattr(config, "workerinput"):
        raise pytest.UsageError(f"{problems[-1]}. Nothing was run.")
    report.outcome = "failed"
    report.longrepr = problems[-1]


def _late(config: pytest.Config, known: Known) -> list[str]:
    """What is wrong with hooks that were not there when pytest was configured."""
    problems = []
    for name in hooks_in(config):
        for implementation in getattr(config.pluginmanager.hook, name).get_hookimpls():
            if id(implementation) not in known.get(name, ()):
                why = TOO_LATE if "conftest.py" in str(implementation.plugin_name) else LATE_PLUGIN
                problems.append(f"{where(config, implementation)}: the hook {name}: {why}")
                implementation.optionalhook = True  # pytest would call it an internal error
    return problems


def never_called(config: pytest.Config, known: Known) -> list[str]:
    """Hooks that somebody wrote, and that were not heard of, at the end of a run: what they add was not
    there."""
    problems = _late(config, known)
    for plugin in config.pluginmanager.get_plugins():
        if isinstance(plugin, ModuleType):
            at = getattr(plugin, "__file__", None) or plugin.__name__
            problems += [
                f"{at}: {name} is no function, so it was never called"
                for name in sorted(vars(plugin).keys() & HOOKS.keys())
                if not inspect.isroutine(vars(plugin)[name])
            ]
    return problems


def registry_of(config: pytest.Config | None) -> Registry:
    """All words of a session; without one those that come with runcoord."""
    extensions = None if config is None else config.stash.get(EXTENSIONS, None)
    if extensions is not None and extensions.registry is not None:
        return extensions.registry
    from pytest_runcoord.verbs import default_registry

    return default_registry()


def watched_in(config: pytest.Config | None) -> tuple[type[Invariant], ...]:
    """All invariants that watch the scenarios of a session."""
    from pytest_runcoord.invariants import WATCHED

    extensions = None if config is None else config.stash.get(EXTENSIONS, None)
    return WATCHED if extensions is None else (*WATCHED, *extensions.invariants)
