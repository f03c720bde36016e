"""Secrets that only their name tells, as shells, settings, code and markup write them."""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Literal

import msgspec

from synth.text.data_files import read
from synth.text.secrets.judges import judge
from synth.text.secrets.spans import Bounds
from synth.text.secrets.words import compiled, filled, listed

Label = Literal["password", "token", "phrase", "pin", "maybe"]
Form = Literal["assigned", "listed", "called", "markup", "flag", "set", "quoted", "said", "bare"]


class _Labels(msgspec.Struct, frozen=True):
    """labels.yaml, which says what it holds."""

    names: tuple[tuple[Label | None, str], ...]
    values: dict[Label, dict[str, str]]


_BEFORE = 60
_OF_ANOTHER = ("key", "keys", "phrase")
"""Words that the word before them tells the meaning of."""
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z\u00df-\u00ff]+|\d+|[A-Z]")
_MOST_WORDS = 6

_QUOTED = ("listed", "called", "quoted")
"""Forms whose value stands in quotation marks."""
_OPENING = re.compile(r"(?:[rbfuL@]{1,2}(?=[\"']))?(\\*)([\"'`“])")
_BARE = re.compile(r"[^\s\"'`<>,;&|)}\]\\]+")
_LINE = re.compile(r"[^\s\"'`<>\\]+")
_LINE_START = re.compile(
    r"(?:\A|\n)[ \t]*(?:- |export |set |\$env:|env |declare -x )?[\w.-]*\Z", re.IGNORECASE
)
_PHRASE = re.compile(r"[^\n\r\"'`<>\\.,;:(){}\[\]]{3,200}")
_PHRASE_END = re.compile(r" (?:and|but|so|please|for|if|which|that) |  ")
_PHRASE_TESTS = {"assigned": "phrase_in_line", "said": "phrase_in_sentence"}
_WORDS_OF = {"password": 2, "phrase": 6}
"""Words that a phrase has at least, by what its name announces."""
_FORM_FIELD = re.compile(r"&(?=[\w.%-]{1,40}=)")
_LONGEST = 4000
_JUDGED = 300
"""Characters of a value that are looked at to tell whether it is one."""

_IN_CODE = re.compile(
    r"[(\[]|[ \t]{0,4}(?:=[^=]|\| )|[ \t]{1,4}(?:if|else|in|or|and|for) \w+[.(\[: ]"
)
_IN_SENTENCE = re.compile(r" (?!and |but |so |please |or |then |thanks)[A-Za-z]+[ .,]")
_ATTRIBUTE = re.compile(r"[^\W\d]+(?:\.[^\W\d]+)+", re.ASCII)
_NAME_ONLY = re.compile(r"[A-Za-z_]+")


def values(form: Form, name: str, text: str, start: int, end: int) -> Iterator[Bounds]:
    """Where the value stands that a match of a form announces, if it is one.

    A match ends with the first character of the value; `name` is a pattern of what stands before.
    """
    at = end - 1
    if form in _QUOTED:
        at = start + len(text[start : at - 1].rstrip("\\"))

    label = label_of(_name(name, text, start, at), form)
    if label is None:
        return

    quoted = _in_quotes(text, at)

    if quoted is not None:
        first, last = quoted
        if is_value(label, text[first : min(last, first + _JUDGED)], form, quoted=True):
            yield first, last
    elif form not in _QUOTED:
        yield from _without_quotes(label, text, form, start, at)


def _name(pattern: str, text: str, start: int, at: int) -> str:
    """The name from its first letter on, without what separates it from the value."""
    head = text[max(0, start - _BEFORE) : start]
    begun = re.split(r"[^\w.-]", head)[-1]
    found = compiled(pattern).match(begun + text[start:at])
    name = found[1] if found is not None else ""
    if name.casefold() in _OF_ANOTHER and head[-1:] == " ":
        return " ".join([*head.split()[-1:], name])

    return name


@lru_cache(maxsize=4096)
def label_of(name: str, form: Form | None = None) -> Label | None:
    """What a name announces, by its last word.

    `DB_PASSWORD_2` announces a password, `token_count` and `key_id` nothing.
    """
    words = [word.casefold() for word in _WORDS.findall(name)][-_MOST_WORDS:]
    while len(words) > 1 and (words[-1].isdigit() or words[-1] in listed("suffixes")):
        words.pop()

    said = f"{form} {name.casefold()} {'_'.join(words)}"
    names = read("text/secrets/data/labels.yaml", _Labels).names

    return next((label for label, like in names if _name_like(like).search(said)), None)


