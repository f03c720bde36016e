# ruff: noqa: E501
"""Finds what a command has just made: a key, a token, a password or codes, printed in the lines
below it.
"""

import re
from collections.abc import Iterator

from synth.text.secrets.values.credentials import is_mixed_password
from synth.text.secrets.values.randomness import is_digest, is_placeholder, is_random, is_wordlike
from synth.text.secrets.values.unnamed import is_drawn, is_key_material

_WHAT = "token|secret|password|passwd|psk|passphrase|credential|apikey|api-key|access-key|preshared-key|join-token|auth-?key|licen[cs]e-key"
_DO = "add|create|new|generate|gen|issue|rotate|regenerate|reset|mint|show|get|print|reveal|view|fetch|read|list|ls|cat|export"
MADE = (
    rf"(?i)\b(?:(?:{_WHAT})s?[ :/_-]{{1,2}}(?:{_DO})|(?:{_DO})[ :/_-]{{1,2}}(?:[\w-]{{1,20}}[ "
    rf"/-]){{0,2}}(?:{_WHAT})s?)\b[^\n]{{0,300}}\n"
    r"|\b(?:openssl "
    r"rand|pwgen|makepasswd|apg|diceware|xkcdpass|gen-?key|genpsk|keygen|mkpasswd|gpg "
    r"--gen-random|/dev/u?random|uuidgen"
    r"|token_(?:hex|urlsafe)|bw "
    r"generate|generate_password|randomBytes|rotate-keys|gen_secret|generate:secret|key:generate|wg0? "
    r"dump|base64 -d"
    r"|base64 --decode|print-access-token|print-identity-token|auth token|config "
    r"get-value|get-login-password|vault (?:kv )?(?:get|read)"
    r"|rails secret|rake "
    r"secret|phx\.gen\.secret|\w{0,30}(?:reset_password|generate_token|create_token|make_token|issue_token|gen_token|login_link|make_random_password)\w{0,30}|pass "
    r"show|op read|op item get|secret-tool "
    r"lookup|find-generic-password|print_token|show-secret|create-secret)\b[^\n]{0,300}\n"
)
CODES = (
    r"(?i)\b(?:backup|recovery|scratch|rescue|emergency|one[ -]time|single[ -]use|2fa|mfa|two[ "
    r"-]factor|wiederherstellungs|reserve)"
    r"[ _-]?(?:verification |login |access |backup |recovery )?(?:codes?|keys?)\b[^\n]{0,120}"
    r"|\b(?:recovery|backup|scratch|codes)[\"']?:[ \t]{0,4}\[?\r?\n[^\n]{0,60}"
)
TOTP = (
    r"(?i)\b(?:totp|2fa|mfa|otp|authenticator|two[ -]factor|google auth|base32|setup "
    r"key|manual entry|qr[- ]?code|enter this key)\b[^\n]{0,120}(?:\n[^\n]{0,80}){0,3}"
)
_LINES = 14
_ALONE = re.compile(r"[ \t+>]*[\"'`]?([^\s\"'`<>,;(){}\[\]|│]{8,400})[\"'`]?[ \t]*\r?")
_CELL = re.compile(
    r"(?i)(?:^|[\s|│{,\"'])(?:value|token|secret|key|password|pass|code|result|data|id_token|psk|credential)[\"']?\s{0,30}[:=|│]\s{0,4}"
    r"[\"']?([^\s\"'`,|│]{6,400})"
)
_FIRST = re.compile(r"([^\s\"'`,|│=]{16,400})(?:[ \t]{2,}|\t)\S")
_CODE = re.compile(
    r"(?<![\w.:/@-])(?:[A-Za-z0-9]{4,6}(?:-[A-Za-z0-9]{4,6}){1,5}|[0-9]{8,10}|[0-9]{4} "
    r"[0-9]{4}|[0-9]{3} [0-9]{3}|[A-Za-z0-9]{8,12}|[0-9a-f]{16})(?![\w:/@-]|\.\w)"
)
_BASE32 = re.compile(
    r"(?<![\w/+-])(?:[A-Z2-7]{16,64}={0,6}|[A-Z2-7]{4}(?:[ -][A-Z2-7]{4}){3,15}|[a-z2-7]{4}(?: "
    r"[a-z2-7]{4}){3,15})(?![\w/+-])"
)
_PUBLIC = re.compile(r"(?i)pub(?:lic|key)?\b|sha\d|digest|fingerprint|sum\b|^\s*$")
_PROMPT = re.compile(r"\s*(?:\S{0,40}[$#>]|PS \S*>|>>>|In \[\d+\]:)\s")


def made_values(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Drawn values that stand alone in a line of the output, at its begin, or after a word for
    them.
    """
    if re.search(r"(?i)pubkey|public", text[start:end]) and "genkey" not in text[start:end]:
        return
    at = end
    for _ in range(_LINES):
        close = text.find("\n", at)
        close = len(text) if close < 0 else close
        line = text[at:close]
        if not line.strip() and at != end:
            return
        if _PROMPT.match(line) and at != end:
            return
        yield from _in_line(text, at, close)
        if close == len(text):
            return
        at = close + 1


def _in_line(text: str, at: int, close: int) -> Iterator[tuple[int, int]]:
    alone = _ALONE.fullmatch(text, at, close)
    if alone is not None:
        value = alone.group(1)
        drawn = (
            is_digest(value)
            or is_key_material(value)
            or is_drawn(value)
            or (is_mixed_password(value) and is_random(value))
        )
        if (
            drawn
            and not is_placeholder(value)
            and not value.startswith(("/", "http", "sha256:", "-"))
        ):
            yield alone.span(1)
        return
    first = _FIRST.match(text, at, close)
    if first is not None and (
        is_key_material(first.group(1)) or is_drawn(first.group(1).replace(".", ""))
    ):
        yield first.span(1)
    for cell in _CELL.finditer(text, at, close):
        value = cell.group(1)
        if (is_digest(value) or is_random(value, 10)) and any(map(str.isdigit, value)):
            yield cell.span(1)


def code_values(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Codes in the same line and in the lines below, where there are two of a shape or more."""
    stop = end
    for _ in range(24):
        following = text.find("\n", stop + 1)
        following = len(text) if following < 0 else following
        line = text[stop:following].strip()
        if line and not _CODE.search(line) and stop != end:
            break
        stop = following
        if stop == len(text):
            break
    by_shape: dict[str, list[re.Match[str]]] = {}
    for match in _CODE.finditer(text, start, stop):
        if not is_wordlike(match.group()) or any(map(str.isdigit, match.group())):
            by_shape.setdefault(re.sub(r"\w", "x", match.group()), []).append(match)
    for found in by_shape.values():
        with_digits = sum(any(map(str.isdigit, match.group())) for match in found)
        if (
            len(found) >= 2
            and with_digits >= 2
            and 2 * with_digits >= len(found)
            and len({match.group() for match in found}) > 1
        ):
            yield from (match.span() for match in found)


def totp_values(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Base32 near a word for second factors."""
    for match in _BASE32.finditer(text, start, min(len(text), end + 70)):
        bare = match.group().replace(" ", "").replace("-", "")
        if (
            len(set(bare)) >= 7
            and (" " in match.group() or is_random(bare))
            and match.start() < end
        ):
            yield match.span()
