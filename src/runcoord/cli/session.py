"""What one invocation knows: its global options, the store they name, and where to write.

Nothing of click is loaded for it: a plain ``runcoord run`` does without.
"""

from __future__ import annotations

from runcoord._core.values import field, record
from runcoord.cli.default_store import STORE_VARIABLE, default_store
from runcoord.cli.failures import Exit, Failure
from runcoord.cli.output import Output
from runcoord.errors import StoreUnavailable

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:  # an invocation that opens no store loads nothing of it
    from typing import NoReturn

    from runcoord import Coordinator, Instant, Ports
    from runcoord.ports import BadRow, Clock


@record
class Session:
    """One invocation. Contributed commands get it as ``ctx.obj``; see :mod:`runcoord.cli.contributed`."""

    ports: Ports | None = None
    """Replacements for the real edges, for tests and simulated worlds."""
    output: Output = field(default_factory=Output)
    store: str = ""
    """The store as named by an option or the environment; empty: the default."""
    store_from: str = "the default"
    changes: bool = False
    """Whether the command may have begun to change something."""

    @property
    def json(self) -> bool:
        """Whether ``--json`` was given: write one JSON document to standard output, and nothing else."""
        return self.output.json

    @property
    def url(self) -> str:
        """The chosen store, or the default one."""
        return self.store or default_store()

    def open(self, *, changes: bool = False, create: bool = False) -> Coordinator:
        """The coordinator on the chosen store, which must exist, unless ``create`` is set. ``changes``: the
        command will write.

        This process serves no destinations, so it delivers nothing and leaves events to those that do.
        """
        from runcoord import open_coordinator

        url = self.url
        try:
            coordinator = open_coordinator(url, create=create, ports=self.ports)
        except StoreUnavailable as error:
            error.details.setdefault("store", url)
            if not self.store:
                error.remedy = " ".join(
                    part
                    for part in (error.remedy, f"Or name another store: --store, {STORE_VARIABLE}.")
                    if part
                )
            raise
        self.changes = changes
        return coordinator

    def warn_of_bad_rows(self, bad: list[BadRow], more: int = 0) -> None:
        """Say which rows could not be read, and leave with the code for it. Nothing is said of none."""
        if not bad and not more:
            return
        from runcoord.cli.documents import bad_row_document

        total = len(bad) + more
        named = "; ".join(_bad_row(row) for row in bad[:BAD_ROWS_SAID])
        unnamed = f"; and {total - BAD_ROWS_SAID} more" if total > BAD_ROWS_SAID else ""
        failure = Failure(
            "undecodable-row",
            f"{total} {'row' if total == 1 else 'rows'} could not be read ({named}{unnamed})",
            Exit.SOMETHING_LEFT,
            "Everything else is shown. The rows were left as they are.",
            details={"count": total, "rows": [bad_row_document(row) for row in bad]},
        )
        self.output.failure(failure)
        leave(Exit.SOMETHING_LEFT)


BAD_ROWS_SAID = 5
"""Bad rows named in the one line for people; the document has all."""


def _bad_row(row: BadRow) -> str:
    """What is wrong with a row, with its place if the problem does not name it already."""
    named = row.table in row.problem and repr(row.key) in row.problem
    return row.problem if named else f"{row.table} {row.key!r}: {row.problem}"


def leave(code: Exit) -> NoReturn:
    """End the command with another code than 0. What was written stays written."""
    import click

    raise click.exceptions.Exit(int(code))


def instant(clock: Clock) -> Instant:
    from runcoord import Instant

    return Instant(clock.wall(), clock.boottime(), clock.boot_id())
