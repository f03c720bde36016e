"""Finds passwords and codes that a sentence tells, in the languages that people write to agents
in.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from synth.text.secrets.judges import judge
from synth.text.secrets.labelled import Reader

_STRANGE = re.compile(r"[0-9]|\w[-._+!@#$%^&*=~]\w")
_AFTER = 110
_LINK = re.compile(
    r"(?i)(?:(?<!\w)(?:is|was|are|ist|lautet|war|heißt|es|era|est|sera|était|è|é|foi|is "
    r"nu|lyder|är|er|on|to|be|still|now|set to|becomes|это|remains"
    r"|equals|as|this|with|used|into|mit|auf|a|in|zu|type|enter|use|try|put "
    r"in|paste|supply|called|à|jest|je|то|has been)"
    r"(?:\s{1,3}(?:still|now|just|currently|simply|noch|jetzt|aún|ahora|ora|toujours|also|as "
    r"follows))?(?::\s{0,3}|\s{1,3})"
    r"|(?:[:：＝—–→]|->|[=>]\s|\s-\s|是|为|為|改成|はは?|が|을|를|는|은|هي|היא)\s{0,3})[\"'`«„“”‘’「『(*]{0,3}\s?(?P<it>[!-~]{5,120})"
)
_TELLS = re.compile(
    r"(?i)(?:is|was|ist|lautet|war|es|est|era|è|é|lyder|это|becomes|equals|type|enter|use|:|=|—|–)(?:\s{1,3}\w{2,9})?\s{0,3}\W{0,4}\Z"
)
"""Ends of links that tell a value; after others (`auf`, `in`, `to`) a host stands as often."""
_LETTERS = re.compile(r"(?=[a-z]*[A-Z])(?=[A-Z]*[a-z])[A-Za-z]{10,40}")
_YEARLY = re.compile(r"[A-Za-z]\d{2,6}!\Z")
_FIRST = re.compile(r"[\s\"'`«„“「『:：,，(]{0,4}(?P<it>[!-~]{5,120})")
_USED = re.compile(
    r"(?i)\b(?:tried|try|use[sd]?|using|enter(?:ed)?|typed?|with|set|put|gives?|gave|is|so i "
    r"tried|picked|chose|choose|take|remember)\s(?:the |it |in |to )?"
    r"[\"'`«„“(*]{0,3}(?P<it>[!-~]{6,120})(?=[^\n.!?]{0,60}\Z)"
)
_LATER = re.compile(
    r"(?i)\A[^\n.!?]{0,40}\b(?:pw|pass|password|passphrase|passcode|code|pin|key)\b"
)
_ENDS = "\"'`.,;:!?)»”’“*>]}|"
_END = re.compile(r"[.!?](?=\s+[A-Z])|\n")
_BLANK = re.compile(r"\s")
_HEAD = re.compile(
    r"(?i)\b(?:as|for|is|the|my|same|right|correct|root|wi-?fi|admin|this)\b[^.!?]{0,30}\Z"
)
_DIGITS = re.compile(r"[0-9][0-9 -]*[0-9]\Z")
_GROUPS = re.compile(r"\d{1,4}(?: \d{1,4}){1,3}")


def spoken(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """What a sentence says right after a word for a password, or says that it was used as one."""
    if text[end - 1] in "](=" or text.startswith("REDACTED:", start - 9):
        return
    window = _sentence(text, end)
    links: list[re.Match[str]] = []
    if _STRANGE.search(text, end, window) or _LETTERS.search(text, end, window):
        links = list(_LINK.finditer(text, max(start, end - 1), window))
        links.sort(key=lambda link: _TELLS.search(text, link.start(), link.start("it")) is None)
    found = list(_first_of(text, links))
    yield from found
    at = max(text.rfind("\n", 0, start) + 1, start - 130, 0)
    head = text[at:start]
    if not found and _STRANGE.search(head) and _HEAD.search(head):
        for used in _USED.finditer(head):
            yield from _value(text, at + used.start("it"), at + used.end("it"))


def foreign(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The same in scripts whose words are no ASCII: what is ASCII there stands out."""
    window = min(_sentence(text, end), end + 80)
    links = [*_LINK.finditer(text, end, window), *_FIRST.finditer(text, end, window)]
    yield from _first_of(text, links)


def opened(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """`unlock the zip with winter-pepper-4`."""
    at = start + len(text[start:end].rstrip()) - len(text[start:end].split()[-1])
    close = _BLANK.search(text, at)
    for first, last in _value(text, at, close.start() if close is not None else len(text)):
        if judge("strong")(text[first:last]) or _LATER.match(text[last : last + 80]):
            yield first, last


def code_of_digits(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The digits at the end of the match, all of them."""
    found = _DIGITS.search(text[start:end])
    if (
        found is not None
        and (text[end : end + 1] or " ") not in "0123456789./:-%"
        and 4 <= sum(map(str.isdigit, found.group())) <= 10
    ):
        at = start + found.start()
        blank = text.find(" ", at, end)
        yield at, end if blank < 0 or _GROUPS.fullmatch(found.group()) else blank


def _sentence(text: str, at: int) -> int:
    close = _END.search(text, at, at + _AFTER)
    stop = at + _AFTER if close is None else close.start()
    blank = _BLANK.search(text, stop)
    return min(blank.start() if blank is not None else len(text), stop + 100)


def _first_of(text: str, links: Iterable["re.Match[str]"]) -> Iterator[tuple[int, int]]:
    """The first link's value that is one."""
    spans = (span for link in links for span in _value(text, *link.span("it")))
    yield from islice(spans, 1)


def _value(text: str, at: int, close: int) -> Iterator[tuple[int, int]]:
    """Without the signs around it, where it can be a password."""
    while (
        close > at
        and text[close - 1] in _ENDS
        and not _YEARLY.search(text, max(at, close - 8), close)
        and not (
            text[close - 1] in "!*"
            and text[close - 2 : close - 1].isalnum()
            and text[close : close + 1] not in "\n"
        )
    ):
        close -= 1
    while at < close and text[at] in "\"'`(*":
        at += 1
    if judge("spoken_value")(text[at:close]):
        yield at, close


READERS: Mapping[str, Reader] = {
    "spoken": spoken,
    "foreign": foreign,
    "opened": opened,
    "code_of_digits": code_of_digits,
}
