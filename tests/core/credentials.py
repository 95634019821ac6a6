"""Made-up credentials in the shapes that real ones have, and text that looks like them and is none.

Put together from pieces, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

_HEX = "0123456789abcdef"
_MIXED = "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0bC"
_UPPER = "ABCDEFGH23456789"

#: Each with the secret part, which must not be left, and the text around it.
TOKENS: dict[str, str] = {
    "aws": "AKIA" + _UPPER,
    "aws-session": "ASIA" + _UPPER[::-1],
    "github": "ghp_" + _MIXED + "abcd",
    "github-app": "ghs_" + _MIXED + "abcd",
    "github-fine": "github_pat_" + _MIXED + "_" + _MIXED,
    "gitlab": "glpat-" + _MIXED[:20],
    "google": "AIza" + _MIXED + "-_1",
    "google-oauth": "ya29." + _MIXED,
    "slack": "xoxb-" + "123456789012-" + _MIXED,
    "slack-app": "xapp-1-" + _MIXED,
    "stripe": "sk_" + "live_" + _MIXED[:24],
    "openai": "sk-" + "proj-" + _MIXED,
    "anthropic": "sk-" + "ant-api03-" + _MIXED,
    "hugging-face": "hf_" + _MIXED,
    "npm": "npm_" + _MIXED + "abcd",
    "pypi": "pypi-" + _MIXED + _MIXED,
    "digitalocean": "dop_v1_" + _HEX * 4,
    "databricks": "dapi" + _HEX * 2,
    "sendgrid": "SG." + _MIXED[:22] + "." + _MIXED,
    "twilio": "SK" + _HEX * 2,
    "shopify": "shpat_" + _HEX * 2,
    "atlassian": "ATATT3" + _MIXED,
    "vault": "hvs." + _MIXED,
    "telegram": "123456789:AA" + _MIXED + "x",
    "jwt": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + _MIXED,
}

#: Text with {} in the place of the secret.
AROUND = (
    "{}",
    "use {} for it",
    "key:{}",
    "({})",
    "https://example.org/?k={}&x=1",
    '{{"k": "{}"}}',
    "first line\n{}\nlast line",
    "\u00e4\u00f6 {} \u4e2d",
)

SECRET = "hunter2-Zq"
#: Text with {} in the place of a secret that only its surroundings give away.
TOLD = (
    "password={}",
    "password = {}",
    "PASSWORD: {}",
    "passwd:{}",
    "pwd={}",
    "the password is {} and the user is bob",
    "DB_PASSWORD='{}'",
    'export API_TOKEN="{}"',
    '{{"apiKey": "{}"}}',
    '{{"clientSecret":"{}"}}',
    '{{\\"password\\": \\"{}\\"}}',
    "api_key={}",
    "api-key: {}",
    "x-api-key: {}",
    "aws_secret_access_key = {}",
    "secretAccessKey: '{}'",
    "AccountName=x;AccountKey={};EndpointSuffix=y",
    "Authorization: Bearer {}",
    "authorization: basic {}==",
    "curl -H 'Authorization: Bearer {}' https://example.org",
    "bearer {}",
    "mysql://root:{}@db.example.org/x",
    "postgresql+psycopg://u:{}@localhost:5432/x?y=z",
    "https://:{}@example.org/",
    "https://u:p@{}@example.org/",
    "https://example.org/?token={}&x=1",
    "https://example.org/blob?sp=r&sig={}",
    "tool --password {} --verbose",
    "tool --api-key {}",
    "tool --db-password='{}'",
    "client_secret => {}",
    "refresh_token:={}",
    "session_key: {}",
    "passphrase: {}",
    "secret_2={}",
    "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----\\n{}\\n-----END OPENSSH PRIVATE KEY-----\\n",
    "-----BEGIN PRIVATE KEY-----{} and no end",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{}\n=x",
)

#: Must come out as it went in.
HARMLESS = (
    "",
    "researcher",
    "Find out why the tests of the parser fail, and fix them.",
    "passed: 12, failed: 3",
    "max_tokens=4096, tokens: 512",
    "token_count: 17",
    "the token is expired",
    "a password is required",
    "primary key: user_id",
    "sorted(key=len)",
    "author: Jane Doe",
    "keyboard: qwerty",
    "bypass: yes",
    "compass=north",
    "design: done",
    "password=$PASSWORD",
    "token: None",
    'api_key="${API_KEY}"',
    "https://example.org/a:b@c/d?x=1#y",
    "https://user@example.org/",
    "ssh://git@example.org:22/x.git",
    "mail bob@example.org at 10:30",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "0b5e7a4c-6f1d-4c2e-9f61-3f9d2f0c8a11",
    "run-2024-05-01T10:30:00+02:00",
    "a basic understanding of the code",
    "the bearer of this letter",
    "sk-learn and task-force-one-is-here-to-stay",
    "/usr/lib/python3.11/site-packages/pytest/__init__.py",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ bob",
    "dashboard:main",
    "subagent:a1b2c3",
)
