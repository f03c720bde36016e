"""What style alone says of which side was chosen: a bag of tokens, lengths and the presence of a
thought, out of fold over tasks.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from synth.schemas.canonical import content_hash
from synth.schemas.trajectory import Turn
from synth.stats.logistic import Array, fitted
from synth.stats.ranks import auc

FOLDS = 5
FEWEST = 40
"""Pairs below which nothing is said."""
VOCABULARY = 500
NAMED = 8
PENALTY = 1e-3
"""Of the squared weights, against the mean log-loss."""
_WORD = re.compile(r"\w+|[^\w\s]")
_NUMERIC = ("length", "words", "has_thought")


class Styled(msgspec.Struct, frozen=True):
    """One side of a pair: its tokens, those of argument values apart, and whether it has a
    thought.
    """

    tokens: tuple[str, ...]
    value_tokens: tuple[str, ...]
    thought: bool


class StyledPair(msgspec.Struct, frozen=True):
    """Both sides, and the task by which folds are cut."""

    task_id: str
    chosen: Styled
    rejected: Styled


class Style(msgspec.Struct, frozen=True):
    """What tells chosen from rejected by style, out of fold over tasks: AUC with and without
    argument values, and the strongest features.

    `confounded` None where there are too few pairs or tasks to tell. A feature's sign says for
    which side it speaks.
    """

    pairs: int
    auc_with_values: float | None
    auc: float | None
    confounded: bool | None
    features: tuple[str, ...] = ()


def styled(turn: Turn) -> Styled:
    """Words of text and thought, names of tools and arguments; values of arguments, and their words
    in the text, apart.
    """
    values: set[str] = set()
    tokens: list[str] = []
    for call in turn.tool_calls:
        tokens.append(f"tool:{call.name}")
        if call.parse_error is None:
            for name, value in _scalars(call.parsed()):
                tokens.append(f"arg:{name}")
                values.update(_words(value))
    said = [
        *_words(turn.content or ""),
        *(f"thought:{word}" for word in _words(turn.thought or "")),
    ]
    plain = [
        word
        for word in said
        if word.removeprefix("thought:") not in values
        and not any(letter.isdigit() for letter in word)
    ]
    with_values = [
        *(f"value:{word}" for word in values),
        *(word for word in said if word not in set(plain)),
    ]
    return Styled((*tokens, *plain), tuple(sorted(with_values)), bool(turn.thought))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _scalars(value: Any, name: str = "") -> list[tuple[str, str]]:
    if isinstance(value, Mapping):
        return [found for key, inner in value.items() for found in _scalars(inner, str(key))]
    if isinstance(value, list):
        return [found for inner in value for found in _scalars(inner, name)]
    return [(name, str(value))]


def style(pairs: Sequence[StyledPair], most: float) -> Style:
    """The classifier's out-of-fold AUC; confounded where it is above `most` without any argument
    value.
    """
    if len(pairs) < FEWEST or len({pair.task_id for pair in pairs}) < FOLDS:
        return Style(len(pairs), None, None, None)
    plain, names = _design(pairs, values=False)
    valued, _ = _design(pairs, values=True)
    labels = np.array([1.0, 0.0] * len(pairs))
    found = _out_of_fold(plain, labels, pairs)
    weights = _fitted(plain, labels)[:-1]
    strongest = np.argsort(-np.abs(weights), kind="stable")[:NAMED]
    said = tuple(
        f"{'chosen' if weights[at] > 0 else 'rejected'}: {names[at]}"
        for at in strongest
        if weights[at] != 0
    )
    return Style(len(pairs), _out_of_fold(valued, labels, pairs), found, found > most, said)


def _design(pairs: Sequence[StyledPair], *, values: bool) -> tuple[Array, list[str]]:
    """Rows chosen, rejected, chosen, ...; token counts (log, each row of length 1) beside
    standardised lengths.
    """
    sides = [side for pair in pairs for side in (pair.chosen, pair.rejected)]
    said = [side.tokens + (side.value_tokens if values else ()) for side in sides]
    bags = [Counter(tokens) for tokens in said]
    documents = Counter(token for bag in bags for token in bag)
    names = [
        token
        for token, _ in sorted(documents.items(), key=lambda found: (-found[1], found[0]))[
            :VOCABULARY
        ]
    ]
    place = {token: at for at, token in enumerate(names)}
    rows = np.zeros((len(sides), len(names)))
    for at, bag in enumerate(bags):
        for token, count in bag.items():
            if token in place:
                rows[at, place[token]] = np.log1p(count)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    shape = np.array(
        [
            [np.log1p(sum(map(len, one))), np.log1p(len(one)), side.thought]
            for one, side in zip(said, sides, strict=True)
        ]
    )
    shape = (shape - shape.mean(axis=0)) / np.maximum(shape.std(axis=0), 1e-12)
    return np.hstack([rows, shape]), [*names, *_NUMERIC]


def _out_of_fold(rows: Array, labels: Array, pairs: Sequence[StyledPair]) -> float:
    """Mean over the folds, each weighed by its pairs; the pairs of one task are in one fold."""
    tasks = sorted({pair.task_id for pair in pairs}, key=lambda task: content_hash(["fold", task]))
    fold_of = {task: at % FOLDS for at, task in enumerate(tasks)}
    folds = np.array([fold_of[pair.task_id] for pair in pairs for _ in range(2)])
    total = 0.0
    for fold in range(FOLDS):
        held = folds == fold
        weights = _fitted(rows[~held], labels[~held])
        odds, chosen = rows[held] @ weights[:-1], labels[held] == 1
        total += auc(odds[chosen], odds[~chosen]) * held.sum()
    return float(total / len(labels))


def _fitted(rows: Array, labels: Array) -> Array:
    """Weights of the features and, last, of the intercept, which has no penalty."""
    design = np.hstack([rows, np.ones((len(rows), 1))])
    precision = np.full(design.shape[1], PENALTY * len(rows))
    precision[-1] = 0.0
    return fitted(design, labels, precision)
