# ruff: noqa: E501
"""Finds drawn strings that nothing names: long, of a key's alphabet, where no word beside them says
that they are public.
"""

import re
from collections.abc import Iterator

from synth.text.secrets.values.randomness import bits, is_digest, is_placeholder, is_wordlike

UNNAMED = r"[A-Za-z0-9_+/~.-]{20,}={0,2}"
_SPLIT = re.compile(r"[^A-Za-z0-9]+")
_RUNS = re.compile(r"[a-z]+|[A-Z]+|[0-9]+|[^A-Za-z0-9]+")
_LONGEST = 200
"""Longer ones are pictures, archives and ciphertexts."""
_BEFORE = 90
_PUBLIC = re.compile(
    r"""(?x) (?:(?<![A-Za-z])|(?=[A-Z])) (?i: (?<!hmac-)sha-?\d | md5 | digest | integrity | checksum | \w{0,8}sums?\b | commit | rev(?:ision)?\b | hash
    | finger | thumb | pub(?:lic|key|lished|\b|_) | peer | recipient | cert | signature | sig\b | signed | etag | [ug]uid | nonce | image | img | png
    | jpe?g | gif | photo | video | audio | media | avatar | icon | model | file | ur[li] | href | src\b | link | ssh-(?:rsa|ed25519|dss) | ecdsa
    | resolved | trace | request | h1: | cursor | page | continuation | offset | ids?\b | block | address | account | wallet | tx\b | transaction
    | asin | sku | serial | slug | ref\b | layer | manifest | blob | cid\b | ipfs | data: | base64, | path | package | version | build | order
    | reservation | ticket | flag | cipher | encrypted | encoded | payload | sample | alphabet | charset | stack | salt | challenge | zip | whl
    | jti | kid\b | vector | regex | pattern | gene | protein | sequence | smiles | inchi | snapshot | vin\b | asset | bundle | chunk
    | x5[ct] | dkim | domainkey | pod\b | [nxye]["']\s?: | name["']?\s?[:=] | key_?id )""",
)
_OBJECT = re.compile(
    r"(?i)(?:call|toolu|tooluse|chatcmpl|cmpl|msg|message|run|req|resp|asst|thread|file|fc|rs|step|evt|cus|pi|prod|price|ch|in|sub|cs|gen|batch|ft|ftjob"
    r"|vs|item|turn|trace|span|org|proj|user|usr|acct|bucket|img|obj|doc|node|inst|i|vol|vpc|subnet|sg|ami|eni|snap|task|job|ws|env|rel|dep|srv|dpl"
    r"|prj|team|conv|ses|id|chat|agent|room|page|post|comment|order|invoice|txn|pay|payment|event|entity|record|row|key_id|age1|npub1|bc1|0x)[_-]?.*"
)
"""What names of objects begin with, that are of no use without a key."""
_FILE = re.compile(r".*\.(?:[a-z]{1,4}[0-9]?|html|json|yaml|woff2|jpeg|webp)(?:\.map|\.gz)?")
_SECRET = re.compile(
    r"(?i)priv|secret|token|passw|api.?key|bearer|genkey|genpsk|gen-?key|keygen|urandom|openssl "
    r"rand|pwgen|credential|sign in with|log ?in with"
)
_DIGEST_BEFORE = re.compile(
    r"(?i)(?:(?<!hmac-)sha-?\d{1,3}|md5|h1|fingerprint|integrity|\.py|\.h)[\"']?\s?[:=, "
    r"-]{1,3}[\"']?\Z"
)
_URL = re.compile(
    r"[A-Za-z][\w+.-]*://[^\s\"'<>]*\Z|(?:www\.|\.(?:com|org|net|io|de)/)[^\s\"'<>]*\Z"
)
_HOOKED = re.compile(
    r"(?i)hook|trigger|/services/|/notify|/alert|/ingest|/relay|/push|/invite|/reset|/magic|/bot|/signal|/private-|/feed/"
)
_ARMOUR = re.compile(r"-----(BEGIN|END) ([A-Z0-9 ]+)-----")
_FLAT = re.compile(r"[A-Za-z0-9+/_-]{56,}={0,2}")