@cache
def _name_like(pattern: str) -> "re.Pattern[str]":
    """A pattern of labels.yaml with the word lists in it filled in."""
    words = read("text/secrets/data/words.yaml", dict[str, str])
    return re.compile(filled(pattern, {name: "|".join(words[name].split()) for name in words}))


def _in_quotes(text: str, at: int) -> Bounds | None:
    """The string literal that begins at a place, however deep its escapes are, or None.

    Its end is a quotation mark with as many backslashes as its begin has, and any number of escaped
    backslashes before these.
    """
    opening = _OPENING.match(text, at)
    if opening is None:
        return None

    depth, sign = len(opening[1]), opening[2].replace("“", "”")
    escaped = 2 * (depth + 1)
    closing = compiled(rf"(?<!\\)(?:\\{{{escaped}}})*(\\{{{depth}}}{sign})")
    end = closing.search(text, opening.end(), opening.end() + _LONGEST)

    return None if end is None else (opening.end(), end.start(1))


def _without_quotes(label: Label, text: str, form: Form, start: int, at: int) -> Iterator[Bounds]:
    """Where a value stands that no quotation marks hold."""
    between = text[start:at]
    phrase = "" if _broken(between) or "):" in between else _phrase(label, text, form, at)
    if phrase:
        yield at, at + len(phrase)
        return

    begins_line = form in ("assigned", "set") and _begins_line(text, start)
    shape = _LINE if begins_line else _BARE
    found = shape.match(text, at, at + _JUDGED)
    if found is None:
        return

    value = _FORM_FIELD.split(found[0])[0].rstrip(",;" if begins_line else ".,;:!?")
    if form in ("said", "bare", "assigned") and value.count(".") == 1:
        value = value.rstrip(".")

    end = at + len(value)

    if not value or _goes_on(value, between, text, end):
        return

    if is_value(label, value, form, quoted=False):
        whole = shape.match(text, at) if len(value) == _JUDGED else None
        yield at, _closed(text, at, end) if whole is None else whole.end()


def _begins_line(text: str, start: int) -> bool:
    """Whether nothing but the rest of a name, or a word of a shell, stands before in the line."""
    head = text[max(0, start - 80) : start].replace("\\n", "\n")
    return _LINE_START.search(head) is not None


def _broken(between: str) -> bool:
    """Whether a value stands in another line than its name."""
    return "\n" in between or "\\n" in between


def _phrase(label: Label, text: str, form: Form, at: int) -> str:
    """The words of a phrase, up to one with which the line goes on; empty where there is none."""
    line = _PHRASE.match(text, at)
    if line is None or label not in _WORDS_OF or form not in _PHRASE_TESTS:
        return ""

    phrase = _PHRASE_END.split(line[0].rstrip())[0]
    fits = len(phrase.split()) >= _WORDS_OF[label] and judge(_PHRASE_TESTS[form])(phrase)
    return phrase if fits else ""


def _goes_on(value: str, between: str, text: str, end: int) -> bool:
    """Whether an expression, a type or a sentence goes on where a value would end."""
    return bool(
        _IN_CODE.match(text, end)
        or (":" in between and value.isalpha() and _IN_SENTENCE.match(text, end))
        or (between.endswith(" = ") and _ATTRIBUTE.fullmatch(value))
        or (_broken(between) and _NAME_ONLY.fullmatch(value))
    )


def _closed(text: str, at: int, end: int) -> int:
    """The end of a value, behind the bracket that closes one in it."""
    for opens, closes in ("()", "[]", "{}"):
        is_open = text.count(opens, at, end) > text.count(closes, at, end)
        if is_open and text.startswith(closes, end):
            return end + 1

    return end


def is_value(label: Label, value: str, form: Form, *, quoted: bool) -> bool:
    """Whether what stands there is what the label announces (labels.yaml)."""
    if "REDACTED" in value or judge("placeholder")(value.strip()):
        return False

    tests = read("text/secrets/data/labels.yaml", _Labels).values[label]
    bare = [] if quoted else [f"{form} bare"]
    places = (*bare, form, *(["any bare"] if bare else []), "any")

    return judge(next(tests[place] for place in places if place in tests))(value)
