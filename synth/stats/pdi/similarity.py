"""Similarity of texts by their words, in two ways whose values cannot be compared (SPARK's official
code, `context.py`).
"""

import re
from collections import Counter
from collections.abc import Collection
from math import log
from typing import Literal

Backend = Literal["token_overlap", "js_divergence"]
SMOOTHING = 0.002
_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """Runs of word characters, lower-cased."""
    return _WORD.findall(text.lower())


def jaccard(left: Collection[str], right: Collection[str]) -> float:
    """|A and B| / |A or B|; 0 where both are empty."""
    a, b = set(left), set(right)
    return len(a & b) / len(a | b) if a | b else 0.0


def coverage(source: str, target: str) -> float:
    """The share of the target's words that are the source's too; 0 where it has none."""
    has, wanted = set(words(source)), set(words(target))
    return len(has & wanted) / len(wanted) if wanted else 0.0


def js_similarity(left: str, right: str) -> float:
    """1 - Jensen-Shannon divergence (nats) of smoothed word frequencies; 0 with fewer than two
    different words.

    Texts without a common word come to about 1 - ln 2 = .31.
    """
    a, b = Counter(words(left)), Counter(words(right))
    vocabulary = sorted(a.keys() | b.keys())
    if len(vocabulary) < 2:
        return 0.0
    p, q = _smoothed(a, vocabulary), _smoothed(b, vocabulary)
    middle = [(x + y) / 2 for x, y in zip(p, q, strict=True)]
    return 1.0 - (_divergence(p, middle) + _divergence(q, middle)) / 2


def similarity(left: str, right: str, backend: Backend) -> float:
    """Of two texts, as the backend has it."""
    return (
        js_similarity(left, right)
        if backend == "js_divergence"
        else jaccard(words(left), words(right))
    )


def _smoothed(counts: Counter[str], vocabulary: list[str]) -> list[float]:
    total = sum(counts[word] + SMOOTHING for word in vocabulary)
    return [(counts[word] + SMOOTHING) / total for word in vocabulary]


def _divergence(p: list[float], q: list[float]) -> float:
    return sum(x * log(x / y) for x, y in zip(p, q, strict=True))
