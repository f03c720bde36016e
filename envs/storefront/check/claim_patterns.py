"""The words of data/claims.yaml as patterns: what claims are told by."""

import re
from collections.abc import Mapping
from functools import lru_cache

from synth.envs.storefront.texts import compiled, pattern, texts

_WORDS = texts("claims")


def _regular(words: str) -> re.Pattern[str]:
    """A form of something done."""
    return compiled(words.replace("PARTICIPLE", f"(?P<verb>{_WORDS['participles']})"))


DONE = [_regular(words) for words in _WORDS["done"]]
ACTS: Mapping[str, tuple[re.Pattern[str], re.Pattern[str]]] = {
    act: (compiled(rf"\b(?:{row['verbs']})\b"), compiled(rf"(?<!\w)(?:{row['things']})(?!\w)"))
    for act, row in _WORDS["acts"].items()
}
TOOLS: Mapping[str, str] = {row["tool"]: act for act, row in _WORDS["acts"].items()}
"""The act that a tool carries out."""
STATUSES = {name: compiled(words) for name, words in _WORDS["statuses"].items()}
MEANS = {kind: compiled(words) for kind, words in _WORDS["means"].items()}
"""How each kind of means is called."""


def says(name: str, text: str) -> bool:
    """Whether a text has words of a kind."""
    return pattern("claims", name).search(text.lower()) is not None


def begins(name: str, text: str) -> bool:
    """Whether a text begins with words of a kind."""
    return pattern("claims", name).match(text) is not None


@lru_cache
def objects_of(nouns: frozenset[str]) -> re.Pattern[str]:
    """What an act can be done to."""
    return compiled(_WORDS["objects"].replace("NOUNS", "|".join(sorted(nouns))))
