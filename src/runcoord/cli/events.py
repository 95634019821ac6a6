"""``runcoord events``: what waits for its destination, what was delivered, and what is held and why."""

from __future__ import annotations

from collections.abc import Sequence

import click

from runcoord import BadRow, Coordinator, Event, EventList, EventState, Instant
from runcoord._core.values import value
from runcoord.cli import documents, paging
from runcoord.cli.global_options import UTF8, RuncoordCommand, pass_session
from runcoord.cli.session import Session, instant
from runcoord.cli.wording import counted, printable

MAX_SEQ = 2**63 - 1
"""Highest number that a store can give to an event."""


HELD_SHOWN = 100
"""Held events listed beside a page; ``--held`` pages through all of them."""


@value
class Listing:
    """One page of events, and what is held whatever the page; all in the order ``oldest`` asks for."""

    page: EventList
    oldest: bool
    more: bool
    held: list[Event]
    more_held: bool
    bad: list[BadRow]
    now: Instant

    @property
    def after(self) -> int | None:
        """Where the next page begins."""
        return self.page.events[-1].seq if self.page.events else None

    @property
    def also_held(self) -> list[Event]:
        """Held events that are not on the page."""
        on_page = {event.seq for event in self.page.events}
        return [event for event in self.held if event.seq not in on_page]


def _within_range(ctx: click.Context, param: click.Parameter, value: int) -> int:
    if not 0 <= value <= MAX_SEQ:
        raise click.BadParameter(f"{value} is no number of an event.", ctx, param)
    return value


@click.command("events", cls=RuncoordCommand)
@click.option("--held", is_flag=True, help="Only held events; the same as --state held.")
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice([state.value for state in EventState]),
    metavar="STATE",
    help=f"Only events that are {', '.join(EventState)}; may be repeated.",
)
@click.option("--run", "run_id", type=UTF8, default="", metavar="RUN", help="Only events of this run.")
@paging.limit_option("events")
@paging.oldest_option("events")
@click.option(
    "--after",
    type=int,
    default=0,
    callback=_within_range,
    metavar="SEQ",
    help="Go on after the event with this number: with lower ones, with --oldest higher ones.",
)
@click.option("--replay", type=UTF8, default="", metavar="EVENT", help="Send a held event again.")
@click.option(
    "--to", type=UTF8, default="", metavar="DESTINATION", help="With --replay: send it there instead."
)
@pass_session
@click.pass_context
def events(
    ctx: click.Context,
    session: Session,
    held: bool,
    states: Sequence[str],
    run_id: str,
    limit: int,
    oldest: bool,
    after: int,
    replay: str,
    to: str,
) -> None:
    """List the events that were written last, or send a held one again.

    The newest is the last line; as JSON it is the first. Held events wait for you: they are listed
    whatever page you look at, with the reason.
    """
    if ctx.get_parameter_source("replay") is click.core.ParameterSource.COMMANDLINE:
        listing_only = ("held", "states", "run_id", "limit", "oldest", "after")
        used = [name for name in listing_only if _given(ctx, name)]
        if used:
            raise click.UsageError("--replay names one event and goes with --to only.", ctx)
        _replay(session, replay, to)
        return
    if _given(ctx, "to"):
        raise click.UsageError("--to goes with --replay.", ctx)
    wanted = [EventState(state) for state in states]
    if held and EventState.HELD not in wanted:
        wanted.append(EventState.HELD)
    with session.open() as coordinator:
        listing = _listing(coordinator, wanted, run_id, after, limit, oldest)
    if session.json:
        session.output.document(_document(listing))
    else:
        _tell(ctx, session, listing, wanted)
    session.warn_of_bad_rows(listing.bad)


def _given(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def _listing(
    coordinator: Coordinator, states: list[EventState], run_id: str, after: int, limit: int, oldest: bool
) -> Listing:
    def found(states: list[EventState], after: int, limit: int) -> EventList:
        return coordinator.events(
            states=states, run_id=run_id, after=after, newest_first=not oldest, limit=limit
        )

    page = found(states, after, limit)
    if run_id and not page.events and not page.bad:
        coordinator.run(run_id)  # an unknown run is refused, rather than shown as one without events
    last = page.events[-1].seq if page.events else 0
    more = len(page.events) + len(page.bad) >= limit
    if more and last:
        following = found(states, last, 1)
        more = bool(following.events or following.bad)
    held = found([EventState.HELD], 0, HELD_SHOWN + 1)
    return Listing(
        page,
        oldest,
        more,
        held.events[:HELD_SHOWN],
        len(held.events) > HELD_SHOWN,
        list(dict.fromkeys([*page.bad, *held.bad])),
        instant(coordinator.clock),
    )


def _document(listing: Listing) -> documents.Document:
    now = listing.now
    return {
        "events": [documents.event_document(event, now) for event in listing.page.events],
        "more": listing.more,
        "after": listing.after,
        "held": [documents.event_document(event, now) for event in listing.held],
        "held_more": listing.more_held,
        "bad": [documents.bad_row_document(row) for row in listing.bad],
    }


def _tell(ctx: click.Context, session: Session, listing: Listing, states: list[EventState]) -> None:
    from runcoord.cli.event_table import events_table

    output, width = session.output, session.output.width
    found = paging.oldest_above(listing.page.events, oldest=listing.oldest)
    if found:
        paging.tell_table(output, events_table(found, listing.now, width))
    elif not listing.page.bad:
        output.note("No events.")
    if listing.more:
        paging.tell_of_more(ctx, session, None if listing.after is None else str(listing.after))
    also = paging.oldest_above(listing.also_held, oldest=listing.oldest)
    if also and not states:
        output.lines(["", "Also held:", *events_table(also, listing.now, width).lines(width)])
    elif also and EventState.HELD not in states:
        total = f"{len(also)} or more events are" if listing.more_held else _are(len(also))
        output.note(f"{total} held: see --held")


def _are(number: int) -> str:
    return f"{counted(number, 'event')} {'is' if number == 1 else 'are'}"


def _replay(session: Session, event_id: str, destination: str) -> None:
    with session.open(changes=True) as coordinator:
        event = coordinator.replay(event_id, destination=destination)
        now = instant(coordinator.clock)
    if session.json:
        session.output.document(documents.event_document(event, now))
        return
    target = printable(event.destination)
    session.output.sentences(
        [f"{printable(event.event_id)} is pending again, and goes to {target} from a process that serves it."]
    )
