"""Two pages of the reference, made from the scenarios, the invariants and the seeded defects.

From the root of the project: ``PYTHONPATH=tests python -m defects.table`` says which of them are not
current, with exit code 1 if any is; ``--write`` writes them. A test asks the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from defects.catalogue import AREAS, Defect, defects, runs_of, scenario_path, scenarios_in, slugs
from pytest_runcoord.invariants import INVARIANTS, Invariant
from pytest_runcoord.scenario import Scenario

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
WRITTEN = "<!-- Written by `PYTHONPATH=tests python -m defects.table --write`; a test compares. -->"

ABOUT_FAILURE_MODES = (
    """What is known to go wrong in coordinators, and what must happen instead. Each failure mode has a
    file of scenarios, green on the reference, and seeded defects: the reference with one rule broken,
    each of which turns a scenario of that file red by what is named as its catcher.""",
    """A catcher is an [invariant](invariants.md), an [expectation](scenario-language.md#expectations),
    or the step itself: `refused` for one that was not refused as it must be, `never-returns` and
    `bound` for one that does not end, a verb for one that failed, a moment for one that was not
    reached.""",
    """Origins: R1 to R15 are findings of the recovery review that this project grew out of, R-cut its
    unnumbered list, R-pr the promises of the reviewed change; the others are public reports, by
    repository and number.""",
)
ABOUT_INVARIANTS = (
    """What must always be so. Every scenario is held to all of them: after each step, and at the end,
    when its faults have stopped and the coordinator has had time to recover. Each counts how often it
    was *exercised*, had occasion to fail; one that never had in a whole run is reported, not called
    green.""",
    """A subject exercises an invariant only if it has the capabilities that it needs, and a scenario
    gives occasion; where that takes something special, it is said. How many failure modes exercise it
    is counted on the reference in the `sim` tier. [Failure modes](failure-modes.md) names for each what
    it is caught by.""",
)
MOST_NAMED = 9
"""Failure modes that are listed by their names; more are counted, as nobody reads so many links in a row."""
INVARIANT_IDS = frozenset(kind.id for kind in INVARIANTS)


# --- failure modes --------------------------------------------------------------------------------


def failure_modes() -> str:
    parts = ["# Failure modes", WRITTEN, *(" ".join(each.split()) for each in ABOUT_FAILURE_MODES)]
    for area in AREAS:
        parts += [f"## {area.capitalize()}", _overview(area)]
        for slug in slugs(area):
            parts += _failure_mode(area, slug)
    return "\n\n".join(parts) + "\n"


def _overview(area: str) -> str:
    return _table(
        ("Failure mode", "Origin", "What is right", "Caught by", "Defects"),
        [
            (
                f"[{slug}](#{slug})",
                ", ".join(origins(scenarios_in(scenario_path(area, slug)))),
                scenarios_in(scenario_path(area, slug))[0].says,
                ", ".join(_catchers(of(area, slug))),
                str(len(of(area, slug))),
            )
            for slug in slugs(area)
        ],
    )


def _failure_mode(area: str, slug: str) -> list[str]:
    scenarios = scenarios_in(scenario_path(area, slug))
    path = scenario_path(area, slug).relative_to(ROOT).as_posix()
    return [
        f"### {slug}",
        f"`{path}` · {', '.join(origins(scenarios))}",
        "\n".join(f"- `{each.name}`: {each.says}" for each in scenarios),
        _table(
            ("Defect", "Scenario", "Caught by"),
            [
                (each.says, f"`{each.scenario or scenarios[0].name}`", _catcher(each))
                for each in of(area, slug)
            ],
        ),
    ]


def of(area: str, slug: str) -> list[Defect]:
    """The defects of one failure mode."""
    return [each for each in defects(area) if each.slug == slug]


def origins(scenarios: Iterable[Scenario]) -> list[str]:
    """Where a failure mode was seen; some files mark public reports with a P."""
    return list(dict.fromkeys(each.removeprefix("P ") for found in scenarios for each in found.origin))


def _catchers(found: list[Defect]) -> list[str]:
    return list(dict.fromkeys(_catcher(each) for each in found))


def _catcher(defect: Defect) -> str:
    """What fails, linked to what explains it."""
    word = defect.caught_by
    if word in INVARIANT_IDS:
        return f"[{word}](invariants.md#{word})"
    return f"`{word}`"


# --- invariants -----------------------------------------------------------------------------------


def invariants() -> str:
    exercised, everywhere = exercised_in(), {area: slugs(area) for area in AREAS}
    most = sum(map(len, everywhere.values()))
    parts = [
        "# Invariants",
        WRITTEN,
        *(" ".join(each.split()) for each in ABOUT_INVARIANTS),
        _table(
            ("Invariant", "Says", "Needs", "Exercised by"),
            [
                (f"[{kind.id}](#{kind.id})", kind.says, _needs(kind), str(_count(exercised[kind.id])))
                for kind in INVARIANTS
            ],
        ),
    ]
    for kind in INVARIANTS:
        where, caught = exercised[kind.id], caught_in(kind.id)
        number = f"{_count(where)} of {most}" if where != everywhere else f"all {most}"
        defective = f"{_count(caught)} failure modes: " if _count(caught) > MOST_NAMED else ""
        parts += [
            f"## {kind.id}",
            kind.says,
            *([f"Occasion: {kind.occasion}"] if kind.occasion else []),
            f"Exercised by {number} failure modes: {_told(where)}." if where else "Exercised by none.",
            f"Catches seeded defects of {defective}{_told(caught)}." if caught else "Catches none.",
        ]
    return "\n\n".join(parts) + "\n"


def caught_by(invariant: str) -> list[Defect]:
    """The defects that an invariant catches."""
    return [each for area in AREAS for each in defects(area) if each.caught_by == invariant]


def caught_in(invariant: str) -> dict[str, list[str]]:
    """By area the failure modes with defects that an invariant catches; areas without any are left out."""
    found = {
        area: list(dict.fromkeys(each.slug for each in defects(area) if each.caught_by == invariant))
        for area in AREAS
    }
    return {area: where for area, where in found.items() if where}


def exercised_in() -> dict[str, dict[str, list[str]]]:
    """For each invariant, by area, the failure modes whose scenarios exercise it in the ``sim`` tier; areas
    without any are left out."""
    found: dict[str, dict[str, list[str]]] = {kind.id: {} for kind in INVARIANTS}
    for area in AREAS:
        for slug in slugs(area):
            counts = [ran.result.exercised for ran in runs_of(area, slug, "sim")]
            for invariant, where in found.items():
                if any(each.get(invariant) for each in counts):
                    where.setdefault(area, []).append(slug)
    return found


def _needs(kind: type[Invariant]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(kind.needs))


def _count(where: dict[str, list[str]]) -> int:
    return sum(map(len, where.values()))


def _told(where: dict[str, list[str]]) -> str:
    """Failure modes by name where they are few, otherwise how many there are in which area."""
    if _count(where) <= MOST_NAMED:
        names = dict.fromkeys(slug for found in where.values() for slug in found)
        return ", ".join(f"[{slug}](failure-modes.md#{slug})" for slug in names)
    return ", ".join(f"{len(found)} of [{area}](failure-modes.md#{area})" for area, found in where.items())


# --- writing --------------------------------------------------------------------------------------


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(head), ["---" for _ in head], *map(list, rows)]
    return "\n".join(
        f"| {' | '.join(' '.join(cell.split()).replace('|', chr(92) + '|') for cell in row)} |"
        for row in lines
    )


def _cell(text: str) -> str:
    # A bar would end the cell, a line break the table.
    return " ".join(text.split()).replace("|", "\\|")


PAGES: dict[str, Callable[[], str]] = {"failure-modes.md": failure_modes, "invariants.md": invariants}


def stale() -> list[str]:
    """The pages that say something else than the scenarios and defects do, by file name."""
    return [
        name
        for name, made in PAGES.items()
        if not (REFERENCE / name).exists() or (REFERENCE / name).read_text("utf-8") != made()
    ]


def main(arguments: list[str]) -> int:
    """Write the pages, or say which are not current."""
    if arguments not in ([], ["--write"]):
        print("usage: PYTHONPATH=tests python -m defects.table [--write]", file=sys.stderr)
        return 2
    found = stale()
    for name in found:
        if arguments:
            (REFERENCE / name).write_text(PAGES[name](), "utf-8")
        print(f"{'written' if arguments else 'not current'}: docs/reference/{name}")
    return 1 if found and not arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
