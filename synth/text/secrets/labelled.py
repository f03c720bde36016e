"""Secrets that only their name tells: `NAME = value` in the forms of shells, settings, code,
headers, markup and command lines.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

from synth.text.secrets.judges import judge
from synth.text.secrets.labels import Label, label_of
from synth.text.secrets.values import has, read

Reader = Callable[[str, int, int], Iterator[tuple[int, int]]]
_FORMS = "assigned listed called markup flag set quoted said bare"
_QUOTED = ("listed", "called", "quoted")
"""Forms whose value stands in quotation marks."""
_BACK = re.compile(r"[\w.-]*")
_NAME = re.compile(
    r"[\s\"'`-]*([^\s\"'`=:|>,(\\\[*)\]]+(?:[ _-](?:de[ _-]passe|phrase|code|key))?)"
)
_OPENING = re.compile(r"(?:[rbfuL@]{1,2}(?=[\"']))?(\\*)([\"'`“])")
_BARE = re.compile(r"[^\s\"'`<>,;&|)}\]\\]+")
_LINE = re.compile(r"[^\s\"'`<>\\]+")
_PHRASE = re.compile(r"[^\n\r\"'`<>\\.,;:(){}\[\]]{3,200}")
_PHRASE_END = re.compile(r" (?:and|but|so|please|for|if|which|that) |  ")
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
_NAME_ONLY = re.compile(r"[A-Za-z_]+")
_PUBLIC_KEY = re.compile(
    r"(?i)(?:public|pub|peer|primary|foreign|ssh|host|sort|partition)[ _-]{1,3}\Z"
)
_SAID = {
    "clave": "password",
    "key": "secret key",
    "access code": "passcode",
    "login code": "passcode",
}


def values(form: str, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where the value stands that a match of a form announces, if it is one."""
    at = end - 1
    if form in _QUOTED:
        at -= 1
        while text[at - 1] == "\\":
            at -= 1
    label = label_of(_name(text, form, start, at))
    if label is None:
        return
    quoted = _quoted(text, at)
    if quoted is not None:
        first, last = quoted
        if is_value(label, text[first : min(last, first + _JUDGED)], form, quoted=True):
            yield first, last
    elif form not in _QUOTED:
        yield from _unquoted(label, text, form, start, at)


def _name(text: str, form: str, start: int, at: int) -> str:
    """The name from its first letter on, without what separates it from the value."""
    head = text[max(0, start - 60) : start]
    if form == "said":
        return "" if _PUBLIC_KEY.search(head) else _said_name(text[start:at])
    before = _BACK.match(head[::-1]) if form != "flag" else None
    name = (before.group()[::-1] if before is not None else "") + text[start:at]
    if form == "markup":
        return name.lstrip("<").split(">")[0].split()[0].split(":")[-1]
    if form == "set":
        return name.split()[-1]
    found = _NAME.match(name)
    last = found.group(1) if found is not None else ""
    if last.casefold() in ("key", "keys", "phrase") and head[-1:] == " " and head.strip():
        return f"{head.split()[-1]} {last}"
    return last


def _said_name(said: str) -> str:
    found = _said_names().match(said)
    name = found.group() if found is not None else ""
    return "pin" if name.casefold().startswith("pin") else _SAID.get(name.casefold(), name)


@cache
def _said_names() -> "re.Pattern[str]":
    names = read("contexts.yaml", dict[str, Any])["parts"]["SAID"].split("|")
    return re.compile("|".join(sorted(names, key=len, reverse=True)), re.IGNORECASE)


def _quoted(text: str, at: int) -> tuple[int, int] | None:
    """Begin and end of a string literal at a place, however deep its escapes are; None where none
    begins or ends there.
    """
    found = _OPENING.match(text, at)
    if found is None:
        return None
    depth, sign = len(found.group(1)), found.group(2).replace("“", "”")
    place = found.end()
    while (close := text.find(sign, place, found.end() + _LONGEST)) >= 0:
        before = text[max(found.end(), close - 64) : close]
        run = len(before) - len(before.rstrip("\\"))
        if run >= depth and (run - depth) % (2 * (depth + 1)) == 0:
            return found.end(), close - depth
        place = close + 1
    return None


def _unquoted(label: Label, text: str, form: str, start: int, at: int) -> Iterator[tuple[int, int]]:
    between = text[start:at]
    broken = "\n" in between or "\\n" in between
    if label in ("password", "phrase") and form in ("assigned", "said"):
        line = None if broken or "):" in between else _PHRASE.match(text, at)
        phrase = "" if line is None else _PHRASE_END.split(line.group().rstrip())[0]
        kind = "phrase_in_sentence" if form == "said" else "phrase_in_line"
        if len(phrase.split()) >= (2 if label == "password" else 6) and judge(kind)(phrase):
            yield at, at + len(phrase)
            return
    begins_line = form in ("assigned", "set") and _begins_line(text, start)
    shape = _LINE if begins_line else _BARE
    found = shape.match(text, at, at + _JUDGED)
    if found is None:
        return
    value = _FORM_FIELD.split(found.group())[0].rstrip(",;" if begins_line else ".,;:!?")
    if form in ("said", "bare", "assigned") and value.count(".") == 1:
        value = value.rstrip(".")
    end = at + len(value)
    if (
        not value
        or _IN_CODE.match(text, end)
        or (":" in between and value.isalpha() and _IN_SENTENCE.match(text, end))
        or (text[at - 3 : at] == " = " and _DOTTED.fullmatch(value) and not has(value, "digit"))
        or (broken and _NAME_ONLY.fullmatch(value))
    ):
        return
    if is_value(label, value, form, quoted=False):
        whole = shape.match(text, at)
        yield at, whole.end() if whole is not None and len(value) == _JUDGED else end


def _begins_line(text: str, start: int) -> bool:
    head = text[max(0, start - 80) : start]
    line = head.replace("\\n", "\n").rpartition("\n")
    return (bool(line[1]) or start <= 80) and _LINE_START.fullmatch(line[2]) is not None


def is_value(label: Label, value: str, form: str, *, quoted: bool) -> bool:
    """Whether what stands there is what the label announces (labels.yaml)."""
    if "REDACTED" in value or judge("placeholder")(value.strip()):
        return False
    tests = read("labels.yaml", dict[str, dict[str, str]])[label]
    places = ([] if quoted else [f"{form} bare"]) + [form]
    if form not in tests:
        places += ([] if quoted else ["any bare"]) + ["any"]
    return judge(next(tests[place] for place in places if place in tests))(value)


def before(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """`hunter2 is the password`: the word before, where no name of anything could be written so."""
    word = text[start:end].split(" ")[0]
    bare = word.strip("\"'`.,;:()“”*")
    used = re.search(r"(?i)\buse[sd]?\s[\"'`(]{0,2}\Z", text[max(0, start - 8) : start]) is not None
    if (
        len(bare) <= 200
        and (judge("told_before")(bare) or (used and judge("put_before")(bare)))
        and not judge("placeholder")(bare)
    ):
        first = start + word.index(bare)
        yield first, first + len(bare)


READERS: Mapping[str, Reader] = {
    "before": before,
    **{form: partial(values, form) for form in _FORMS.split()},
}
