"""Taking credentials out of text, by the shapes that they usually have.

The shapes are those that their makers publish so that scanners can find them, and the ways in which people
write a password next to its name. A secret without any of these is not found: what must not be stored must
not be in a run folder. Rather too much is taken out than too little.
"""

from __future__ import annotations

import re

REDACTED = "[redacted]"

_WORD = re.compile(r"[A-Za-z0-9_\-.:=+/~]{15,}")
"""What may hold a token: the shortest has 15 characters."""

# By their beginnings, which their makers chose so that they can be found.
_TOKEN = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:AKIA|ASIA|ABIA|ACCA|AIDA|AROA|AGPA|ANPA)[A-Z0-9]{16}(?![A-Z0-9])"  # AWS
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}"  # GitHub
    r"|gl(?:pat|dt|rt|ptt|cbt|ft|soat|agent|imt)-[\w.\-]{16,}"  # GitLab
    r"|AIza[\w\-]{30,}|ya29\.[\w\-]{16,}|GOCSPX-[\w\-]{20,}"  # Google
    r"|xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9\-]{10,}|xapp-\d-[A-Za-z0-9\-]{10,}"  # Slack
    r"|(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{20,}"  # Stripe
    r"|sk-(?=[\w\-]{0,60}\d)[\w\-]{20,}"  # OpenAI, Anthropic and others
    r"|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,}|pypi-[\w\-]{32,}|rubygems_[a-f0-9]{40,}"
    r"|dop_v1_[a-f0-9]{40,}|dapi[a-f0-9]{32}"  # DigitalOcean, Databricks
    r"|SG\.[\w\-]{16,}\.[\w\-]{16,}|key-[a-f0-9]{32}|SK[a-f0-9]{32}"  # SendGrid, Mailgun, Twilio
    r"|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|lin_api_[A-Za-z0-9]{30,}|ATATT3[\w\-=]{20,}"
    r"|hv[sbr]\.[\w\-]{20,}|glsa_[A-Za-z0-9]{20,}_[a-f0-9]{8}"  # Vault, Grafana
    r"|\d{8,10}:AA[\w\-]{30,}"  # Telegram
    # JSON Web Token. An object in base64 alone goes too: to look for the dot from each place where one begins
    # takes quadratic time.
    r"|eyJ[\w\-]{8,}(?:\.[\w\-]{8,}(?:\.[\w\-]*){0,3})?"
    r"|AGE-SECRET-KEY-1[A-Z0-9]{40,}"
    r")"
)
_KEY_BLOCK = re.compile(
    r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?!-----END).)*(?:-----END [A-Z0-9 ]{0,60}-----)?",
    re.DOTALL,
)
"""A private key; to the end of the text when its own end is missing."""

_USERINFO = re.compile(r"(?<=://)([^\s/?#@:\"'<>]*:)[^\s/?#\"'<>]+(?=@)")
"""``user:password`` of a URL. The password may have an ``@`` in it."""

# The others are looked for in lower case, which is several times as fast as to ignore case.

_SCHEMES = ("bearer", "basic", "digest", "negotiate", "apikey")
_SCHEME = re.compile(
    r"(?P<name>bearer|basic|digest|negotiate|apikey)\s{1,4}"
    r"(?P<value>(?=[^\s,;\"']*[\d+/=_.\-])[a-z0-9_+/=.~\-]{8,})"
)
"""What follows the scheme in an ``Authorization`` header, with or without the name of the header."""

