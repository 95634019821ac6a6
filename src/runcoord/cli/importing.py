"""``runcoord import``: run folders that were left behind become runs."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from runcoord import RUN_FOLDERS, ImportReport, Layout, RunFolders
from runcoord._core.limits import FOLDERS_NAMED, FOLDERS_NAMED_WHEN_ASKED
from runcoord._core.values import replace
from runcoord.cli import documents
from runcoord.cli.failures import Exit, Failure
from runcoord.cli.global_options import UTF8, RuncoordCommand, pass_session
from runcoord.cli.layouts import LayoutChoice
from runcoord.cli.lengths import Length
from runcoord.cli.output import is_terminal
from runcoord.cli.session import Session, leave
from runcoord.cli.wording import counted, printable
from runcoord.errors import InvalidRequest

if TYPE_CHECKING:
    from runcoord.ports import RefusedFolder

BAR_AFTER_SECONDS = 0.5
"""A shorter import shows no bar: it would only flicker."""

Progress = Callable[[int, int], None]


@click.command("import", cls=RuncoordCommand)
@click.argument("home", metavar="HOME", type=click.Path())
@click.option(
    "--layout",
    type=LayoutChoice(),
    default=RUN_FOLDERS.name,
    show_default=True,
    metavar="NAME|FILE",
    help="How the folders are laid out: a name, or a file that ends in .toml.",
)
@click.option(
    "--root",
    type=UTF8,
    default=None,
    metavar="DIR",
    help="Directory of the folders below HOME, instead of the layout's; . is HOME itself.",
)
@click.option(
    "--to",
    type=UTF8,
    default="",
    metavar="DESTINATION",
    help="Where the events of runs that are imported now go. Without it they are held; those that were held "
    "before stay so. See runcoord events --replay.",
)
@click.option(
    "--prune-after",
    type=Length(),
    default=None,
    metavar="TIME",
    help="Remove folders that have a tombstone and whose runs ended so long ago (30d).",
)
@pass_session
def import_folders(
    session: Session, home: str, layout: Layout, root: str | None, to: str, prune_after: float | None
) -> None:
    """Make the run folders below HOME runs of the store, once, and report.

    A run without a tombstone was under way, and ends as interrupted; one with a tombstone is history, of
    which nobody is told again. HOME is trusted, however it is spelled; below it no link is followed, and
    what a folder says of where its event should go is shown, but not believed. A folder that is known is not
    read again, so that importing twice changes nothing. Nothing is written into a folder but its tombstone,
    once its event was delivered.
    """
    if root is not None:
        try:
            layout = replace(layout, root=root)
        except InvalidRequest as error:
            raise click.BadParameter(f"{error.problem}.", param_hint="--root") from error
    _require_there(home, layout)
    folders = RunFolders(home, layout, to, prune_after)
    with session.open(changes=True, create=True) as coordinator, _shown_progress(session) as progress:
        report = coordinator.import_folders(folders, progress=progress)
    _tell(session, report)
    if report.problem is not None:
        session.output.failure(_problem_of(report, layout))
        leave(Exit.SOMETHING_LEFT if report.looked_at else Exit.REFUSED)
    if left_out(report):
        leave(Exit.SOMETHING_LEFT)


def _require_there(home: str, layout: Layout) -> None:
    """A path that was mistyped makes no store. What stands there is judged by the import."""
    try:
        there = stat.S_ISDIR(Path(home).stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        there = False
    except OSError as error:
        raise click.BadParameter(
            f"{home!r:.200} cannot be looked at: {error.strerror}.", param_hint="HOME"
        ) from error
    if not there:
        raise click.BadParameter(f"there is no directory {home!r}.", param_hint="HOME")
    if not os.path.lexists(Path(home, layout.root)):
        raise click.BadParameter(
            f"there is no {layout.root!r} in {home!r}. For another directory in it: --root; "
            "if it holds the run folders itself: --root .",
            param_hint="HOME",
        )


@contextmanager
def _shown_progress(session: Session) -> Iterator[Progress | None]:
    """A bar on standard error, where somebody looks at it and no program reads along."""
    if session.json or not is_terminal(sys.stderr):
        yield None
        return
    bar = LateBar(sys.stderr, colored=session.output.colored(sys.stderr))
    try:
        yield bar
    finally:
        bar.close()


class LateBar:
    """A progress bar that begins when the work has taken a while, and goes away with its end."""

    def __init__(self, stream: TextIO, *, colored: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._colored, self._clock = stream, colored, clock
        self._shown_from = clock() + BAR_AFTER_SECONDS
        self._bar: Any = None

    def __call__(self, looked_at: int, listed: int) -> None:
        if self._bar is None:
            if self._clock() < self._shown_from:
                return
            self._bar = self._begun()
        self._bar.update(self._bar.task_ids[0], completed=looked_at, total=listed)

    def _begun(self) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("Importing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        console = Console(file=self._stream, no_color=not self._colored)
        bar = Progress(*columns, console=console, transient=True)
        bar.add_task("", total=None)
        bar.start()
        return bar

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()


def _tell(session: Session, report: ImportReport) -> None:
    if session.json:
        session.output.document(documents.import_document(report))
    elif report.problem is None or report.looked_at:
        session.output.sentences(report_lines(report))


def report_lines(report: ImportReport) -> list[str]:
    """What one import did, for people."""
    lines = [f"Looked at {counted(report.looked_at, 'entry', 'entries')} of {printable(report.root)}."]
    if report.imported:
        lines.append(f"  {counted(report.imported, 'run')} imported as interrupted; {_told(report)}")
    if report.history:
        lines.append(f"  {counted(report.history, 'run')} imported as history, of which nobody is told again")
    if report.known:
        lines.append(f"  {report.known:,} known before")
    if report.changed_count:
        lines.append(f"  {counted(report.changed_count, 'known one')} changed since, left as imported:")
        lines += [f"    {printable(name)}" for name in report.changed[:FOLDERS_NAMED]]
        lines += _unnamed(report.changed_count)
    lines += _named("refused", report.refused, report.refused_count)
    lines += _named("corrupt", report.corrupt, report.corrupt_count)
    if report.tombstoned:
        lines.append(f"  {counted(report.tombstoned, 'tombstone')} written, events being delivered")
    lines += _named("without the tombstone due", report.tombstone_failures, report.tombstones_failed)
    if report.pruned:
        lines.append(f"  {counted(report.pruned, 'old folder')} removed")
    lines += _named("old, but not removed", report.pruning_failures, report.prunings_failed)
    if report.gone:
        lines.append(f"  {counted(report.gone, 'known folder')} not there any more")
    if len(lines) == 1:
        lines.append("  No run folder is there.")
    lines += [f"  This system cannot promise: {printable(each)}" for each in report.missing]
    return lines


def _told(report: ImportReport) -> str:
    parts = []
    if report.routed:
        parts.append(f"{counted(report.routed, 'event')} to be delivered")
    if report.held:
        parts.append(f"{counted(report.held, 'event')} held: runcoord events --held")
    return ", ".join(parts) or "no events"


def _named(what: str, folders: list[RefusedFolder], count: int) -> list[str]:
    if not count:
        return []
    lines = [f"  {count:,} {what}:"]
    shown = folders[:FOLDERS_NAMED]
    lines += [f"    {printable(each.name)}  {each.kind}: {printable(each.reason)}" for each in shown]
    return lines + _unnamed(count)


def _unnamed(count: int) -> list[str]:
    rest = count - FOLDERS_NAMED
    return [f"    … and {rest:,} more; --json names up to {FOLDERS_NAMED_WHEN_ASKED:,}"] if rest > 0 else []


def left_out(report: ImportReport) -> bool:
    """Whether something was not done, which the report names."""
    return bool(
        report.refused_count
        or report.corrupt_count
        or report.tombstones_failed
        or report.prunings_failed
        or report.unfinished
    )


def _problem_of(report: ImportReport, layout: Layout) -> Failure:
    details: dict[str, Any] = {"root": report.root}
    remedy = f"The folders are looked for in {layout.root!r} below HOME; for another place: --root."
    if report.looked_at:
        remedy = "What was imported by then stays; import again."
    return Failure(
        "home-unreachable", f"{report.root}: {report.problem}", Exit.REFUSED, remedy, details=details
    )
