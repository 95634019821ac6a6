"""Settings of a coordinator, checked together before anything is opened."""

from __future__ import annotations

from runcoord._core import limits
from runcoord._core.values import names_of, value
from runcoord.errors import InvalidConfiguration

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from runcoord._core.run_folders import RunFolders


@value
class Settings:
    """How one coordinator behaves. All times in seconds.

    Raises :class:`~runcoord.errors.InvalidConfiguration` for values that cannot work together.
    """

    lease: float = limits.LEASE_SECONDS
    """How long an acquisition lasts without a renewal."""
    renew: float = limits.RENEW_SECONDS
    """Interval between renewals. Two must fit into the time for which a holder trusts its lease."""
    sweep: float = limits.SWEEP_SECONDS
    """Interval between recovery sweeps."""
    operator: str = ""
    """Destination that is told, in one digest, about events that are held. Empty: nobody is told."""
    interruption_budget: int = limits.INTERRUPTION_BUDGET
    """Automatic retries after interruptions that a submitted run gets unless it says otherwise."""
    prune_after: float | None = None
    """Age at which finished, delivered runs are removed by the sweep, with their idempotency keys: make it
    longer than anybody goes on repeating a submission. ``None``: never. Age is wall time since the end."""

    imports: tuple[RunFolders, ...] = ()
    """Homes of older run folders that each sweep imports, a bounded number at a time."""

    def __post_init__(self) -> None:
        self._require_imports()
        for name in ("lease", "renew", "sweep"):
            self._require_seconds(name, getattr(self, name))
        if self.prune_after is not None:
            self._require_seconds("prune_after", self.prune_after)
        least, most = limits.MIN_LEASE_SECONDS, limits.MAX_LEASE_SECONDS
        if not least <= self.lease <= most:
            raise InvalidConfiguration(
                f"lease {self.lease!r} s is outside {least:g} to {most:g} s",
                remedy="Choose one in that range; a few times the interval of renewal.",
                setting="lease",
                value=self.lease,
            )
        trusted = self.lease * limits.TRUST_FRACTION
        if 2 * self.renew >= trusted:
            raise InvalidConfiguration(
                f"renew {self.renew:g} s is too long for a lease of {self.lease:g} s:"
                " one failed renewal would lose it",
                remedy=f"Renew at least every {trusted / 2:g} s (exclusive), or lengthen the lease.",
                setting="renew",
                value=self.renew,
                lease=self.lease,
            )
        budget, highest = self.interruption_budget, limits.MAX_INTERRUPTION_BUDGET
        if isinstance(budget, bool) or not isinstance(budget, int) or not 0 <= budget <= highest:
            raise InvalidConfiguration(
                f"interruption_budget {budget!r} is not a whole number from 0 to {highest}",
                remedy="Use 0 for no automatic retries.",
                setting="interruption_budget",
                value=repr(budget),
            )
        if not isinstance(self.operator, str) or len(self.operator) > limits.MAX_ID_CHARACTERS:
            raise InvalidConfiguration(
                f"operator {self.operator!r} is not the name of a destination",
                remedy=f"Name one in at most {limits.MAX_ID_CHARACTERS} characters, or leave it empty.",
                setting="operator",
            )

    def _require_imports(self) -> None:
        if not self.imports and isinstance(self.imports, tuple):
            return
        from runcoord._core.run_folders import RunFolders  # few have any

        homes = self.imports if isinstance(self.imports, tuple) else (self.imports,)
        for each in homes:
            if homes is not self.imports or not isinstance(each, RunFolders):
                raise InvalidConfiguration(
                    f"imports {self.imports!r:.200} is not a tuple of RunFolders",
                    remedy="Give RunFolders(home) for each home.",
                    setting="imports",
                )
        if len(homes) > limits.MAX_IMPORTED_HOMES:
            raise InvalidConfiguration(
                f"imports names {len(homes)} homes",
                remedy=f"Name at most {limits.MAX_IMPORTED_HOMES}.",
                setting="imports",
                value=len(homes),
            )

    def _require_seconds(self, name: str, value: float) -> None:
        plain = isinstance(value, int | float) and not isinstance(value, bool)
        if not plain or not 0 < value <= limits.MAX_SETTING_SECONDS:
            raise InvalidConfiguration(
                f"{name} {value!r} is not a positive number of seconds",
                remedy=f"Use a number above 0, at most {limits.MAX_SETTING_SECONDS:g}.",
                setting=name,
                value=repr(value),
            )

    @classmethod
    def names(cls) -> list[str]:
        return list(names_of(cls))
