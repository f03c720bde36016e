"""Reads a change in anybody's words by the names of a database's tables and columns, so far as its
rows are told by values that they are equal to; accepts a model's words that are read as it.

What stands beside (a greeting, a thank-you, a reason) must not name a table, a column or a value.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache

import msgspec

from synth.envs.sql.database.sources import DatabaseSource
from synth.envs.sql.database.task_databases import TaskDatabases
from synth.envs.sql.request import SqlRequest, grammar
from synth.envs.sql.words import Vocabulary, any_of, vocabulary
from synth.schemas import Draft
from synth.text.data_files import read as data_file

_SPACES = re.compile(r"\s+")
_SHORT = re.compile(r"\b[A-Za-z]+['\u2019](?:d|ll|ve|m|re|s)\b")
"""I'd, you'll, that's: no quotation begins there."""
_SIGN, _LAST = r"[^\s,;?!\"'“”]", r"[^\s,;.?!\"'“”]"
_VALUE = rf"[\"'“”]?(?P<{{}}>{_SIGN}*{_LAST}(?: (?-i:[A-ZÀ-Þ]){_SIGN}*{_LAST})*)[\"'“”]?"
"""One word, or several with capital letters, as they stand in a sentence."""
_ANY_CASE = re.IGNORECASE
_TOLD = re.compile(r"\d|[\"'“”]|(?<=[a-z,] )[A-Z][a-z]+")
"""What tells a value outside of what was read: a number, a quotation, a name in a sentence."""


class _ChangeWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """data/wishes.yaml: words by what they lead to; column -> what tells rows by it without its
    name; form -> patterns that read it.
    """

    words: Mapping[str, str]
    told: Mapping[str, str]
    read: Mapping[str, Sequence[str]]


@cache
def _words() -> _ChangeWords:
    found: _ChangeWords = data_file("envs/sql/data/wishes.yaml", _ChangeWords)
    return found


def read(text: str, words: Vocabulary) -> SqlRequest | None:
    """What a line asks for; None where it is read as no change, or as more than one."""
    own = words.read(text)
    if own is not None:
        return own

    plain = _SPACES.sub(" ", text.strip())
    if re.search(rf"\b(?:{_words().words['not']})(?!\w)", plain, re.IGNORECASE):
        return None

    found = {one for one in _requests(plain, words) if one is not None}

    return next(iter(found)) if len(found) == 1 else None


def _requests(text: str, words: Vocabulary) -> Iterator[SqlRequest | None]:
    """The change by each way to put it, said in the grammar's words and read back."""
    for table, many in words.nouns.items():
        for says, pattern, column in _patterns(words, table):
            for found in pattern.finditer(text):
                around = f"{text[: found.start()]} , {text[found.end() :]}"
                if not _says_more(around, words):
                    slots = found.groupdict()
                    which = _which(slots, words, table, column) if "key" in slots else ""
                    yield words.read(says.format(many=many, which=which, **slots))


def _which(
    slots: Mapping[str, str | None], words: Vocabulary, table: str, column: str | None
) -> str:
    """The condition as the grammar puts it; `column`: the one that a verb stands for."""
    phrases = {phrase.casefold(): phrase for phrase in words.paths[table]}
    named = column or slots.get("column") or "id"
    told = [(named, slots["key"]), (slots.get("second") or "", slots.get("other"))]
    return " and".join(f" whose {phrases[one.casefold()]} is {key}" for one, key in told if one)


def _says_more(around: str, words: Vocabulary) -> bool:
    """Whether what stands around a change says something about data."""
    named = [phrase for paths in words.paths.values() for phrase in paths if len(phrase) > 2]
    nouns = [*words.nouns.values()]
    around = _SHORT.sub(" ", _SPACES.sub(" ", around))

    return (
        _TOLD.search(around) is not None
        or re.search(rf"\b(?:{any_of([*named, *nouns])})\b", around, re.IGNORECASE) is not None
    )


@lru_cache(maxsize=512)
def _patterns(words: Vocabulary, table: str) -> list[tuple[str, re.Pattern[str], str | None]]:
    """(the change in the grammar's words, what reads it, the column that its verb stands for) for a
    table.
    """
    own = [phrase for phrase, path in words.paths[table].items() if len(path) == 1]
    slots = _slots(words, table, own)
    found: list[tuple[str, re.Pattern[str], str | None]] = []

    for column, whose in _conditions(own):
        slots["which"] = whose.format(**slots)
        found += [
            (grammar().requests[form].says, re.compile(text.format(**slots), _ANY_CASE), column)
            for form, texts in _words().read.items()
            for text in texts
            if column is None or "{column}" not in text
        ]

    return found


def _slots(words: Vocabulary, table: str, own: Sequence[str]) -> dict[str, str]:
    """What stands for each part of a change of a table; `own` are the names of its columns."""
    many = words.nouns[table]
    one = many[:-3] + "y" if many.endswith("ies") else many.removesuffix("s")
    either = f"{re.escape(many)}|{re.escape(one)}"

    slots = {name: rf"(?:{of_words})" for name, of_words in _words().words.items()}
    slots["one"] = either
    slots["rows"] = rf"(?:{slots['all']} )*(?:{either})"
    slots["column"] = rf"(?P<column>{any_of(words.paths[table])})"
    slots["second"] = slots["column"].replace("<column>", "<second>")
    slots["of"] = rf"(?P<of>{any_of(own)})"
    slots |= {name: _VALUE.format(name) for name in ("key", "value", "other")}

    return slots


def _conditions(own: Sequence[str]) -> Iterator[tuple[str | None, str]]:
    """(the column, how rows are told by its value): by its name, or by a verb that stands for it,
    as "hired on" does for the hiring date.
    """
    told = _words().told
    yield None, "{rows} (?:{whose} )?{column} (?:{is} )?{key}"
    yield None, "{rows} (?:that|which|who) (?:have|has) {key} (?:as|for) {its} {column}"
    yield None, "{rows} with {key} (?:as|for) {its} {column}"
    yield (
        None,
        "{rows} (?:{whose} )?{column} (?:{is} )?{key},? and (?:(?:{whose}|{its}|an?) )?{second}"
        " (?:{is} )?{other}",
    )

    for column in own:
        verb, of_date, _ = column.rpartition(" date")
        if of_date and " " not in verb:
            stem = verb.removesuffix("ing").removesuffix("e")
            yield column, "{rows} " + told["by_verb"].format(verb=f"{stem}ed") + " {key}"
        elif column in told and not (column == "title" and "name" in own):
            yield column, "{rows} " + told[column] + " {key}"


def reworded(source: DatabaseSource, draft: Draft, lines: Sequence[str]) -> Draft:
    """The draft with each change in other words. Raises `ValueError` where a line is read as
    another change, or as none.
    """
    own = draft.goal.splitlines()
    databases = TaskDatabases(source, draft.seed or 0, 1)

    try:
        words = vocabulary(databases.database)
    finally:
        databases.close()

    if len(lines) != len(own):
        raise ValueError(f"{len(lines)} lines for {len(own)} changes")

    said = [" ".join(line.split()) for line in lines]

    for number, (line, wording) in enumerate(zip(own, said, strict=True), start=1):
        got = read(wording, words)
        if got != words.read(line):
            why = "no change is read in it" if got is None else f"it is read as: {words.write(got)}"
            raise ValueError(f"line {number}: {why}; it is to say: {line}")

    return msgspec.structs.replace(draft, worded="\n".join(said))
