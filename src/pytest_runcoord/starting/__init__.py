"""``runcoord init``: the files with which a project begins to run scenarios on its own coordinator."""

from __future__ import annotations
