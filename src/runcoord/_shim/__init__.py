"""The small process that a run hangs on.

It is started for one run, and is its subreaper: whatever the command starts and leaves behind becomes its
child. In the usual case it leads a session of its own. The command waits behind a gate until its coordinator
has recorded it. One socket leads to the coordinator; its end means that the coordinator is gone, and the shim
ends the run.

``start`` is executed as a file and forks the command first, so that it can be recorded while everything else
is still being loaded.
"""

from __future__ import annotations
