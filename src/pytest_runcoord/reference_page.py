"""The reference page of the scenario language, as Markdown, generated from the registry and its limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Mapping as MappingOf

from ._limits import DEFAULT_HEAL_SWEEPS, MAX_NESTING, MAX_SCENARIO_BYTES, MAX_STEPS, MAX_VARIANTS
from .scenario import HEADER
from .schema import may_stand_alone
from .vocabulary import Argument, Choice, Duration, Either, Kind, ListOf, Mapping, Record, Registry, Word


def reference_page(registry: Registry) -> str:
    """The whole page; the same registry gives the same text each time, so that it can be checked in."""
    parts = [
        "# Scenario language",
        "This page is generated from the registry that scenarios are read with.",
        *_document(registry),
        *_section("Given", "What holds before the first step, each word at most once.", registry.givens),
        *_section(
            "Steps",
            "Each entry of `steps` is one of these words. The value of an argument marked *direct* may "
            "stand directly after the word.",
            registry.steps,
        ),
        *_options(registry),
        *_section("Expectations", "Each entry of `expect` is one of these words.", registry.expectations),
        *_axes(registry),
        *_list(
            "Moments",
            "Named effects, for `crash_at` and for arguments that ask for one. They need the capability "
            "`moments`.",
            registry.moments,
        ),
        *_list("Refusals", "What a step may name as `refused`.", registry.refusals),
        *_list(
            "Capabilities",
            "What a subject may lack; a scenario that needs it, by a word, an argument or a value that it "
            "states, is then skipped by that name.",
            registry.capabilities,
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _document(registry: Registry) -> Iterator[str]:
    yield "## A scenario"
    yield (
        "A file `*.runcoord.yaml` holds one scenario, or several separated by `---`, in strict YAML 1.2: no "
        "duplicate keys, anchors, aliases, tags or merge keys. Only `true` and `false` are truth values; "
        "durations have a unit; a number with a leading zero is text. A file `*.runcoord.yml` is an error, "
        "for pytest and for `runcoord check`: nothing in it would run. "
        f"Limits: {MAX_SCENARIO_BYTES // 1024} KiB a file, {MAX_NESTING} levels, {MAX_STEPS} steps and "
        f"{MAX_VARIANTS} variants a scenario."
    )
    rows = [["`runcoord`", "version of the language, required", "1"]]
    rows += [_key_row(each) for each in HEADER]
    rows += [
        [
            "`needs`",
            "capabilities that are needed beside those of the words",
            "a list of [capabilities](#capabilities)",
        ],
        ["`given`", "what holds before the first step", "a mapping of [given](#given) words"],
        ["`steps`", "what is done and what happens, in order, required", "a list of [steps](#steps)"],
        ["`expect`", "what must be so at the end", "a list of [expectations](#expectations)"],
        ["`axes`", "what it is run with several values of", "a mapping of [axes](#axes) to lists of values"],
    ]
    yield _table(["key", "meaning", "value"], rows)
    yield (
        f"Without `heal`, everything must have converged {DEFAULT_HEAL_SWEEPS} sweeps after the last step. "
        "Names begin with a letter, a digit or `_` and have letters, digits, `_`, `.` and `-`."
    )


def _key_row(argument: Argument) -> list[str]:
    required = ", required" if argument.required else ""
    return [f"`{argument.name}`", argument.says + required, argument.kind.describe()]


def _section(title: str, says: str, words: MappingOf[str, Word]) -> Iterator[str]:
    if not words:
        return
    yield f"## {title}"
    yield says
    groups: dict[str, list[Word]] = {}
    for word in words.values():
        groups.setdefault(word.group, []).append(word)
    for group, members in groups.items():
        yield f"### {title}: {group}"
        for word in members:
            yield from _word(word)


def _word(word: Word) -> Iterator[str]:
    yield f"#### `{word.name}`"
    needs = f" Needs the capability `{word.capability}`." if word.capability else ""
    alone = " May stand alone." if may_stand_alone(word) and word.section != "given" else ""
    yield f"{word.says}{needs}{alone}"
    if word.value is not None:
        yield f"Value: {word.value.describe()}."
        yield from _inside("the value", word.value)
        yield from _keys_inside(word.value)
    if word.arguments:
        yield _argument_table("argument", word.arguments)
    for argument in word.arguments:
        yield from _inside(f"`{argument.name}`", argument.kind)
    if word.key:
        names = ", ".join(f"`{each}`" for each in word.key)
        yield f"Two of them with the same {names} must not contradict each other."
    if word.options:
        yield f"Options: {', '.join(map(_option, word.options))}."
    if word.example:
        lead = "" if word.section == "given" else "- "
        yield f"```yaml\n{lead}{word.example}\n```"


def _option(argument: Argument) -> str:
    needs = argument.says_needs("`")
    return f"`{argument.name}` ({needs})" if needs else f"`{argument.name}`"


def _inside(name: str, kind: Kind) -> Iterator[str]:
    """What the words mean that a value may have."""
    if isinstance(kind, Choice) and any(kind.meanings.values()):
        words = "\n".join(f"- `{word}`: {says}" for word, says in kind.meanings.items())
        yield f"Words of {name}:\n\n{words}"
    elif isinstance(kind, Either):
        for each in kind.kinds:
            yield from _inside(name, each)
    elif isinstance(kind, ListOf | Mapping):
        yield from _inside(name, kind.kind)


def _keys_inside(kind: Kind) -> Iterator[str]:
    """The keys of a mapping that belongs to the value of a word."""
    if isinstance(kind, Record):
        yield "Keys of the mapping:"
        yield _argument_table("key", kind.arguments.values())
    elif isinstance(kind, Either):
        for each in kind.kinds:
            yield from _keys_inside(each)
    elif isinstance(kind, ListOf | Mapping):
        yield from _keys_inside(kind.kind)


def _argument_table(head: str, arguments: Iterable[Argument]) -> str:
    return _table([head, "meaning", "value", "default"], [_argument_row(each) for each in arguments])


def _argument_row(argument: Argument) -> list[str]:
    default = (
        "required"
        if argument.required
        else ""
        if argument.default is None
        else "nothing"
        if argument.default == ""
        else f"`{_value(argument.default, argument.kind)}`"
    )
    direct = " *(direct)*" if argument.shorthand else ""
    needs = argument.says_needs("`")
    says = f"{argument.says} ({needs})" if needs else argument.says
    return [f"`{argument.name}`{direct}", says, argument.kind.describe(), default]


def _value(value: object, kind: Kind) -> str:
    """A default as a scenario would write it."""
    if isinstance(kind, Duration) and isinstance(value, float):
        return f"{value:g}s" if value >= 1 or not value else f"{value * 1000:g}ms"
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _options(registry: Registry) -> Iterator[str]:
    yield "## Options of steps"
    yield "A step takes those that its word lists, beside its arguments."
    rows = [[f"`{each.name}`", each.says, each.kind.describe()] for each in registry.options.values()]
    yield _table(["option", "meaning", "value"], rows)


def _axes(registry: Registry) -> Iterator[str]:
    if not registry.axes:
        return
    yield "## Axes"
    yield "Every combination of the values that a scenario lists is a test of its own."
    rows = [
        [
            f"`{axis.name}`",
            axis.says,
            axis.kind.describe(),
            "" if axis.default is None else f"`{_value(axis.default, axis.kind)}`",
        ]
        for axis in registry.axes.values()
    ]
    yield _table(["axis", "meaning", "value", "default"], rows)
    for axis in registry.axes.values():
        yield from _inside(f"`{axis.name}`", axis.kind)


def _list(title: str, says: str, meanings: MappingOf[str, str]) -> Iterator[str]:
    if not meanings:
        return
    yield f"## {title}"
    yield says
    yield _table(["name", "meaning"], [[f"`{name}`", meaning] for name, meaning in meanings.items()])


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [_row(head), _row("---" for _ in head), *map(_row, rows)]
    return "\n".join(lines)


def _row(cells: Iterable[str]) -> str:
    # A bar would end the cell, a line break the table.
    return "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in cells) + " |"
