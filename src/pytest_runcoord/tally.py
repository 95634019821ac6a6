"""What ran, counted from pytest's reports: they alone cross from the processes that run to the teller.

The properties are plain text and numbers, because JUnit files show them too and xdist can send nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from textwrap import wrap

from pytest_runcoord.verdict import RunResult, Verdict
from runcoord.values import field, record

SCENARIO, VARIANT, LINE = "runcoord_scenario", "runcoord_variant", "runcoord_line"
VERDICT, MISSING, EXERCISED = "runcoord_verdict", "runcoord_missing", "runcoord_invariants"
FAILED_BY, FAILED_LINE, TIER = "runcoord_failed_by", "runcoord_failed_line", "runcoord_tier"
SKIPPED, FAILED_COLUMN = "runcoord_skipped", "runcoord_failed_column"
KNOWN, KNOWN_IS = "runcoord_known_failure", "runcoord_known_failure_is"
OF_A_RESULT = frozenset(
    {
        *(VERDICT, MISSING, EXERCISED, FAILED_BY, FAILED_LINE, FAILED_COLUMN),
        *(TIER, SKIPPED, KNOWN, KNOWN_IS),
    }
)
"""What one attempt at a scenario found; the next one replaces it."""
XFAILED = "xfailed"
"""How a failure that is known is counted; pytest has the same word."""
RAN = frozenset({Verdict.PASSED.value, Verdict.FAILED.value, Verdict.UNKNOWN.value, XFAILED})
"""Verdicts of what ran."""
FAILURES = frozenset({Verdict.FAILED.value, Verdict.UNKNOWN.value, "invalid", "error"})
"""Verdicts that must be failures of the test too."""
MOST_REASONS = 10
"""Lines of a summary for reasons why variants were skipped."""
MOST_NEVER = 12
"""Invariants without an occasion to fail that a summary names by itself; few scenarios leave most of them."""
BETWEEN = ", "
"""Between things that are missing: a moment that a subject does not name has blanks in what it is called."""
TOGETHER = "\u00a0"
"""Between a name and its number: they stay on one line."""


def properties(result: RunResult) -> list[tuple[str, object]]:
    """What a report says about a result, beside its text."""
    exercised = " ".join([f"{name}={count}" for name, count in result.exercised.items()])
    found: list[tuple[str, object]] = [(VERDICT, result.verdict.value)]
    if exercised:
        found.append((EXERCISED, exercised))
    if result.missing:
        found.append((MISSING, BETWEEN.join(result.missing)))
    if result.skipped and not result.missing:
        found.append((SKIPPED, str(result.skipped)))
    if "tier" in result.choices:
        found.append((TIER, result.choices["tier"]))
    if result.failure is not None:
        found.append((FAILED_BY, f"{result.failure.kind.value} {result.failure.name}".strip()))
        found.append((FAILED_LINE, int(result.failure.line)))
        found.append((FAILED_COLUMN, int(result.failure.column)))
    return found


@record
class Variant:
    """One node as the reports told it; a later report on the same node replaces an earlier one."""

    scenario: str
    verdict: str
    missing: tuple[str, ...] = ()
    exercised: Mapping[str, int] = field(default_factory=dict)
    tier: str = ""
    skipped: str = ""
    known: str = ""
    """The known failure that is about it, and what that came to."""
    known_is: str = ""
    outcome: str = ""
    """What pytest made of it."""


@record
class Tally:
    """All variants of a run by node id."""

    variants: dict[str, Variant] = field(default_factory=dict)

    def add(self, nodeid: str, when: str, outcome: str, pairs: Iterable[tuple[str, object]]) -> None:
        """Take in one report; reports on anything but scenarios are passed over."""
        if when != "call" and (outcome == "passed" or nodeid in self.variants):
            return
        found = dict(pairs)
        if SCENARIO not in found:
            return
        # Names and numbers by turns, read without a loop: each scenario tells of every invariant.
        exercised = str(found.get(EXERCISED, "")).replace("=", " ").split()
        self.variants[nodeid] = Variant(
            nodeid.rpartition("::")[0],
            _verdict(found, outcome),
            tuple(filter(None, str(found.get(MISSING, "")).split(BETWEEN))),
            dict(zip(exercised[::2], map(int, exercised[1::2]), strict=True)),
            str(found.get(TIER, "")),
            str(found.get(SKIPPED, "")),
            str(found.get(KNOWN, "")),
            str(found.get(KNOWN_IS, "")),
            outcome,
        )

    def verdicts(self) -> Counter[str]:
        return Counter(each.verdict for each in self.variants.values())

    def scenarios_run(self) -> int:
        """Scenarios of which at least one variant ran to a verdict."""
        return len({each.scenario for each in self.variants.values() if each.verdict in RAN})

    def exercised(self) -> Counter[str]:
        """For every invariant that was on watch how often it could have failed; zero counts too."""
        total: Counter[str] = Counter()
        for each in self.variants.values():
            for name, count in each.exercised.items():
                total[name] += count
        return total

    def missing(self) -> Counter[str]:
        """Capabilities that the subject lacks, with the number of variants skipped for each."""
        return Counter(name for each in self.variants.values() for name in each.missing)

    def nearly(self) -> Counter[str]:
        """The same for variants that were skipped for nothing else: with one thing more they would run."""
        return Counter(each.missing[0] for each in self.variants.values() if len(each.missing) == 1)

    def counts_line(self) -> str:
        scenarios = len({each.scenario for each in self.variants.values()})
        verdicts = self.verdicts()
        order = ["passed", "failed", XFAILED, "skipped", "unknown", "invalid", "error"]
        counted = ", ".join(f"{verdicts[name]} {name}" for name in order if verdicts[name])
        return f"{_plural(scenarios, 'scenario')} in {_plural(len(self.variants), 'variant')}: {counted}"

    def tiers(self) -> dict[str, Counter[str]]:
        """Verdicts by tier, of the variants that name one."""
        found: dict[str, Counter[str]] = {}
        for each in self.variants.values():
            if each.tier:
                found.setdefault(each.tier, Counter())[each.verdict] += 1
        return found

    def ran_in(self, tier: str) -> int:
        """Variants of a tier that ran to a verdict; those that name none are of the tier sim."""
        return sum((each.tier or "sim") == tier and each.verdict in RAN for each in self.variants.values())

    def reasons(self) -> Counter[tuple[str, str]]:
        """Why variants were skipped, by tier, apart from what the subject lacks."""
        return Counter((each.tier, each.skipped) for each in self.variants.values() if each.skipped)

    def summary(self, width: int, *, whole: bool = False) -> list[str]:
        """What the end of a run says, in lines of at most ``width`` columns; ``whole`` leaves nothing out."""
        return [
            line.replace(TOGETHER, " ")
            for paragraph in self._paragraphs(whole)
            for line in wrap(paragraph, width, subsequent_indent="  ", break_on_hyphens=False)
        ]

    def _paragraphs(self, whole: bool) -> list[str]:
        lines = [self.counts_line()]
        if "real" in (tiers := self.tiers()):
            lines += [f"tier {name}: {_counted(verdicts)}" for name, verdicts in sorted(tiers.items())]
        lines += [
            f"skipped{f' in tier {tier}' if tier else ''}: {count}, {reason}"
            for (tier, reason), count in self.reasons().most_common(MOST_REASONS)
        ]
        missing, exercised = self.missing(), self.exercised()
        if missing:
            lines.append(f"skipped for what the subject lacks: {_counted(missing)}")
            if (nearly := self.nearly()) and nearly != missing:
                lines.append(f"of these, would run with one thing more: {_counted(nearly)}")
        if any(exercised.values()):
            lines.append(f"invariants with occasions to fail: {_counted(exercised)}")
        if never := never_exercised(exercised):
            named = whole or len(never) <= MOST_NEVER
            told = (
                ", ".join(never) if named else f"{len(never)} of {len(exercised)} invariants (-v names them)"
            )
            lines.append(f"never exercised, so nothing is known about: {told}")
        return lines


def _verdict(found: Mapping[str, object], outcome: str) -> str:
    if found.get(KNOWN_IS) == "passes":
        return Verdict.FAILED.value
    if found.get(KNOWN_IS) == "expected" and outcome == "skipped":  # not with --runxfail
        return XFAILED
    # Without a verdict something around the scenario failed or skipped it, so it did not run.
    verdict = str(found.get(VERDICT, Verdict.SKIPPED.value if outcome == "skipped" else "error"))
    if outcome != Verdict.FAILED:
        return verdict
    # Around it something failed that passed by itself, or that is skipped and is required.
    around = {Verdict.PASSED.value: Verdict.FAILED.value, Verdict.SKIPPED.value: "error"}
    return around.get(verdict, verdict)


def never_exercised(exercised: Mapping[str, int]) -> list[str]:
    return sorted(name for name, count in exercised.items() if not count)


def _counted(counts: Counter[str]) -> str:
    counted = ((name.replace(" ", TOGETHER), count) for name, count in counts.most_common() if count)
    return ", ".join(f"{name}{TOGETHER}{count}" for name, count in counted)


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
