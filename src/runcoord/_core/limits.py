"""Every limit of the coordinator, with its unit and its reason.

Values marked (origin) are those of the coordinator whose recovery review this project grew out of.
"""

from __future__ import annotations

# --- leases ---
LEASE_SECONDS = 90.0
"""Default lease (origin): three renewals fit into it."""
MIN_LEASE_SECONDS = 0.1
"""Below this a lease is shorter than one slow commit."""
MAX_LEASE_SECONDS = 3600.0
"""Longest lease. Also the cap on what a stored expiry may claim after the clock was set."""
RENEW_SECONDS = 30.0
"""Default interval between renewals (origin): a third of the lease, so two may fail."""
RENEW_RETRY_SECONDS = 1.0
"""Wait after a failed renewal before the next try, while trust lasts."""
TRUST_FRACTION = 0.9
"""Part of the lease for which the holder trusts itself, counted from when the renewal was sent. The
rest covers a slow answer and the difference between two readings of one clock."""

# --- sweeps ---
SWEEP_SECONDS = 60.0
"""Default interval between recovery sweeps (origin)."""
RECOVERY_BATCH = 256
"""Runs in one recovery transaction (origin): long enough to amortise a commit, short enough that a
renewal waits a few milliseconds at most."""
RECOVERY_PAGE = 4096
"""Ids that a sweep reads at once and works off in batches: a list sorts all that it finds, so it is asked for
rarely."""
SWEEP_PAGES = 25
"""Pages in one sweep (about 100,000 runs); what is left waits for the next sweep."""
CLAIM_CANDIDATES = 8
"""Waiting runs that a claim of the next one looks at first. When none of them can be read it looks further,
at ever more of them."""
CLAIM_WIDENING = 32
"""How many times as many it looks at each time: after the first ones, a batch of recovery is next."""
CLAIM_LOOKED_AT = 16_384
"""Waiting runs that a claim of the next one looks at, at most: reading as many takes a good second, under the
store's lock. A store in which so many rows in a row cannot be read is damaged."""
DEFER_SECONDS = 20.0
"""Time that a sweep leaves a run to its holder in the same process: one renewal that hangs, and one bounded
attempt to re-acquire."""
BAD_ROWS_NAMED = 20
"""Bad rows that a report names one by one; the rest are counted."""
WAITING_LOOKED_AT = 20
"""Runs at the head of those that wait which a sweep reads. One that cannot be read is passed over by whoever
claims, and so comes to the head."""
INTERRUPTION_BUDGET = 0
"""Default number of automatic retries after an interruption, counted along the line of retries."""
MAX_INTERRUPTION_BUDGET = 100
"""Highest accepted budget: beyond it a run that kills its worker is a loop."""

# --- outbox ---
DELIVERY_CLAIM_SECONDS = 60.0
"""How long one owner may take to get a claimed event accepted before others may send it."""
DELIVERY_BATCH = 256
"""Events claimed, sent and acknowledged together (origin: 256)."""
ACKNOWLEDGE_SECONDS = 1.0
"""Longest time that accepted events wait for their common acknowledgement."""
DELIVERY_BACKOFF_SECONDS = 1.0
"""First wait after a failed delivery (origin); doubles with each further failure."""
MAX_DELIVERY_BACKOFF_SECONDS = 300.0
"""Longest wait between two tries (origin)."""
MAX_DELIVERY_ATTEMPTS = 300
"""Tries before an event is held for the operator: about a day at the longest wait."""
MAX_UNANSWERED_ATTEMPTS = 8
"""Attempts in a row that nobody answered before an event is held for the operator. Each ends with its claim,
so this is eight minutes: more than a sender takes that was killed by chance, or is being upgraded."""
TRUSTED_UNANSWERED_ATTEMPTS = 1
"""So many of them are put down to chance. After more an event is sent by itself, so that one which kills its
sender takes no others with it."""
SEND_SECONDS = 10.0
"""Longest wait for a destination in one turn; an event that was not answered by then is sent again later."""
DESTINATION_SECONDS = 10.0
"""Time after which a destination gets no further turn in one drain; its other events wait for the next, so
that a slow destination does not hold up the rest."""
LEAST_TURN_SECONDS = 0.01
"""What is left of that time below which no further call is begun."""
MAX_STUCK_DESTINATIONS = 64
"""Calls to destinations that were given up and have not returned, each in a thread of its own."""
DRAIN_SECONDS = 45.0
"""Longest time one drain goes on while there is something to send; shorter than the sweep interval."""
DRAIN_BATCHES = 400
"""Batches in one drain; a second bound for a clock that stands still."""
FINISH_DRAIN_SECONDS = 10.0
"""Longest drain after a run was finished, so that a backlog does not keep a worker from its next run."""
DIGEST_DRAIN_SECONDS = 10.0
"""Longest drain after a digest was written, so that the operator need not wait for the next sweep."""
DIGEST_EVENTS_NAMED = 20
"""Held events that a digest names; the rest are counted."""

