"""What an author can do about an error that a verb raised and that is no refusal yet."""

from __future__ import annotations

from pytest_runcoord.world_errors import LEAK

USUAL = {
    "submit": "key-conflict",
    "claim": "lease-held",
    "claim_next": "lease-held",
    "start": "lease-lost",
    "renew": "lease-lost",
    "reacquire": "lease-lost",
    "release": "lease-lost",
    "complete": "lease-lost",
    "progress": "lease-lost",
    "publish": "lease-lost",
    "stop": "unknown-run",
    "retry": "not-retryable",
    "acknowledge": "stale-delivery",
    "postpone": "stale-delivery",
    "refuse": "stale-delivery",
    "replay": "unknown-event",
}
"""What a verb refuses most, as an example of a name for it."""
OF_NO_RULE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    MemoryError,
    NameError,
    NotImplementedError,
    RecursionError,
    SyntaxError,
    TypeError,
)
"""Errors of a program rather than answers of a coordinator."""
DESTINATIONS = "pytest_runcoord.destinations"
MAX_FRAMES = 200
"""Frames of a traceback that are followed to the place where it was raised."""


def what_to_do(verb: str, error: BaseException) -> str:
    """A remedy for an error of a verb; empty where none is known."""
    if not isinstance(error, Exception) or verb == LEAK:
        return ""
    if _of_a_destination(error):
        return (
            "The destination of the scenario raised this: one that is down or fails means 'not now'. "
            "Catch it, keep the event, and try again later."
        )
    if verb not in USUAL or isinstance(error, OF_NO_RULE):
        return ""
    kind = type(error)
    shown = kind.__qualname__.rpartition(".")[2]
    return (
        f"If this means no, name it in the refusals of the subject: refusals = {{{shown}: '{USUAL[verb]}'}}, "
        "or whichever refusal it is."
    )


def _of_a_destination(error: BaseException) -> bool:
    """Whether it was raised by a destination of the scenario, and by nothing on the way from there."""
    trace = error.__traceback__
    for _ in range(MAX_FRAMES):
        if trace is None or trace.tb_next is None:
            break
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals.get("__name__") == DESTINATIONS
