"""What style alone says of which side of a pair was chosen.

Style is a bag of tokens, lengths and the presence of a thought, out of fold over tasks.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from synth.schemas import Turn, content_hash
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
    """One side of a pair: its tokens, those of argument values apart, whether it has a thought."""

    tokens: tuple[str, ...]
    value_tokens: tuple[str, ...]
    thought: bool


class StyledPair(msgspec.Struct, frozen=True):
    """Both sides, and the task by which folds are cut."""

    task_id: str
    chosen: Styled
    rejected: Styled


class Style(msgspec.Struct, frozen=True):
    """What tells chosen from rejected by style, out of fold over tasks.

    These are the AUC with and without argument values, and the strongest features, each with the
    side for which it speaks. `confounded` is None where there are too few pairs or tasks to tell.
    """

    pairs: int
    auc_with_values: float | None = None
    auc: float | None = None
    confounded: bool | None = None
    features: tuple[str, ...] = ()


def styled(turn: Turn) -> Styled:
    """Words of text and thought, names of tools and arguments.

    Values of arguments, and their words in the text, are kept apart.
    """
    values: set[str] = set()
    tokens: list[str] = []

    for call in turn.tool_calls:
        tokens.append(f"tool:{call.name}")
        for name, value in _scalars(call.parsed()) if call.parse_error is None else ():
            tokens.append(f"arg:{name}")
            values.update(_words(value))

    of_values = [f"value:{word}" for word in values]

    for prefix, text in (("", turn.content), ("thought:", turn.thought)):
        for word in _words(text or ""):
            is_value = word in values or any(map(str.isdigit, word))
            (of_values if is_value else tokens).append(prefix + word)

    return Styled(tuple(tokens), tuple(sorted(of_values)), bool(turn.thought))


def _words(text: str) -> list[str]:
    """The words and signs of a text, in small letters."""
    return _WORD.findall(text.casefold())


def _scalars(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """(nearest name above it, text) of each scalar in a JSON value."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _scalars(inner, str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from _scalars(inner, name)
    else:
        yield name, str(value)


def style(pairs: Sequence[StyledPair], most: float) -> Style:
    """The classifier's out-of-fold AUC.

    Style confounds where it is above `most` without any argument value.
    """
    if len(pairs) < FEWEST or len({pair.task_id for pair in pairs}) < FOLDS:
        return Style(len(pairs))

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
    """Rows chosen, rejected, chosen, ...: features of each side, and the names of the features.

    These are token counts (log, each row of length 1) beside standardised lengths.
    """
    sides = [side for pair in pairs for side in (pair.chosen, pair.rejected)]
    said = [side.tokens + (side.value_tokens if values else ()) for side in sides]
    documents = Counter(token for tokens in said for token in set(tokens))
    names = sorted(documents, key=lambda token: (-documents[token], token))[:VOCABULARY]

    lengths = [[sum(map(len, tokens)), len(tokens)] for tokens in said]
    thoughts = [[side.thought] for side in sides]
    shape = np.hstack([np.log1p(lengths), np.array(thoughts, float)])
    shape = (shape - shape.mean(axis=0)) / np.maximum(shape.std(axis=0), 1e-12)

    return np.hstack([_counted(said, names), shape]), [*names, *_NUMERIC]


def _counted(said: Sequence[Sequence[str]], names: Sequence[str]) -> Array:
    """How often each side has each of these tokens (log), in rows of length 1."""
    place = {name: at for at, name in enumerate(names)}
    rows = np.zeros((len(said), len(names)))

    for row, tokens in zip(rows, said, strict=True):
        for token, count in Counter(tokens).items():
            if token in place:
                row[place[token]] = np.log1p(count)

    counted: Array = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return counted


def _out_of_fold(rows: Array, labels: Array, pairs: Sequence[StyledPair]) -> float:
    """Mean over the folds, each weighed by its pairs; the pairs of one task are in one fold."""
    tasks = sorted({pair.task_id for pair in pairs}, key=lambda task: content_hash(["fold", task]))
    fold_of = {task: at % FOLDS for at, task in enumerate(tasks)}
    folds = np.repeat([fold_of[pair.task_id] for pair in pairs], 2)
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
