"""The store contract: events, and which of them are to send or to tell the operator about."""

from __future__ import annotations

from dataclasses import replace

from runcoord._core.deliveries import may_send
from runcoord.ports import Change, Deadline, Event, EventKind, EventState
from runcoord.testing.contract_case import OWNER, StoreCase, event, ids, require_equal
from runcoord.testing.contract_runs import deadlines

EVERY_FIELD = Event(
    "group/g/1/finished",
    "",
    EventKind.GROUP,
    "chat",
    '{"ü":"\u2028"}' + "b" * 70_000,
    created_at=1.125,
    state=EventState.HELD,
    due=Deadline(1.5, 2.5, "boot"),
    attempt=300,
    owner="",
    reason="refused: 'no'",
    delivered_at=3.5,
    told=True,
    failures=17,
    unanswered=3,
    group="g/1",
)


class EventsContract(StoreCase):
    def test_every_field_of_an_event_comes_back_as_it_was_with_a_number(self) -> None:
        due = Deadline.after(self.now, 1.0)
        events = [EVERY_FIELD, *(event(f"r/{state.value}", due, state) for state in EventState)]
        self.saved_events(*events)
        numbered = [replace(each, seq=number) for number, each in enumerate(events, 1)]
        with self.store.view("look") as view:
            require_equal([view.event(each.event_id) for each in events], numbered)
            require_equal(view.load_events(ids(reversed(events)), []), numbered[::-1])
            require_equal(view.load_events(["nothing", EVERY_FIELD.event_id], []), numbered[:1])
            require_equal(view.events(limit=9), numbered)

    def test_an_update_of_an_event_keeps_its_number_and_its_bytes(self) -> None:
        first = event("e1", Deadline.after(self.now, 1.0))
        self.saved_events(first, event("e2", first.due))
        later = replace(
            first,
            state=EventState.SENDING,
            owner="w",
            attempt=2,
            due=Deadline(7.0, 8.0, "x"),
            destination="sms",
            failures=4,
            unanswered=1,
        )
        self.save(Change(events=(replace(later, body="other", kind=EventKind.NOTE, seq=99, group="g"),)))
        with self.store.view("look") as view:
            require_equal(view.event("e1"), replace(later, seq=1))

    def test_events_are_listed_in_the_order_of_acceptance_by_state_by_run_and_page_by_page(self) -> None:
        due = Deadline.after(self.now, 1.0)
        for number, state in enumerate([*EventState, *EventState], 1):
            self.saved_events(event(f"r{number % 2}/{number}", due, state))
        with self.store.view("look") as view:
            require_equal(ids(view.events(limit=3)), ["r1/1", "r0/2", "r1/3"])
            require_equal(ids(view.events(after=6, limit=3)), ["r1/7", "r0/8"])
            require_equal(ids(view.events(run_id="r1", limit=9)), ["r1/1", "r1/3", "r1/5", "r1/7"])
            require_equal(ids(view.events(run_id="r1", after=3, limit=1)), ["r1/5"])
            require_equal(ids(view.events(run_id="r1", states=[EventState.HELD], limit=9)), ["r1/3", "r1/7"])
            require_equal(ids(view.events(run_id="r9", limit=9)), [])
            for number, state in enumerate(EventState, 1):
                expected = [f"r{number % 2}/{number}", f"r{number % 2}/{number + 4}"]
                require_equal(ids(view.events(states=[state], limit=9)), expected, f"{state} events")
            both = [EventState.HELD, EventState.PENDING]
            require_equal(ids(view.events(states=both, after=1, limit=2)), ["r1/3", "r1/5"])

    def test_events_are_listed_newest_first_by_state_by_run_and_page_by_page(self) -> None:
        due = Deadline.after(self.now, 1.0)
        for number, state in enumerate([*EventState, *EventState], 1):
            self.saved_events(event(f"r{number % 2}/{number}", due, state))
        with self.store.view("look") as view:
            require_equal(ids(view.events(newest_first=True, limit=3)), ["r0/8", "r1/7", "r0/6"])
            require_equal(ids(view.events(newest_first=True, after=3, limit=3)), ["r0/2", "r1/1"])
            require_equal(ids(view.events(newest_first=True, after=1, limit=3)), [])
            require_equal(ids(view.events(newest_first=True, run_id="r1", limit=2)), ["r1/7", "r1/5"])
            require_equal(
                ids(view.events(newest_first=True, run_id="r1", after=5, limit=9)), ["r1/3", "r1/1"]
            )
            held = view.events(newest_first=True, run_id="r1", states=[EventState.HELD], limit=9)
            require_equal(ids(held), ["r1/7", "r1/3"])
            for number, state in enumerate(EventState, 1):
                expected = [f"r{number % 2}/{number + 4}", f"r{number % 2}/{number}"]
                require_equal(ids(view.events(newest_first=True, states=[state], limit=9)), expected)
            both = [EventState.HELD, EventState.PENDING]
            require_equal(
                ids(view.events(newest_first=True, states=both, after=7, limit=2)), ["r1/5", "r1/3"]
            )

    # --- to send ---

    def test_events_are_to_send_exactly_when_the_rules_say_so_or_the_attempt_is_ours(self) -> None:
        events = []
        for number, due in enumerate(deadlines(self.clock)):
            events += [event(f"{state.value}-{number}", due, state) for state in EventState]
            events.append(event(f"mine-{number}", due, EventState.SENDING, owner="me"))
        self.saved_events(*events)
        mine = [each for each in events if each.owner == "me" and each.state is EventState.SENDING]
        expected = [each.event_id for each in events if may_send(each, self.now) or each in mine]
        with self.store.view("look") as view:
            require_equal(view.sendable(self.now, "me", 999), expected)
            require_equal(view.sendable(self.now, "me", 7), expected[:7])
            others = view.sendable(self.now, "nobody", 999)
        require_equal(others, [each.event_id for each in events if may_send(each, self.now)])
        assert 0 < len(others) < len(expected) < len(events)

    def test_events_for_some_destinations_can_be_left_out_of_those_to_send(self) -> None:
        past, later = Deadline.after(self.now, -1.0), Deadline.after(self.now, 9.0)
        for number, destination in enumerate(("chat", "sms", "mail", "chat", "sms", "mail")):
            self.saved_events(event(f"e{number}", past, destination=destination))
        self.saved_events(event("mine", later, EventState.SENDING, destination="mail"), event("later", later))
        with self.store.view("look") as view:
            require_equal(view.sendable(self.now, OWNER, 9, ["chat"]), ["e1", "e2", "e4", "e5", "mine"])
            require_equal(view.sendable(self.now, OWNER, 2, ["sms", "chat"]), ["e2", "e5"])
            require_equal(view.sendable(self.now, OWNER, 9, ["mail", "sms", "chat"]), [])

    def test_nothing_is_due_while_nothing_waits(self) -> None:
        due = Deadline.after(self.now, -1.0)
        self.saved_events(event("h", due, EventState.HELD), event("d", due, EventState.DELIVERED))
        with self.store.view("look") as view:
            require_equal(view.next_due(), None)

    def test_the_next_deadline_is_never_later_than_the_first_event_falls_due(self) -> None:
        for number, seconds in enumerate((40.0, 20.0, 300.0)):
            state = EventState.SENDING if number % 2 else EventState.PENDING
            self.saved_events(event(f"e{number}", Deadline.after(self.now, seconds), state))
        with self.store.view("look") as view:
            due = view.next_due()
            assert due is not None
            require_equal(due.remaining(self.now), 20.0, "seconds on the boot of all events")
            self.clock.step(-5_000.0)
            self.clock.advance(19.0)
            require_equal((due.passed(self.now), view.sendable(self.now, "", 9)), (False, []))
            self.clock.suspend(1.0)
            require_equal((due.passed(self.now), view.sendable(self.now, "", 9)), (True, ["e1"]))
            self.clock.reboot(10_000.0)
            require_equal((due.passed(self.now), view.sendable(self.now, "", 9)), (True, ["e0", "e1", "e2"]))

    def test_the_next_deadline_holds_with_events_of_two_boots(self) -> None:
        self.saved_events(event("old", Deadline.after(self.now, 20.0)))
        self.clock.reboot()
        self.saved_events(event("new", Deadline.after(self.now, 500.0)))
        for _ in range(3):
            with self.store.view("look") as view:
                due, to_send = view.next_due(), view.sendable(self.now, "", 9)
            assert due is not None
            assert due.passed(self.now) or not to_send, f"{due} has not passed at {self.now}, but {to_send}"
            self.clock.advance(10.0)

    # --- to tell the operator ---

    def test_held_events_are_told_about_once_and_digests_never(self) -> None:
        due = Deadline.after(self.now, 0.0)
        self.saved_events(
            event("h2", due, EventState.HELD),
            event("digest/1", due, EventState.HELD, kind=EventKind.DIGEST),
            event("h1", due, EventState.HELD),
            event("told", due, EventState.HELD, told=True),
            event("p", due),
        )
        with self.store.transaction("tell") as tx:
            require_equal(tx.count_untold_held(), 2)
            require_equal(ids(tx.untold_held(1)), ["h2"])
            require_equal(ids(tx.untold_held(9)), ["h2", "h1"])
            rows = self.store.counters.rows_written
            tx.mark_held_told()
            require_equal(tx.count_untold_held(), 0)
        require_equal(self.store.counters.rows_written - rows, 2, "rows written")
        with self.store.view("look") as view:
            require_equal(view.untold_held(9), [])
            told = [each.event_id for each in view.events(limit=9) if each.told]
        require_equal(told, ["h2", "h1", "told"])

    def test_an_event_that_is_held_again_is_told_about_again(self) -> None:
        held = event("h", Deadline.after(self.now, 0.0), EventState.HELD, told=True)
        self.saved_events(held)
        self.save(Change(events=(replace(held, told=False),)))
        with self.store.view("look") as view:
            require_equal(ids(view.untold_held(9)), ["h"])

    def test_an_attempt_belongs_to_its_owner_whatever_its_deadline(self) -> None:
        self.saved_events(event("e", Deadline.after(self.now, 30.0), EventState.SENDING))
        with self.store.view("look") as view:
            require_equal(view.sendable(self.now, OWNER, 9), ["e"])
            require_equal(view.sendable(self.now, "other", 9), [])
