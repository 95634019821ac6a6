"""What is made when it is first asked for."""

from __future__ import annotations

import pytest

from runcoord._late import once


def test_it_is_made_at_the_first_call_and_given_at_each() -> None:
    made: list[object] = []

    def make() -> object:
        made.append(object())
        return made[-1]

    get = once(make)
    assert made == []
    assert get() is get() is made[0]
    assert len(made) == 1


@pytest.mark.parametrize("answer", [None, 0, ""])
def test_an_answer_that_counts_as_false_is_kept_too(answer: object) -> None:
    answers = [answer, "another"]
    get = once(lambda: answers.pop(0))
    assert (get(), get()) == (answer, answer)
    assert answers == ["another"]


def test_what_could_not_be_made_is_tried_again_at_the_next_call() -> None:
    failures = [OSError("not yet")]

    def make() -> str:
        if failures:
            raise failures.pop()
        return "made"

    get = once(make)
    with pytest.raises(OSError, match="not yet"):
        get()
    assert get() == "made"
