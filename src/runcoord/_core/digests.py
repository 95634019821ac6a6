"""SHA-256 without OpenSSL.

What :mod:`hashlib` gives comes from OpenSSL, which takes three milliseconds to load: a tenth of what a short
command may take, for one digest of a few hundred bytes. Python's own implementation is there as well, in most
builds, and :mod:`random` of the standard library takes its hash from there in the same way.
"""

from __future__ import annotations

TYPE_CHECKING = False  # that of typing, the loading of which takes longer than all that is done here
if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        from _sha256 import sha256  # Python 3.11
    except ImportError:
        try:
            from _sha2 import sha256  # Python 3.12 and newer
        except ImportError:  # built without it
            from hashlib import sha256


def hex_digest(content: bytes) -> str:
    """The SHA-256 of ``content``: 64 hexadecimal digits."""
    return sha256(content).hexdigest()