# --- settings ---
MAX_SETTING_SECONDS = 100.0 * 365 * 86_400
"""Longest time that a setting may say, a century: more is a mistake of unit, or no number."""

# --- runs within runs ---
DEFAULT_MAX_DEPTH = 3
"""Depth at which a run is refused unless the environment says otherwise (origin)."""
MAX_DEPTH_CEILING = 32
"""Largest maximum that is believed (origin): a forged one does not turn the guard off."""
LIVE_RUNS = 100
"""Unfinished commands of one lineage unless an option says otherwise: depth alone does not bound breadth."""
MAX_NUMERAL_DIGITS = 10
"""Digits of a number in the environment, leading zeros among them: more than any of the values needs."""
MAX_NUMERAL = 2**32 - 1
"""Largest number that is read from the environment (origin): an unsigned number of 32 bits."""
COOKIE_DIGITS = 32
"""Hexadecimal digits of a run's cookie: 128 random bits, which nobody guesses and no two runs share."""
MAX_COOKIES = MAX_DEPTH_CEILING
"""Cookies in one line: a run for each depth that can be admitted."""
MAX_VARIABLE_CHARACTERS = 200
"""Name of an environment variable that a host sets in the place of ours."""

# --- grace ---
GRACE_SECONDS = 5
"""Time that processes get to end by themselves before they are killed (origin)."""
MAX_GRACE_SECONDS = 300
"""Longest grace: a stop that nobody waits for is no stop, and a sweep may have to wait for it."""

# --- sizes ---
MAX_ID_CHARACTERS = 200
"""Run ids, owner ids and keys, which fit every file system as one component; names of groups and
destinations, which may be any text."""
MAX_TASK_CHARACTERS = 1_000
"""What a run is about, in words (origin)."""
MAX_ERROR_CHARACTERS = 2_000
"""Text of an error, or why a run was to stop (origin). A longer one is cut: no outcome is lost for it."""
MAX_AGENT_CHARACTERS = 200
"""Name of who does the work (origin)."""
MAX_CONVERSATION_KEY_CHARACTERS = 500
"""What a run belongs to for its submitter (origin)."""
MAX_PAYLOAD_BYTES = 256 * 1024
"""Inputs of a run as canonical JSON. Larger inputs belong into a file that the payload names."""
MAX_RESULT_CHARACTERS = 64 * 1024
"""Result text kept in the store; longer ones are truncated and marked."""
MAX_PROGRESS_CHARACTERS = 2_000
"""Latest progress of the work, as long as an error: both are read in one portrait of the run."""
MAX_GROUP_SIZE = 10_000
"""Runs that one summary waits for; more is taken for a slip of the keyboard."""

# --- waiting ---
LOCK_WAIT_SECONDS = 30.0
"""Longest wait for the store's write lock; eight processes that wanted nothing else had it in a second."""
LOCK_BACKOFF_SECONDS = 0.001
"""First pause between tries for the lock."""
MAX_LOCK_BACKOFF_SECONDS = 0.005
"""Longest pause between tries for the lock; they double. Nobody queues for it, so who looks seldom starves:
with pauses up to 50 ms two of eight busy processes got nothing until the others were done."""
LOCK_TRIES = 20_000
"""Tries for the lock: more than fit into the longest wait, so they bound it only where no time passes."""
SUBMIT_WAIT_SECONDS = 1.0
"""Bound on the answer of a call made through the thread helper (origin: its submit timeout)."""
MAX_ABANDONED_CALLS = 8
"""Calls that timed out and are still stuck in a thread; further calls are refused until one returns."""
MAX_CALLS_UNDER_WAY = 1_000
"""Calls in threads at one time, waited for or not; a thread each, so a burst cannot use up the machine's."""
MAX_LIST = 1_000
"""Rows that one listing returns; ask again with ``after`` for more."""
PRUNE_BATCH = 256
"""Finished runs removed in one transaction."""
PRUNE_BATCHES = 400
"""Batches of pruning in one sweep (about 100,000 runs); what is left waits for the next sweep."""
STOP_POLL_SECONDS = 2.0
"""Interval at which a holder looks whether its run is to stop; a read, no write."""
RENEW_CALL_SECONDS = 10.0
"""Bound on one call to renew or re-acquire; a store that takes longer counts as failed."""

