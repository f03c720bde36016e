"""Reads a change in anybody's words by the names of a database's tables and columns, so far as its
rows are told by values that they are equal to.

What stands beside (a greeting, a thank-you, a reason) must not name a table, a column or a value.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

from synth.envs.sql.request import SqlRequest
from synth.envs.sql.words import Vocabulary
from synth.text.data_files import read as data_file

_SPACES = re.compile(r"\s+")
_VALUE = r"[\"'“”]?(?P<{}>[^\s,;?!\"'“”]*[^\s,;.?!\"'“”](?: (?-i:[A-ZÀ-Þ])[^\s,;?!\"'“”]*[^\s,;.?!\"'“”])*)[\"'“”]?"
"""One word, or several with capital letters, as they stand in a sentence."""
_TOLD = re.compile(r"\d|[\"'“”]|(?<=[a-z,] )[A-Z][a-z]+")
"""What tells a value outside of what was read: a number, a quotation, a name in a sentence."""


@cache
def _words() -> Mapping[str, str]:
    found: Mapping[str, str] = data_file("envs/sql/data/wishes.yaml", dict[str, str])
    return found


def read(text: str, words: Vocabulary) -> SqlRequest | None:
    """What a line asks for; None where it is read as no change, or as more than one."""
    own = words.read(text)
    if own is not None:
        return own

    plain = _SPACES.sub(" ", text.strip())
    if re.search(rf"\b(?:{_words()['not']})(?!\w)", plain, re.IGNORECASE):
        return None

    found = {one for one in _requests(plain, words) if one is not None}

    return next(iter(found)) if len(found) == 1 else None


def _requests(text: str, words: Vocabulary) -> Iterator[SqlRequest | None]:
    """The change by each way to put it, said in the grammar's words and read back."""
    for table, many in words.nouns.items():
        for says, pattern in _patterns(words, table):
            for found in pattern.finditer(text):
                around = f"{text[: found.start()]} , {text[found.end() :]}"
                if not _says_more(around, words):
                    slots = found.groupdict()
                    which = _which(slots, words, table) if "key" in slots else ""
                    yield words.read(says.format(many=many, which=which, **slots))


def _which(slots: Mapping[str, str | None], words: Vocabulary, table: str) -> str:
    """The condition as the grammar puts it."""
    phrases = {phrase.casefold(): phrase for phrase in words.paths[table]}
    column = phrases[(slots["column"] or "id").casefold()]
    return f" whose {column} is {slots['key']}"


def _says_more(around: str, words: Vocabulary) -> bool:
    """Whether what stands around a change says something about data."""
    named = [phrase for paths in words.paths.values() for phrase in paths if len(phrase) > 2]
    nouns = [*words.nouns.values()]
    around = _SPACES.sub(" ", around)

    return (
        _TOLD.search(around) is not None
        or re.search(rf"\b(?:{_any([*named, *nouns])})\b", around, re.IGNORECASE) is not None
    )


@lru_cache(maxsize=512)
def _patterns(words: Vocabulary, table: str) -> list[tuple[str, re.Pattern[str]]]:
    """(the change in the grammar's words, what reads it) for a table."""
    said, many = _words(), words.nouns[table]
    one = many[:-3] + "y" if many.endswith("ies") else many.removesuffix("s")
    paths = [phrase for phrase in words.paths[table]]
    own = [phrase for phrase, path in words.paths[table].items() if len(path) == 1]

    column = rf"(?P<column>{_any(paths)})"
    of = rf"(?P<of>{_any(own)})"
    rows = rf"(?:(?:{said['all']}) )*(?:{re.escape(many)}|{re.escape(one)})"
    key, value = _VALUE.format("key"), _VALUE.format("value")
    which = rf"{rows} (?:(?:{said['whose']}) )?{column} (?:(?:{said['is']}) )?{key}"
    end, then = r"(?=[,.;!?]?(?: |$))", r"[,:]? (?:(?!\b(?:to|as)\b)[a-z ,']+ )?"
    verbs = {form: rf"\b(?:{said[form]})" for form in ("set", "clear", "remove")}
    link = rf"(?:{said['of']})"
    sets, clears = (
        "Set the {of} to {value} in all {many}{which}.",
        ("Empty the {of} of all {many}{which}."),
    )

    added = rf"\b(?:{said['add']}) (?:[a-z]+ ){{0,4}}?(?:{re.escape(many)}|{re.escape(one)})"
    found = [
        (
            "Add one to the {many}: {values}. Leave the rest of it empty.",
            rf"{added}(?: with)?:? (?P<values>the .+?)(?=[.;!?](?: |$)|$)",
        ),
        (
            "Add one to the {many}: {values}. Leave the rest of it empty.",
            rf"\bwith (?P<values>the .+), {added}{end}",
        ),
        (
            sets,
            rf"{verbs['set']} the {of} to {value} (?:{said['whose']}) {column} "
            rf"(?:(?:{said['is']}) )?{key},? {link} {rows}{end}",
        ),
        (sets, rf"{verbs['set']} the {of} to {value} {link} {which}{end}"),
        (sets, rf"{verbs['set']} the {of} {link} {which} to {value}{end}"),
        (sets, rf"\b{link} {which}{then}{verbs['set']} the {of} to {value}{end}"),
        (
            sets,
            rf"\bthe {of} {link} {which} (?:should|must|has to|needs to|is to) (?:be|become|read) {value}{end}",
        ),
        (clears, rf"{verbs['clear']} the {of} {link} {which}{end}"),
        (clears, rf"\b{link} {which}{then}{verbs['clear']} the {of}{end}"),
        ("Remove all {many}{which}.", rf"{verbs['remove']} {which}{end}"),
        (
            "Remove all {many}{which}.",
            rf"\b{which} (?:should|must|has to|needs to|is to) (?:be removed|be deleted|go)\b",
        ),
    ]

    return [(says, re.compile(pattern, re.IGNORECASE)) for says, pattern in found]


def _any(names: list[str]) -> str:
    """A pattern of any of these, the longest first."""
    ordered = sorted(set(names), key=lambda name: (-len(name), name))
    return "|".join(map(re.escape, ordered)) or r"(?!)"
