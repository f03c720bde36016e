"""Secrets that only their name tells: `NAME = value` in the forms of shells, settings, code,
headers, markup and command lines.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from synth.text.secrets.values.credentials import (
    is_mixed_password,
    is_password,
    is_phrase,
    is_user_and_password,
)
from synth.text.secrets.values.judges import judge
from synth.text.secrets.values.label_words import Label, label_of
from synth.text.secrets.values.randomness import (
    is_placeholder,
    is_random,
    is_wordlike,
)
from synth.text.secrets.values.words import listed

_NAMES = (
    "pass(?:word|wd|phrase|code|wort|wrd)?|kennwort|contrase.{1,2}a|mot[ _-]?de[ "
    "_-]?passe|mdp|senha|wachtwoord|pwd"
    "|pw|secrets?|tokens?|keys?|credentials?|creds|auth|authorization|jwt|sess(?:ion|id)?(?:[_-]?id)?|sid|cookies?"
    "|csrf|xsrf|mnemonic|seed|phrase|words|pin|otp|sig|psk|hmac|pat|appid|bearer|webhook|adafruit|airtable|algolia"
    "|asana|atlassian|auth0|bitbucket|cloudflare|codecov|cohere|datadog|dropbox|fastly|figma|heroku|launchdarkly"
    "|linear|linkedin|mailgun|mattermost|mistral|netlify|notion|okta|openai|pagerduty|pinecone|sentry|snyk|sonar"
    "|splunk|stripe|telegram|trello|twilio|twitch|twitter|vercel|zendesk"
)
_NAME = rf"(?:{_NAMES})(?:[_.-]?[a-z0-9]+)*"
_CLOSING = r"""(?:\[\w*\])?[\\"'`\]*)]*"""
_TYPE = r"(?:\s?:\s?[A-Za-z_.\[]*(?:str|string|text|bytes|char)\b\]?(?: ?\| ?None)?)"
_SIGN = r"(?:===?|!==?|:?=|=>|:|->|[ \t]\|(?:[ \t]))\*{0,2}"
_ASSIGNED = (
    rf"{_TYPE}?[ \t]{{0,8}}{_SIGN}[ \t]{{0,8}}(?:[|>][+-]?[ \t]{{0,4}})?(?:\\r)?(?:\\n|\n)?[ "
    r"\t]{0,12}"
)
_VALUED = r"[\s)\]}]{0,4},?(?:\\n)?\s{0,12}\\{0,3}[\"']?(?:value|text|content|input|keys)\\{0,3}[\"']?\s{0,4}[:=]\s{0,4}"
_MANNER = (
    r"(?:is|was|are|ist|lautet|war|es|est|will be|now|becomes|set to|changed to|reset to|equals|as)"
)
_SAID = (
    "passwords?|passphrase|passcode|pass code|pwd|pw|passwort|kennwort|contrase.{1,2}a|clave|mot "
    "de passe|senha|pin"
    "|pin code|pin number|api ?key|access ?key|api ?secret|client secret|secret|secret "
    "?key|private ?key|token"
    "|session id|access code|login code|key|credentials?|seed|seed phrase|recovery phrase"
)
FORMS: Mapping[str, str] = {
    "assigned": rf"(?i){_NAME}{_CLOSING}(?:{_ASSIGNED}|{_VALUED})[^\s]",
    "listed": rf"(?i){_NAME}\\*[\"'](?:\s{{0,4}},|\s{{0,2}}\))\s{{0,4}}\\*[\"'][^\s]",
    "called": rf"(?i){_NAME}\(\s{{0,4}}\\*[\"'][^\s]",
    "markup": rf"(?i)<[\w:.-]*{_NAME}(?:\s[^<>\n]{{0,80}})?>\s{{0,4}}[^\s<]",
    "flag": rf"(?i)(?:^|[\s\"'`])--?[\w-]*{_NAME}[ \t]{{1,4}}[^\s-]",
    "set": r"(?i)\b(?:ENV|ARG|setenv|export|set|put|config|configure set)[ "
    rf"\t]{{1,4}}[\w./:-]*{_NAME}[ \t]{{1,4}}[^\s=]",
    "quoted": rf"(?i){_NAME}[ \t]{{1,4}}\\*[\"'`][^\s]",
    "said": rf"(?i)\b(?:{_SAID})(?: [a-z0-9'./_@-]+){{0,6}}?(?: {_MANNER}:?|:)\s{{1,3}}(?:now "
    r"|currently |still )?[^\s]",
    "bare": r"(?i)\b(?:password|passphrase|passcode|passwort|kennwort|pwd|pin)[ \t]{1,2}[^\s]",
    "before": r"(?i)[^\s]+ (?:is|as|for) (?:(?:my|the|your|our|a|an|her|his|their|new) )?(?:[\w-]+[ "
    rf"-]){{0,2}}?(?:{_SAID})\b",
}
"""Form -> what RE2 looks for: the name, what separates it, and the first character of the value
(`before`: the value, then the name).
"""

_BACK = re.compile(r"[\w.-]*")
_OPENING = re.compile(r"(?:[rbfuL@]{1,2}(?=[\"']))?(\\*)([\"'`“])")
_BARE = re.compile(r"[^\s\"'`<>,;&|)}\]\\]+")
_LINE = re.compile(r"[^\s\"'`<>\\]+")
_PHRASE = re.compile(r"[^\n\r\"'`<>\\.,;:(){}\[\]]{3,200}")
_DIGITS = re.compile(r"\d{4,8}(?!\w)")
_LINE_START = re.compile(
    r"[ \t]*(?:- |export |set |\$env:|env |declare -x )?[\w.-]*", re.IGNORECASE
)
_FORM_FIELD = re.compile(r"&(?=[\w.%-]{1,40}=)")
_LONGEST = 4000
_JUDGED = 300
"""Characters of a value that are looked at to tell whether it is one; what is found goes on to the
value's own end.
"""
_IN_CODE = re.compile(
    r"[(\[]|[ \t]{0,4}(?:=[^=]|\| )|[ \t]{1,4}(?:if|else|in|or|and|for) \w+[.(\[: ]"
)
_IN_SENTENCE = re.compile(r" (?!and |but |so |please |or |then |thanks)[A-Za-z]+[ .,]")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_WORDS_JOINED = re.compile(r"[A-Za-z]{3,12}(?:-[A-Za-z]{3,12}){2,6}")
_NAME_ONLY = re.compile(r"[A-Za-z_]+")
_PUBLIC_KEY = re.compile(
    r"(?i)(?:public|pub|peer|primary|foreign|ssh|host|sort|partition)[ _-]{1,3}\Z"
)
_LOOSE = frozenset({"listed", "called", "flag", "set", "quoted", "bare", "before", "said"})
"""Forms in which words stand as often as secrets: a value there must be mixed or drawn."""


def values(form: str, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where the value stands that a match of a form announces, if it is one."""
    if form == "before":
        yield from _before(text, start, end)
        return
    at = end - 1
    if form in ("listed", "called", "quoted"):
        at -= 1
        while text[at - 1] == "\\":
            at -= 1
    label = label_of(_name(text, form, start, at))
    if label is None:
        return
    quoted = _quoted(text, at)
    if quoted is not None:
        first, last = quoted
        if _is_value(label, text[first : min(last, first + _JUDGED)], form, quoted=True):
            yield first, last
        return
    if form in ("listed", "called", "quoted"):
        return
    yield from _unquoted(label, text, form, start, at)


def _name(text: str, form: str, start: int, at: int) -> str:
    """The name from its first letter on, without what separates it from the value."""
    head = text[max(0, start - 60) : start]
    before = _BACK.match(head[::-1]) if form != "flag" else None
    name = (before.group()[::-1] if before is not None else "") + text[start:at]
    if form == "said":
        return "" if _PUBLIC_KEY.search(head) else _said_name(text[start:at])
    if form == "markup":
        return name.lstrip("<").split(">")[0].split()[0].split(":")[-1]
    if form == "set":
        return name.split()[-1]
    found = re.match(
        r"[\s\"'`-]*([^\s\"'`=:|>,(\\\[*)\]]+(?:[ _-](?:de[ _-]passe|phrase|code|key))?)", name
    )
    last = found.group(1) if found is not None else ""
    if last.casefold() in ("key", "keys", "phrase") and head[-1:] == " " and head.strip():
        return f"{head.split()[-1]} {last}"
    return last


def _said_name(said: str) -> str:
    found = re.match(rf"(?i)(?:{'|'.join(sorted(_SAID.split('|'), key=len, reverse=True))})", said)
    name = found.group() if found is not None else ""
    return (
        {
            "clave": "password",
            "key": "secret key",
            "access code": "passcode",
            "login code": "passcode",
        }.get(name.casefold(), name)
        if (not name.casefold().startswith("pin"))
        else "pin"
    )


def _quoted(text: str, at: int) -> tuple[int, int] | None:
    """Begin and end of a string literal at a place, however deep its escapes are; None where none
    begins or ends there.
    """
    found = _OPENING.match(text, at)
    if found is None:
        return None
    depth, sign = len(found.group(1)), found.group(2).replace("“", "”")
    place = found.end()
    while True:
        close = text.find(sign, place, found.end() + _LONGEST)
        if close < 0:
            return None
        before = text[max(found.end(), close - 64) : close]
        run = len(before) - len(before.rstrip("\\"))
        if run >= depth and (run - depth) % (2 * (depth + 1)) == 0:
            return found.end(), close - depth
        place = close + 1


def _unquoted(label: Label, text: str, form: str, start: int, at: int) -> Iterator[tuple[int, int]]:
    line = _PHRASE.match(text, at)
    said = form == "said"
    broken = "\n" in text[start:at] or "\\n" in text[start:at]
    if broken or "):" in text[start:at]:
        line = None
    if (
        label in ("password", "phrase")
        and line is not None
        and " " in line.group().strip()
        and form in ("assigned", "said")
    ):
        phrase = re.split(r" (?:and|but|so|please|for|if|which|that) |  ", line.group().rstrip())[0]
        enough = 2 if label == "password" else 6
        if len(phrase.split()) >= enough and _is_phrase_of(label, phrase, said=said):
            yield at, at + len(phrase)
            return
    begins_line = form in ("assigned", "set") and _begins_line(text, start)
    shape = _LINE if begins_line else _BARE
    found = shape.match(text, at, at + _JUDGED)
    if found is None:
        return
    value = _FORM_FIELD.split(found.group())[0].rstrip(",;" if begins_line else ".,;:!?")
    if said or form in ("bare", "assigned"):
        value = value.rstrip(".") if value.count(".") == 1 and value.endswith(".") else value
    end = at + len(value)
    if (
        not value
        or _IN_CODE.match(text, end)
        or (":" in text[start:at] and value.isalpha() and _IN_SENTENCE.match(text, end))
    ):
        return
    if text[at - 3 : at] == " = " and _DOTTED.fullmatch(value) and not any(map(str.isdigit, value)):
        return
    if _is_value(label, value, form, quoted=False) and not (broken and _NAME_ONLY.fullmatch(value)):
        whole = shape.match(text, at)
        yield at, whole.end() if whole is not None and len(value) == _JUDGED else end


def _begins_line(text: str, start: int) -> bool:
    head = text[max(0, start - 80) : start]
    line = head.replace("\\n", "\n").rpartition("\n")
    return (bool(line[1]) or start <= 80) and _LINE_START.fullmatch(line[2]) is not None


@lru_cache(maxsize=4096)
def _is_phrase_of(label: Label, phrase: str, *, said: bool) -> bool:
    said_words = phrase.split()
    if (
        not all(re.fullmatch(r"[^\W_][\w'!@#$%-]*", word) for word in said_words)
        or len(said_words) > 26
    ):
        return False
    return is_phrase(phrase) and not (said and said_words[0].casefold() in _STATES)


_STATES = listed("states")


def _is_value(label: Label, value: str, form: str, *, quoted: bool) -> bool:
    if "REDACTED" in value or is_placeholder(value.strip()):
        return False
    loose = form in _LOOSE
    if label == "pin":
        return _DIGITS.fullmatch(value) is not None
    if label == "maybe":
        strongly_random = judge("strongly_random")
        strong = (
            strongly_random(value)
            and not _is_path(value)
            and any(map(strongly_random, value.split(":")))
        )
        return not loose and (strong or (len(value) >= 12 and is_user_and_password(value)))
    if label == "token":
        if not loose and value.count("-") >= 3 and _WORDS_JOINED.fullmatch(value):
            return is_password(value, quoted=quoted)
        if not loose and judge("chosen_key")(value):
            return True
        return (
            is_random(value)
            and "=" not in value[:-2]
            and (quoted or not _is_code(value))
            and not (loose and not any(map(str.isdigit, value)) and len(value) < 16)
        )
    if form == "said" and value.casefold() in _STATES:
        return False
    if label == "phrase":
        return (len(value.split()) >= 6 and is_phrase(value)) or (
            form == "assigned" and is_random(value, 16)
        )
    if form == "said" and _WORDS_JOINED.fullmatch(value):
        return True
    if form == "listed" and quoted and _WORDS_JOINED.fullmatch(value) and value.count("-") >= 3:
        return True
    if form == "quoted" and value.isalpha():
        return False
    if loose:
        return is_mixed_password(value) or (
            form == "flag"
            and is_password(value, quoted=quoted)
            and not value.isupper()
            and len(value) >= 5
        )
    return is_password(value, quoted=quoted)


def _is_code(value: str) -> bool:
    if re.search(r"[\w\])]\(|^[A-Za-z_]\w*\[|^[$&*({\[<]", value):
        return True
    return re.search(r"^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$", value) is not None and is_wordlike(value)


def _is_path(value: str) -> bool:
    return value.count("/") > 2 or value.count(".") > 3


def _before(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """`hunter2 is the password`: the word before, where no name of anything could be written so."""
    word = text[start:end].split(" ")[0]
    bare = word.strip("\"'`.,;:()“”*")
    used = re.search(r"(?i)\buse[sd]?\s[\"'`(]{0,2}\Z", text[max(0, start - 8) : start]) is not None
    drawn = is_mixed_password(bare) and any(map(str.isdigit, bare)) and any(map(str.isalpha, bare))
    put = used and (
        is_random(bare)
        or (len(bare) >= 6 and (bare.isdigit() or bare.count("-") + bare.count(".") >= 2))
    )
    if len(bare) <= 200 and (drawn or put) and not is_placeholder(bare):
        first = start + word.index(bare)
        yield first, first + len(bare)