# --- processes ---
MAX_PID = 2**22
"""Largest pid (Linux: ``PID_MAX_LIMIT``). A record with another number names no process."""
KILL_SECONDS = 10.0
"""Longest time of killing after the grace. What lives then cannot be killed (a process in an uninterruptible
wait), or forks faster than it can be found, and is named."""
CLEAN_SCANS = 2
"""Scans in a row that must find nobody: a child may be born behind the back of one scan."""
SCAN_SECONDS = 2.0
"""Longest time of one scan of the process table: a flood of processes makes reading it slow."""
STRANGER_SECONDS = 10.0
"""How long a process that was there before a run, and is none of it, is not read again in a teardown: longer
than most teardowns take, and short beside the longest grace."""
TEARDOWN_FIRST_PAUSE_SECONDS = 0.02
"""First wait of a teardown before it looks for new members; it ends earlier when all that are known have.
Doubles while nobody new is found."""
TEARDOWN_PAUSE_PER_MEMBER_SECONDS = 0.0005
"""Added to that wait for each member: a thousand processes need a tenth of a second to be gone, three times
that on a busy machine, and a scan of those that are dying only keeps them from it."""
TEARDOWN_MAX_PAUSE_SECONDS = 0.5
"""Longest wait before a teardown looks for new members, and before it looks whether the grace was ended."""
TEARDOWN_ROUNDS = 5_000
"""Scans in one teardown: more than fit into the longest one, so they bound it only where no time passes."""
DENIED_SECONDS = 1.0
"""Time that a teardown goes on when only processes are left that it must not, or cannot, signal."""
MAX_ENVIRONMENT_BYTES = 8 * 2**20
"""Read of one process's environment: above the largest that Linux lets a program start with (6 MiB)."""
EXEC_LOOKS = 10
"""Looks at a process that executes another program and has no environment at that moment."""
EXEC_LOOK_SECONDS = 0.0005
"""Time between two of them: on an idle machine ``exec`` takes less between giving up the old memory and
filling the new. On a busy one it can be suspended in between; then the scan is not complete."""
ASK_AGAIN_SECONDS = 0.01
"""Time between two looks at a process whose end the system does not tell."""
LONGEST_WAIT_SECONDS = 3600.0
"""One wait for ends of processes, or for a shim: the system takes no more than 24 days, and whoever waits
looks again."""
MAX_PARENTS = 1024
"""Parents that are followed from a process to see whether it is a descendant of a run: longer lines are cut
as their upper ends die."""
MAX_PROCESSES_REPORTED = 400
"""Processes that a teardown report names; the others are counted."""
MAX_PROBLEMS_REPORTED = 20
"""Different problems that a teardown report names."""
GROUP_KILLS = 2
"""Times that a member is killed together with its group, which does not tell whether that was permitted,
before it is killed by itself, which does."""
HELD_OF_GROUP = 16
"""Members that are held, to see their end, of those that were signalled at once through their group: the
oldest. All end at about the same time, and who is left is seen by the next scan."""
MAX_PINNED = 4096
"""Processes that one teardown holds pinned at a time: each is a file descriptor. The others wait for the next
round."""

LAUNCH_SECONDS = 30.0
"""Longest wait for a shim to start, and for a command to be executed: a directory on a drive that hangs."""
REPORT_SECONDS = 10.0
"""Longest wait for a teardown's report above the time that the teardown itself may take. Then the shim is
taken for broken, and killed."""
WITHOUT_SHIM_SECONDS = 30.0
"""Longest teardown of a run whose shim is gone, above its grace: killing with its scans (14 s), the same for
the command's group (12 s), and looks. The system may never answer one; then nobody is waited for."""
SHIM_END_SECONDS = 2.0
"""Longest wait for a shim that has nothing left to do to be gone."""
MAX_CONTROL_LINE_BYTES = 32 * 2**20
"""One line between coordinator and shim: the largest environment that Linux takes (6 MiB), quoted."""
MAX_LAST_WORDS_BYTES = 2**20
"""Size of a file of last words that is read: a teardown report that names as many as it may has a quarter."""

