"""Every limit of the scenario language, with its unit and its reason.

They bound what one file may cost before anything of it runs, and keep names fit for node ids and folders.
"""

from __future__ import annotations

# --- files ---
MAX_SCENARIO_BYTES = 1024 * 1024
"""Size of one file. A scenario has some 30 lines; a megabyte is a mistake or an attack."""
MAX_DOCUMENTS = 200
"""Scenarios in one file: beyond it a folder of files is easier to read and to select from."""
MAX_NODES = 50_000
"""Keys and values in one file: 250 for each of the most documents."""
MAX_NESTING = 32
"""Lists and mappings inside each other. Well-written scenarios need 8."""
MAX_NUMBER_CHARACTERS = 400
"""Characters of one number: every finite float fits, and reading it stays cheap."""

# --- scenarios ---
MAX_STEPS = 500
"""Steps in one scenario, nested ones counted: a longer one cannot be read as a story."""
MAX_EXPECTATIONS = 200
"""Expectations in one scenario."""
MAX_VARIANTS = 64
"""Variants that the axes of one scenario may make: each is a test of its own."""
MAX_AXIS_VALUES = 64
"""Values of one axis: more than that could only be too many variants."""
MAX_FAULTS = 50
"""Faults of one scenario that are told at once: whoever has more sees the rest after mending these."""
MAX_LIST = 200
"""Entries of a list where the argument states no other bound."""
DEFAULT_HEAL_SWEEPS = 5
"""Recovery sweeps after the faults stop within which everything must have converged, where a scenario does
not say."""
MAX_HEAL_SWEEPS = 100
"""Most sweeps a scenario may ask for: what needs more does not converge."""

# --- running ---
MAX_TICKS = 100_000
"""Timer ticks in one scenario, of all owners together: one that looks every second for a day, or ten that
renew every 20 s with two awaits. At the 1 to 3 ms that a tick of a subject on SQLite takes, a loop ends
within minutes."""
MAX_TICKS_AT_ONCE = 50
"""Ticks of one timer with which no time passes: it is due again at once, for ever."""
MAX_TICKS_TOLD = 10_000
"""Ticks of which the history says what they changed: renewals every 20 s of two owners for a day."""

# --- values ---
MAX_NAME_CHARACTERS = 100
"""A name is part of a node id and may be part of a path."""
MAX_TEXT_CHARACTERS = 2_000
"""Text where the argument states no other bound."""
MAX_SAYS_CHARACTERS = 500
"""The sentence of a scenario is printed in one piece with a failure."""
MAX_DURATION_SECONDS = 100 * 365 * 86_400.0
"""A hundred years: beyond it the calendar of the standard library ends soon."""
MAX_COUNT = 1_000_000_000
"""A count where the argument states no other bound."""
MAX_SHOWN_CHARACTERS = 60
"""Characters of an offending value that a message repeats."""
MAX_KNOWN_SHOWN = 12
"""Known names that a message lists; the rest are counted."""
