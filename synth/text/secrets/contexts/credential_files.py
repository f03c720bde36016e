"""Finds passwords in files whose name says that they hold some: a user, a colon, a password, line
by line.
"""

import re
from collections.abc import Iterator

from synth.text.secrets.values.judges import judge

CREDENTIAL_FILE = (
    r"(?i)(?:secrets?|htpasswd|sasl_passwd|smbpasswd|\.pgpass|creds?|credentials|passwords?|users|accounts|logins|newusers|pureftpd\.passwd|passwdfile"
    r"|passdb|vpnpass|auth-user-pass|userlist|\.cvspass|tacacs|basic_auth|htdigest|combo|dump|chpasswd|potfile|cracked)"
    r"(?:\.(?:txt|lst|list|conf|cfg|csv|db|log|pass|pot))?\b"
)
_LINE = re.compile(
    r"(?:\n|(?<=[\"']))[ "
    r"+]{0,3}(?:\[?[\w.-]+\]?:\d+\s+)?[\w.@*\\-]{1,80}[:|]([^\s:\"'|/<>=\\][^\s\"'|:/<>\\]{3,80})(?=\r?(?:\n|\Z)|[\"'])"
)
_SIGN = re.compile(r"[:|][^\s:\"'|/<>=]")
_REACH = 600


def file_values(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The last field of each line of that form among those that follow the name."""
    if _SIGN.search(text, end, end + _REACH) is None:
        return
    for match in _LINE.finditer(text, end, end + _REACH):
        if judge("file_password")(match.group(1)):
            yield match.span(1)