# --- git ---
GIT_CALL_SECONDS = 10.0
"""Longest time of one git process, and of several that run side by side; the checkout of a slow network drive
answers in it. One that takes longer is killed, and what it was asked counts as unknown."""
GIT_SECONDS = 60.0
"""Longest time of all git processes of one snapshot, comparison or restoration: a file system that hangs must
not take the longest time of a call for each worktree. What was not asked by then is unknown."""
GIT_CALLS_AT_ONCE = 4
"""Git processes side by side: they wait for the disk more than they compute."""
GIT_OUTPUT_BYTES = 4 * 1024 * 1024
"""What is read of one git process: the values of the largest accepted config file, with room."""
GIT_SAYS_CHARACTERS = 300
"""Length of git's first line of complaint in a report."""
GIT_PARENT_DIRECTORIES = 256
"""Directories above the caller's in which ``.git`` is looked for; a path has fewer."""
GIT_CONFIG_BYTES = 1024 * 1024
"""Size of a config file that is saved. A larger one is no config file, and is left alone."""
GIT_SMALL_FILE_BYTES = 4096
"""``.git``, ``HEAD``, ``gitdir`` and ``commondir``: a path and a few words."""
GIT_WORKTREES = 256
"""Linked worktrees of one repository that are saved, and in which git is asked how it behaves (two processes
each, one to two seconds for all); with more of them nothing is called verified."""
GIT_ADMIN_FILES = 128
"""Files saved of one worktree's registration: there are about ten, and some more during a rebase."""
GIT_ADMIN_FILE_BYTES = 64 * 1024
"""Size of such a file, the index apart. Beyond it there are logs only."""
GIT_ADMIN_DEPTH = 4
"""Directories inside of each other in one worktree's registration: ``logs/refs/bisect``, with room."""
GIT_INDEX_BYTES = 1024 * 1024
"""Size of a worktree's index that is copied, some ten thousand files; a larger one is made anew from HEAD."""
GIT_SNAPSHOT_BYTES = 16 * 1024 * 1024
"""All contents saved in one snapshot, the indexes among them; what does not fit is named as not saved."""
GIT_MANIFEST_BYTES = 64 * 1024 * 1024
"""Size of a manifest that is read: the contents as text, doubled by quoting, and the rest."""
GIT_HOLDERS_SECONDS = 2.0
"""Longest search for a process that holds a lock file; not done by then means unknown."""
GIT_LOCK_LOOKS = 3
"""Looks at an unheld lock: git closes a lock just before it renames it, so one look may come in between."""
GIT_LOCK_LOOK_SECONDS = 0.05
"""Time between two looks at an unheld lock."""

# --- run folders ---
MAX_STATE_FILE_BYTES = 2**20
"""Size of a state file or tombstone that is read (origin). A larger one is refused."""
MAX_JSON_DEPTH = 32
"""Objects and lists inside of each other in such a file: those that are known have none."""
MAX_NUMBER_CHARACTERS = 4_000
"""Digits of one number in it: to read more takes quadratic time, and Python itself takes 4,300."""
MAX_CLOCK_SKEW_SECONDS = 86_400.0
"""How far ahead of the clock a time in a folder may be: a day, for a clock or time zone that was set wrong.
A time further ahead, or before 1970, is left out."""
FOLDER_NOTES = 20
"""What an import notes about one folder; the rest is counted."""
REDACTION_WINDOW = 4
"""Text of a field is cut to so many times its limit before it is redacted, so that neither takes longer for
more text, and what is cut off after it cannot split a credential that begins within the limit."""
MAX_LAYOUT_TEXT_CHARACTERS = 200
"""One name, key or word of a layout: it fits every file system as one component."""
MAX_LAYOUT_NAMES = 100
"""Words for outcomes in a layout: more is no list that a person wrote."""
FOLDER_ENTRIES_LOOKED_AT = 2_000_000
"""Entries of one root that are looked at: a second. A root with more has names that may be missing, and is
said to."""
FOLDER_NAMES_LISTED = 50_000
"""Names of one root that are held at a time, five megabytes; then it is listed again from there."""
FOLDER_NAMES_CHARACTERS = 16 * 2**20
"""Characters of such names: fewer names are held when they are long, and one that is not ASCII counts four
times, because it may take as much memory."""
FOLDER_PAGE = 512
"""Names that are compared with the store at a time."""
KNOWN_FOLDERS_READ = 2_048
"""Known folders that are read from the store at a time, also where as many vanished between two names."""
FOLDERS_READ_AT_ONCE = 128
"""New folders that are read, then understood."""
MAX_STATE_FILES_BYTES = 4 * 2**20
"""Contents of such folders that are held at a time; beyond it fewer are."""
MAX_IMPORTED_HOMES = 100
"""Homes that one coordinator imports: each costs every sweep a look."""
IMPORT_BATCH = 2_048
"""Rows that an import writes in one transaction, in some thirty milliseconds: a renewal waits for one of them
at most. With smaller ones an import waits for the disk most of its time."""
FOLDERS_PER_SWEEP = 2_000
"""New or changed folders of one root that a sweep takes up; the next sweep goes on behind them."""
IMPORT_SWEEP_SECONDS = 10.0
"""Time after which a sweep takes up no further page of folders."""
IMPORTS_SECONDS = 30.0
"""Time after which a sweep takes up no further home, half of the time between two; the next one begins with
that home."""
HOME_SECONDS = 60.0
"""Longest wait of a sweep for one home, six times what a pass takes up: then its file system hangs."""
MAX_STUCK_HOMES = 8
"""Homes that did not answer; no further one is looked at by sweeps until one of them has."""
ROUTED_IMPORTS_PER_SWEEP = 100
"""Events of one pass that go to the configured destination; those of further folders are held, and told in
one digest: somebody made a flood of them."""
FOLDERS_NAMED = 20
"""Folders of one kind that the report of a sweep names, and that are shown to people; others are counted."""
FOLDERS_NAMED_WHEN_ASKED = 1_000
"""Folders of one kind that the report of an import names that somebody asked for: one folder cannot be hidden
behind a few that come before it."""
TOMBSTONES_PER_SWEEP = 1_000
"""Tombstones that a sweep tries to write into one root."""
PRUNED_FOLDERS_PER_SWEEP = 1_000
"""Folders of one root that a sweep removes."""
MAX_RESULT_READ_BYTES = 2**24
"""Most of a result that one call reads."""
MAX_REMOVED_ENTRIES = 10_000
"""Files and directories in a folder that pruning removes. One with more is left, and named."""
MAX_REMOVED_DEPTH = 32
"""Directories inside of each other in a folder that pruning removes: each is held open meanwhile."""

