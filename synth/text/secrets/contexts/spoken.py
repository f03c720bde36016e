# ruff: noqa: E501
"""Finds passwords and codes that a sentence tells, in the languages that people write to agents
in.
"""

import re
from collections.abc import Iterator

from synth.text.secrets.values.credentials import is_mixed_password
from synth.text.secrets.values.randomness import is_placeholder, is_random

SPOKEN = (
    r"(?i)\b(?:pass ?words?|passwrd|pass ?phrases?|pass "
    r"?codes?|passwort|kennwort|losung|zugangscode|pwd?|pswd|contrase.{1,2}a|clave|mot de "
    r"passe|mdp"
    r"|senha|palavra[- "
    r"]passe|wachtwoord|toegangscode|parola|heslo|has.{1,3}o|l.{1,2}senord\w*|adgangskode|passord\w*|salasana|jelsz.{1,2}|.{1,2}ifre"
    r"|wi-?fi key|wlan-?schl.{1,2}ssel|creds?|credentials?|log "
    r"?in|zugangsdaten|identifiants?|credenciales|secret|token|(?:api|access|licen[cs]e) "
    r"?key)(?:[^\w./-]|\Z)"
)
OTHER_SCRIPTS = (
    "(?:[Пп]арол|ПАРОЛ|гасло|密码|密碼|口令|密钥|パスワード|パスフレーズ|暗証|비밀번호|암호|패스워드|كلمة المرور|كلمة "
    "السر|סיסמ|पासवर्ड|κωδικ|รหัสผ่าน|ключ от)"
)
_THING = (
    "alarm|door|gate|panel|safe|garage|keypad|entry|entrance|lock|locker|lockbox|padlock|voicemail|vault|gym|sim|atm|debit|credit "
    "card|bank|building"
    "|elevator|lift|parking|bike|luggage|suitcase|warehouse|office|server "
    "room|lab|storage|phone|tablet|tresor|t.{1,2}r|haus|porte|immeuble|puerta"
    "|caja|alarma|portone|cancello|porta|deur|kluis"
)
CODE = (
    rf"(?i)\b(?:(?:{_THING})\w{{0,3}}\b[^\n.!?]{{0,50}}?(?:pin|code|codes|combination|combo|passcode|kombination|c.{{1,2}}digo|codice)"
    rf"|(?:pin|code|combination|combo|passcode|c.{{1,2}}digo|codice)\b[^\n.!?]{{0,30}}?\b(?:{_THING})|pin(?:[ "
    r"-]?(?:code|number|nummer))?)\b[^\n.!?0-9]{0,50}?"
    r"(?:\bis|\bist|\blautet|\best|\bes|\bto|\bwith|[^ "
    r"-~]{1,2}|:|=|was|enter|use|type|press|dial)[ \"'`*]{1,3}[0-9][0-9 -]{2,10}[0-9]"
)
CODE_OTHER = "(?:[Пп]ин-?код|[Кк]од|ПИН|PIN|PIN码|门禁|验证码|暗証番号|密码|비밀번호)[^\n.!?0-9A-Za-z_]{1,30}[0-9]{4,8}"
OPENED = (
    r"(?i)\b(?:unlock|decrypt|open|unzip|extract|unpack|log(?:ged)?[ -]?(?:in|on)|sign(?:ed)?[ "
    r"-]?in|authenticate|mount|connect|enter)(?:e?d|s|ing)?\b"
    r"[^\n.!?]{0,60}?\b(?:with|using|via|by entering|as \S{1,40} with|as \S{1,40} "
    r"/|:)\s{1,2}[^\s]{6,}"
)
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
_NEVER = re.compile(
    r"""(?ix) \d[\d.,:/-]*(?:st|nd|rd|th|am|pm|h|s|ms|min|kb|mb|gb|x|px|%|k|m)? | v?\d+(?:\.\d+)+\S* | \d+-?(?:bit|bits|digit|digits|character|characters|char|chars|factor|day|days|word|words|step|letters?)
    | (?:https?|ftp|file|ssh|www)\S* | \S+@\S+\.[a-z]{2,} | (?:[\w-]+\.)+(?:com|org|net|io|de|fr|es|uk|eu|lan|local|dev|internal|corp|home|py|js|ts|txt|md|json|ya?ml|sh|cfg|conf|ini|log|html?|php|csv|pdf|zip|gz|key|pem|env|example)(?::\d+)?/?
    | ~?/\S* | [A-Z]:\\\S* | \S*\(\S* | [\w]+\[\S* | \S*[{}<>\\]\S* | \#?[A-Z]{1,6}-?\#?\d+ | \#\w+ | [@$%&]\w+ | --?\w[\w-]* | (?-i:[a-z_]+|[A-Z_]+|[A-Z][a-z]+)=["']?\S* | (?:utf|sha|md|aes|rsa|http|base|ipv|oauth|sha3|ed|x|k|python|win|rot|bcrypt|pbkdf)-?_?\d+\S*
    | [a-z]+(?:_[a-z]+)*_\d+ | \S*\]\(\S* | /\S* | \S+\?\w+=\S* | [A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+ | \d+-[a-z]+ | \S*&\S*=\S* | \S*/\S*/\S* | [a-z]+'[a-z]+ | [A-Za-z]+/[A-Za-z]+ | [a-z]+\.[a-z]+ | [\w-]+,\S* | \d+[a-z]? | [A-Za-z]+-[A-Za-z]+ | \*+ | [A-Z_]+ | \S*\.\.\.?\S* | not\S* """
)
_JOINED = re.compile(r"[A-Za-z]{3,14}(?:[-._+][A-Za-z0-9]{1,14}){2,7}")
_HYPHENED = re.compile(r"[a-z]+(?:-[a-z]+){2,3}")