_STRONG = (
    r"password|passwd|passphrase|passcode|pwd|secret|token|credentials?|connection[_\- ]?string"
    r"|api[_\-. ]?key|access[_\-. ]?key|account[_\-]?key|encryption[_\-. ]?key|master[_\-. ]?key"
    r"|private[_\-. ]?key|session[_\-]?key|shared[_\-]?key|signing[_\-. ]?key"
)
_WEAK = ("pass", "auth", "authorization", "cookie", "sig", "signature")
"""Names that count only when they are no part of a longer word."""
_NAME = rf"(?P<name>{_STRONG}|pass|authorization|auth|cookie|signature|sig)"
_MORE = r"(?:[_\-.]?(?:key|id|value|string|text|base64|b64|hash|\d{1,2})){0,2}"
_VALUE = (
    r"(?P<value>\\{1,4}[\"'][^\"'\\\n]*"  # quoted within something quoted
    r"|\"(?:[^\"\\\n]|\\.)*\"?|'(?:[^'\\\n]|\\.)*'?"
    r"|[^\s,;&\"'<>(){}\[\]\\]+)"
)
_ASSIGNED = re.compile(rf"{_NAME}{_MORE}(?:\\{{0,4}}[\"'])?\s{{0,4}}(?::=|=>|[:=])\s{{0,4}}{_VALUE}")
"""A value behind its name: ``password=x``, ``"apiKey": "x"``, ``export DB_TOKEN='x'``."""

_TOLD = re.compile(rf"{_NAME}{_MORE}[ \t]{{1,4}}is[ \t]{{1,4}}(?P<value>(?=[^\s]{{0,200}}\d)[^\s,;]{{6,}})")
_OPTION = re.compile(rf"--?(?:[a-z]{{1,20}}-){{0,3}}(?P<name>{_STRONG}|pass|auth)[ \t]{{1,4}}(?!-){_VALUE}")

_NO_VALUES = frozenset({"none", "null", "nil", "true", "false", "undefined", "string", "str", "int", "bytes"})


def redacted(text: str) -> str:
    """``text`` with what looks like a credential replaced by :data:`REDACTED`. Takes time in proportion
    to its length; where nothing looks like one, two microseconds for a hundred characters."""
    if len(text) < 7:  # pwd=abc
        return text
    if _WORD.search(text):
        text = _WORD.sub(_without_tokens, text)
    if "-----BEGIN" in text:
        text = _KEY_BLOCK.sub(REDACTED, text)
    if "://" in text:
        text = _USERINFO.sub(rf"\1{REDACTED}", text)
    lower = _lower(text)
    if (
        "bearer" in lower
        or "basic" in lower
        or "digest" in lower
        or "negotiate" in lower
        or "apikey" in lower
    ):
        text = _without_values(_SCHEME, text)
    if (
        "pass" in lower
        or "pwd" in lower
        or "secret" in lower
        or "token" in lower
        or "key" in lower
        or "credential" in lower
        or "auth" in lower
        or "cookie" in lower
        or "sig" in lower
        or "string" in lower
    ):
        if ":" in text or "=" in text:
            text = _without_values(_ASSIGNED, text)
        if " is" in lower or "\tis" in lower:
            text = _without_values(_TOLD, text)
        if "-" in text:
            text = _without_values(_OPTION, text)
    return text


def _without_tokens(word: re.Match[str]) -> str:
    return _TOKEN.sub(REDACTED, word[0])


def _without_values(pattern: re.Pattern[str], text: str) -> str:
    """``text`` without the values that the pattern finds in it."""
    pieces, done = [], 0
    for found in pattern.finditer(_lower(text)):
        if not _is_kept(found):
            begin, end = found.span("value")
            pieces += [text[done:begin], REDACTED]
            done = end
    return "".join([*pieces, text[done:]]) if pieces else text


def _is_kept(found: re.Match[str]) -> bool:
    """Whether it is part of a longer word, a placeholder, or what comes before the value."""
    at = found.start("name")
    if found["name"] in _WEAK and at and found.string[at - 1].isalpha():
        return True
    bare = found["value"].strip("\\\"'")
    return not bare or bare[0] in "$*%" or bare in _NO_VALUES or bare in _SCHEMES


_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def _lower(text: str) -> str:
    """In lower case, with every character where it was."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text.translate(_LOWER)