# --- recovery of processes ---
MAX_RECORDED_PROCESSES = 1_000
"""Processes that an owner may record for one run; the others are found from those and by cookie."""
MAX_MACHINE_VALUE_CHARACTERS = 400
"""One field of a recorded identity: machine ids, namespaces, handles. The longest seen has 300."""
MAX_PATH_CHARACTERS = 4_096
"""Path of a file or directory that is recorded with a run (Linux: ``PATH_MAX``)."""
SURVIVORS_NAMED = 20
"""Survivors that a run and its event name; the rest are counted, and in the teardown report."""
MAX_SURVIVOR_CHARACTERS = 200
"""Name of a survivor, or why it survived."""
CLEANUP_ATTEMPTS = 5
"""Attempts of recovery to deal with the processes of one run; then what may still live is named, and the run
ends."""
CLEANUP_BACKOFF_SECONDS = 30.0
"""Wait after the first attempt that could not finish; doubles with each further one. All waits together are
seven and a half minutes."""
MAX_CLEANUP_BACKOFF_SECONDS = 300.0
"""Longest wait between two attempts."""
CLEANUP_LEASE_SECONDS = 180.0
"""How long one attempt may take before another sweep makes the next: the longest wait for a shim, asking and
killing, and the restoration of the git state."""
CLEANUP_SWEEP_SECONDS = 30.0
"""Time after which a sweep takes up no further run with processes; the next sweep goes on."""
CLEANUP_RUNS = 256
"""Runs with processes that one sweep takes up."""
SHIM_SECONDS = 20.0
"""Longest wait for a shim that ends its tree by itself: the default grace, killing, and time to look."""
PROBE_SECONDS = 2.0
"""Longest look at one recorded process."""
SEARCH_SECONDS = 2 * SCAN_SECONDS
"""Longest search of recovery for who belongs to a run: one scan, which ends by itself after half of this
unless the system does not answer. While that has not returned none is begun for another run: one that hangs
costs a sweep this once, and not for each run."""
CLEANUP_TEARDOWN_SECONDS = GRACE_SECONDS + KILL_SECONDS + 4 * SCAN_SECONDS
"""Longest teardown by recovery. The members were asked by nobody, or long ago; the grace is the default at
most, because a sweep waits for it."""
MAX_STUCK_PROBES = 8
"""Looks that did not return; further ones are not made, and say that nothing is known."""
OWNERS_LOOKED_AT = 256
"""Owners whose lives one sweep looks at; the next one goes on with the others."""
OWNER_PROBING_SECONDS = 10.0
"""Time after which a sweep looks at no further owner."""
OWNER_KEPT_SECONDS = 7.0 * 86_400
"""An owner of whom nothing can be told is forgotten after this, if it holds nothing. All that this loses is
a proof of its death, should it come back: then its leases end by time."""
