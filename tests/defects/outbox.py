"""Seeded defects of the outbox."""

from __future__ import annotations

from defects.catalogue import Defect
from defects.outbox_delivery import DELIVERY
from defects.outbox_summaries import SUMMARIES
from defects.outbox_unanswered import UNANSWERED
from defects.outbox_waiting import WAITING

DEFECTS: list[Defect] = [*DELIVERY, *WAITING, *UNANSWERED, *SUMMARIES]