def unnamed_values(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The run, where it was drawn and nothing around it is public."""
    while end > start and text[end - 1] in ".-":
        end -= 1
    token = text[start:end]
    if (
        len(token) > _LONGEST
        or _is_object(token)
        or not is_key_material(token)
        or is_placeholder(token)
    ):
        return
    if not _is_public(text, start, end):
        yield start, end


def _is_object(token: str) -> bool:
    found = _OBJECT.fullmatch(token)
    return (
        token.startswith(("age1", "npub1", "bc1", "0x"))
        or (found is not None and re.match(r"[A-Za-z_]+[_-]", token) is not None)
        or (_FILE.fullmatch(token) is not None)
    )


def is_key_material(token: str) -> bool:
    """Whether the alphabet, the length and the order of characters are those of a key, and of no
    name, digest, path or date.
    """
    body = token.rstrip("=")
    if len(body) < 20 or is_digest(body) or token.count(".") > 4:
        return False
    if _is_base64(token):
        return True
    parts = [part for part in _SPLIT.split(body) if part]
    drawn = [part for part in parts if is_drawn(part)]
    length = sum(map(len, drawn))
    if "/" in body or length < 0.5 * sum(map(len, parts)):
        return False
    return length >= (20 if any(map(str.isupper, drawn)) else 24) or (
        len(parts) > 1 and length >= 16 and _has_all(drawn[0])
    )


def is_drawn(part: str) -> bool:
    """Whether letters and digits of a run change as in nothing but drawn strings."""
    if len(part) < 14 or is_digest(part):
        return False
    changes = len(_RUNS.findall(part)) / len(part)
    lower, upper, digits = (
        any(map(test, part)) for test in (str.islower, str.isupper, str.isdigit)
    )
    if lower and upper:
        enough = changes >= (0.42 if digits else 0.38) and (digits or len(part) >= 18)
    else:
        count = sum(map(str.isdigit, part))
        enough = (
            digits
            and (lower or upper)
            and 3 <= count <= 0.6 * len(part)
            and changes >= 0.28
            and len(part) >= 16
        )
        enough = enough and re.fullmatch(r"(?i)[0-9a-f]+", part) is None
    return enough and bits(part) >= 3.1 and not is_wordlike(part)


def _has_all(part: str) -> bool:
    return all(any(map(test, part)) for test in (str.islower, str.isupper, str.isdigit))


def _is_base64(token: str) -> bool:
    """16 bytes or more in base64 with its padding, or with its two signs among drawn letters."""
    body = token.rstrip("=")
    if "." in body or "~" in body or not _has_all(body) or body.count("/") > 1 + len(body) // 14:
        return False
    padded = token != body and len(token) % 4 == 0 and len(body) >= 22
    signs = ("+" in body or "/" in body) and len(token) % 4 == 0 and len(body) >= 32
    changes = len(_RUNS.findall(body)) / len(body)
    return (
        (padded or signs)
        and changes >= 0.42
        and bits(body) >= 3.8
        and not body.startswith("/")
        and not is_wordlike(body)
    )


def _is_public(text: str, start: int, end: int) -> bool:
    head = text[max(0, start - 400) : start]
    line = head.rpartition("\n")[2][-_BEFORE:]
    url = _URL.search(line + text[start:end])
    if url is not None and url.start() < len(line) + 1:
        return (
            _HOOKED.search(url.group()) is None
            or re.search(r"\.\w{2,5}\Z", url.group()) is not None
        )
    if line.endswith(("/", "\\", "@", "#", "$", "{")) or text[end : end + 1] in ("/", "\\", "("):
        return True
    if text[end : end + 1] in "@:" and text[end + 1 : end + 2].isalnum():
        return True
    if _DIGEST_BEFORE.search(line):
        return True
    said = (
        line
        if line.strip(" \t+>|\"'`$#")
        else head.rpartition("\n")[0].rpartition("\n")[2][-_BEFORE:]
    )
    if _SECRET.search(said) and not re.search(r"(?i)pub|hidden", said):
        return False
    return _PUBLIC.search(said) is not None or _in_armour(text, start, end)


def _in_armour(text: str, start: int, end: int) -> bool:
    """Whether it is a line of a certificate or of another long block."""
    marks = _ARMOUR.findall(text, max(0, start - 6000), start)
    if marks and marks[-1][0] == "BEGIN" and "PRIVATE" not in marks[-1][1]:
        return True
    above = text[max(0, start - 100) : start].rstrip("\r\n\t +>").rpartition("\n")[2].strip()
    below = text[end : end + 100].lstrip("\r\n\t +>").partition("\n")[0].strip()
    return _FLAT.fullmatch(above) is not None or (
        len(text[start:end]) >= 56 and _FLAT.fullmatch(below) is not None
    )
