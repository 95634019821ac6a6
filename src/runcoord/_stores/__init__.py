"""Durable state behind the :class:`~runcoord.ports.Store` protocol.

sqlite          the store itself: transactions, views, opening
reading         View over one connection
writing         Transaction over one connection
statements      every SQL text, named
rows            rows to values and back
migrations      numbered migrations
connections     one connection per thread; closing; forks
waiting         the bounded wait for the lock
failures        which sqlite3 error means what
"""

from __future__ import annotations