def spoken_values(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """What a sentence says right after a word for a password, or says that it was used as one."""
    if text[end - 1] in "](=" or text.startswith("REDACTED:", start - 9):
        return
    window = _sentence(text, end)
    told = _STRANGE.search(text, end, window) is not None
    links = (
        list(_LINK.finditer(text, max(start, end - 1), window))
        if told or _LETTERS.search(text, end, window)
        else []
    )
    for match in sorted(
        links, key=lambda link: _TELLS.search(text, link.start(), link.start("it")) is None
    ):
        span = _value(text, *match.span("it"))
        if span is not None:
            yield span
            return
    head = text[max(0, start - 130) : start].rpartition("\n")[2]
    if _STRANGE.search(head) and re.search(
        r"(?i)\b(?:as|for|is|the|my|same|right|correct|root|wi-?fi|admin|this)\b[^.!?]{0,30}\Z",
        head,
    ):
        for used in _USED.finditer(head):
            at = start - len(head)
            span = _value(text, at + used.start("it"), at + used.end("it"))
            if span is not None:
                yield span


def foreign_values(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The same in scripts whose words are no ASCII: what is ASCII there stands out."""
    window = min(_sentence(text, end), end + 80)
    for pattern in (_LINK, _FIRST):
        for match in pattern.finditer(text, end, window):
            span = _value(text, *match.span("it"))
            if span is not None:
                yield span
                return


def opened_values(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """`unlock the zip with winter-pepper-4`."""
    at = start + len(text[start:end].rstrip()) - len(text[start:end].split()[-1])
    close = re.compile(r"[^\s]+").match(text, at)
    span = _value(text, at, close.end() if close is not None else end)
    if span is not None and (
        _strong(text[slice(*span)]) or _LATER.match(text[span[1] : span[1] + 80])
    ):
        yield span


def code_of_digits(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The digits at the end of the match, all of them."""
    found = re.search(r"[0-9][0-9 -]*[0-9]\Z", text[start:end])
    if (
        found is not None
        and (text[end : end + 1] or " ") not in "0123456789./:-%"
        and 4 <= sum(map(str.isdigit, found.group())) <= 10
    ):
        at = start + found.start()
        blank = text.find(" ", at, end)
        yield (
            at,
            end if blank < 0 or re.fullmatch(r"\d{1,4}(?: \d{1,4}){1,3}", found.group()) else blank,
        )


def _sentence(text: str, at: int) -> int:
    close = re.compile(r"[.!?](?=\s+[A-Z])|\n").search(text, at, at + _AFTER)
    stop = at + _AFTER if close is None else close.start()
    blank = re.compile(r"\s").search(text, stop) if stop < len(text) else None
    return min(len(text), blank.start() if blank is not None else len(text), stop + 100)


def _value(text: str, at: int, close: int) -> tuple[int, int] | None:
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
    bare = text[at:close]
    if len(bare) < 7 or is_placeholder(bare) or _NEVER.fullmatch(bare):
        return None
    good = (is_mixed_password(bare) and any(map(str.isdigit, bare))) or (
        _JOINED.fullmatch(bare) is not None and not _HYPHENED.fullmatch(bare)
    )
    good = good or (_LETTERS.fullmatch(bare) is not None and is_random(bare, 10))
    return (at, close) if good or _signed(bare) else None


def _signed(bare: str) -> bool:
    return re.search(
        r"[A-Za-z][!@#$%^&*+=~]|[!@#$%^&*+=~][A-Za-z]", bare[:-1]
    ) is not None and is_mixed_password(bare)


def _strong(bare: str) -> bool:
    return (
        any(map(str.isdigit, bare))
        and (re.search(r"[!@#$%^&*_.+=-]", bare) is not None or is_mixed_password(bare))
        and any(map(str.isalpha, bare))
    )
