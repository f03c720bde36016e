"""The words of data/claims.yaml as patterns: what claims are told by."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from synth.envs.storefront.texts import texts


def _joined(words: Any) -> Any:
    """The file with the lines of each pattern in one."""
    if isinstance(words, dict):
        return {name: _joined(value) for name, value in words.items()}

    return [*map(_joined, words)] if isinstance(words, list) else words.replace("\n", "")


_WORDS = _joined(texts("claims"))


def _pattern(name: str) -> re.Pattern[str]:
    """A pattern of the file."""
    return re.compile(_WORDS[name])


DONE = [
    re.compile(words.replace("PARTICIPLE", f"(?P<verb>{_WORDS['participles']})"))
    for words in _WORDS["done"]
]
ACTS: Mapping[str, tuple[re.Pattern[str], re.Pattern[str]]] = {
    act: (re.compile(rf"\b(?:{row['verbs']})\b"), re.compile(rf"(?<!\w)(?:{row['things']})(?!\w)"))
    for act, row in _WORDS["acts"].items()
}
TOOLS: Mapping[str, str] = {row["tool"]: act for act, row in _WORDS["acts"].items()}
"""The act that a tool carries out."""
STATUSES = {name: re.compile(words) for name, words in _WORDS["statuses"].items()}
HARMLESS, OF_THINGS = (re.compile(_WORDS[name]) for name in ("harmless", "of_things"))
CHANGING, OF_GOODS = _pattern("changing"), _pattern("of_goods")
(
    ARRANGED,
    UNREAL,
    OWN_FUTURE,
    NEGATED,
    UNTOUCHED,
    AS_BEFORE,
    TOTAL_TOLD,
    COULD_NOT,
    OWN,
    MONEY_BEFORE,
    WAS_CHARGED,
    NOT_YET,
) = map(
    _pattern,
    (
        "arranged",
        "unreal",
        "own_future",
        "negated",
        "untouched",
        "as_before",
        "total",
        "could_not",
        "own",
        "money_before",
        "charged",
        "not_yet",
    ),
)


@lru_cache
def objects_of(nouns: frozenset[str]) -> re.Pattern[str]:
    """What an act can be done to."""
    return re.compile(_WORDS["objects"].replace("NOUNS", "|".join(sorted(nouns))))
