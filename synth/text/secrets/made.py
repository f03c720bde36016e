"""Finds drawn strings: what a command has just made, printed in the lines below it (a key, a token,
a password, codes), and long ones that nothing names and nothing beside them calls public.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from synth.text.secrets.judges import is_key_material, judge
from synth.text.secrets.labelled import Reader
from synth.text.secrets.tables import end_of_line
from synth.text.secrets.values import has, is_wordlike, listed

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
_WORD = re.compile(r"[a-z]{3,8}")
_INFLECTED = re.compile(r"(?:ing|ed|ly|ies|ers|[^seiou]s)\Z")
_NAMED = re.compile(
    r"(?i)seed|mnemonic|phrase|wallet|metamask|ledger|bip-?39|recover|[\"']words[\"']\s?:"
)
_PROMPT = re.compile(r"\s*(?:\S{0,40}[$#>]|PS \S*>|>>>|In \[\d+\]:)\s")
_LONGEST = 200
"""Longer ones are pictures, archives and ciphertexts."""
_BEFORE = 90
_URL = re.compile(
    r"[A-Za-z][\w+.-]*://[^\s\"'<>]*\Z|(?:www\.|\.(?:com|org|net|io|de)/)[^\s\"'<>]*\Z"
)
_AFTER = re.compile(r"[/\\(]|[@:][^\W_]")
_ARMOUR = re.compile(r"-----(BEGIN|END) ([A-Z0-9 ]+)-----")
_FLAT = re.compile(r"[A-Za-z0-9+/_-]{56,}={0,2}")


def made(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Drawn values that stand alone in a line of the output, at its begin, or after a word for
    them.
    """
    if re.search(r"(?i)pubkey|public", text[start:end]) and "genkey" not in text[start:end]:
        return
    at = end
    for _ in range(_LINES):
        close = end_of_line(text, at)
        line = text[at:close]
        if at != end and (not line.strip() or _PROMPT.match(line)):
            return
        yield from _in_line(text, at, close)
        at = close + 1
        if at > len(text):
            return


def _in_line(text: str, at: int, close: int) -> Iterator[tuple[int, int]]:
    alone = _ALONE.fullmatch(text, at, close)
    if alone is not None:
        if judge("made")(alone.group(1)):
            yield alone.span(1)
        return
    drawn = judge("drawn_strictly")
    first = _FIRST.match(text, at, close)
    if first is not None and (
        is_key_material(first.group(1)) or drawn(first.group(1).replace(".", ""))
    ):
        yield first.span(1)
    for cell in _CELL.finditer(text, at, close):
        if judge("made_cell")(cell.group(1)):
            yield cell.span(1)


def codes(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Codes in the same line and in the lines below, where there are two of a shape or more."""
    stop = end
    for _ in range(24):
        following = end_of_line(text, stop + 1)
        line = text[stop:following].strip()
        if line and not _CODE.search(line) and stop != end:
            break
        stop = following
    by_shape: dict[str, list[re.Match[str]]] = {}
    for match in _CODE.finditer(text, start, stop):
        if not is_wordlike(match.group()) or has(match.group(), "digit"):
            by_shape.setdefault(re.sub(r"\w", "x", match.group()), []).append(match)
    for found in by_shape.values():
        with_digits = sum(has(match.group(), "digit") for match in found)
        different = len({match.group() for match in found})
        if different > 1 and with_digits >= max(2, len(found) / 2):
            yield from (match.span() for match in found)


def totp(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Base32 near a word for second factors."""
    for match in _BASE32.finditer(text, start, end + 70):
        if match.start() < end and judge("totp")(match.group()):
            yield match.span()


def seed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Phrases that restore wallets: 12 to 24 small words in a row, none of which holds a sentence
    together, of words as different as drawn ones.
    """
    stretch: list[re.Match[str]] = []
    for match in [*_WORD.finditer(text, start, end), None]:
        if match is not None and match.group() not in listed("in_no_seed"):
            stretch.append(match)
            continue
        if len(stretch) >= 12 and _is_seed(text, stretch):
            yield stretch[0].start(), stretch[-1].end()
        stretch = []


def _is_seed(text: str, stretch: list["re.Match[str]"]) -> bool:
    """Lists of strings stand in code as often: they must be named as words of a wallet, and as many
    as those have. Lists of words of a language stand in the order of the alphabet.
    """
    said = [one.group() for one in stretch]
    first, last = stretch[0], stretch[-1]
    in_code = text[first.end()] in "\"'-"
    beside = (text[max(0, first.start() - 60) : first.start()], text[last.end() : last.end() + 80])
    named = len(said) in (12, 15, 18, 21, 24) and any(map(_NAMED.search, beside))
    inflected = sum(_INFLECTED.search(word) is not None for word in said)
    in_order = sum(one <= other for one, other in pairwise(said))
    return (
        (named or not in_code)
        and len(set(said)) >= (0.75 if in_code else 0.85) * len(said)
        and inflected <= 0.2 * len(said)
        and len(said) <= 32
        and in_order < 0.8 * (len(said) - 1)
    )


def unnamed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The run, where it was drawn and nothing around it is public."""
    end = start + len(text[start:end].rstrip(".-"))
    token = text[start:end]
    if (
        len(token) <= _LONGEST
        and not judge("object")(token)
        and is_key_material(token)
        and not judge("placeholder")(token)
        and not _is_public(text, start, end)
    ):
        yield start, end


def _is_public(text: str, start: int, end: int) -> bool:
    above, _, line = text[max(0, start - 400) : start].rpartition("\n")
    line = line[-_BEFORE:]
    url = _URL.search(line + text[start:end])
    if url is not None and url.start() < len(line) + 1:
        return not judge("hooked")(url.group())
    if judge("before_public")(line) or _AFTER.match(text, end):
        return True
    said = line if line.strip(" \t+>|\"'`$#") else above.rpartition("\n")[2][-_BEFORE:]
    if judge("told_secret")(said):
        return False
    return judge("told_public")(said) or _in_armour(text, start, end)


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


READERS: Mapping[str, Reader] = {
    "made": made,
    "codes": codes,
    "totp": totp,
    "seed": seed,
    "unnamed": unnamed,
}
