"""Merge level `semantic`: turns that say the same in other words are one node, within a task and a
set of tools (our definition).

Only the wording of free text may differ. Turns of other tools, of answers with another error mark,
with another value of fewer than three words anywhere, with other numbers, codes, names or denials
in their texts, or with other logical states of the environment after them, are never one, however
similar they are: to an encoder, flights from ATL and from LAX are nearly the same (.98).
"""

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from synth.schemas import Trajectory, content_hash
from synth.text.json_values import json_in
from synth.topology.embeddings import Embed, Vectors
from synth.topology.keys import TurnKeys

PIECE = 500
"""Characters that are embedded together: MiniLM reads 256 tokens and drops the rest."""
SIMILARITY = 0.9
DIGITS = 4
"""Of similarities: float32 says no more."""
WORDS = 3
"""A value of fewer words is a name, a code or a choice, and is compared to the letter."""
_FIXED = re.compile(
    r"[^\s\"',;:()\[\]{}<>]*\d[^\s\"',;:()\[\]{}<>]*|\b[A-Z]{2,}\b|(?<=[a-z,;] )[A-Z]\w+"
    r"|\b(?:[Nn]o|[Nn]ot|[Nn]ever|[Nn]one|[Nn]othing|[Cc]annot|[Uu]nable|\w+n['’]t)\b"
)
"""What free text may not differ in: words with a digit, codes in capitals, names, denials (which
are embedded like what they deny).
"""


class Merge(msgspec.Struct, frozen=True):
    """Why a text is in its node: its similarity to the node's first text, and the least that any
    two texts of the node have.
    """

    node: str
    first: str
    similarity: float
    least: float


class Merges(msgspec.Struct, frozen=True):
    """The turns of a task's trials that share their nodes.

    `by_turn`: turn key -> its merge, for the turns whose node holds more than one text; `threshold`
    is what all of them reach.
    """

    threshold: float
    by_turn: Mapping[str, Merge]

    def applied(self, keys: Sequence[TurnKeys]) -> list[TurnKeys]:
        """The keys with their nodes."""
        found = {turn: merge.node for turn, merge in self.by_turn.items()}
        return [msgspec.structs.replace(key, merged=found.get(key.turn)) for key in keys]


def merges(
    keyed: Iterable[tuple[Trajectory, Sequence[TurnKeys]]],
    embed: Embed,
    threshold: float = SIMILARITY,
) -> Merges:
    """Clusters of the distinct turns of one task's trials; the same whatever order the trials come
    in.

    Similarity of two turns = the least cosine over their pieces, action and answers, in order;
    turns of another number of pieces have none. Complete linkage: every two texts of a node reach
    the threshold.
    """
    # what may never be one is apart before anything is compared
    groups: dict[Hashable, dict[str, list[str]]] = {}
    for key in (key for _, keys in keyed for key in keys):
        pieces = [piece for part in key.parts for piece in _cut(part)]
        groups.setdefault((*_fixed(key), len(pieces)), {})[key.turn] = pieces

    # a turn that has no company needs no embedding
    several = [members for members in groups.values() if len(members) > 1]
    texts = sorted({piece for turns in several for pieces in turns.values() for piece in pieces})
    vectors = dict(zip(texts, embed(texts), strict=True)) if texts else {}
    found: dict[str, Merge] = {}

    for members in several:
        names = sorted(members)
        stacked = np.array([[vectors[piece] for piece in members[name]] for name in names])
        found |= _merged(names, stacked, threshold)

    return Merges(threshold, found)


def _merged(names: Sequence[str], pieces: Vectors, threshold: float) -> Iterator[tuple[str, Merge]]:
    """Of turns that differ in wording alone; `pieces`: [turns, pieces, dimensions]."""
    cosines = np.einsum("ipd,jpd->ijp", pieces, pieces).min(axis=2)
    similarity = cosines.astype(np.float64).round(DIGITS)

    for cluster in complete_linkage(similarity, threshold):
        node = content_hash(["semantic", [names[at] for at in cluster]])
        least = float(similarity[np.ix_(cluster, cluster)].min())

        for at in cluster if len(cluster) > 1 else ():
            alike = float(similarity[at, cluster[0]])
            yield names[at], Merge(node, names[cluster[0]], alike, least)


def complete_linkage(similarity: npt.NDArray[np.floating], threshold: float) -> list[list[int]]:
    """Clusters in which every two reach the threshold: the most similar are joined first, of
    equally similar ones the pair that stands first.

    `similarity`: [n, n], symmetric, rounded to `DIGITS`. Gives places, each in one cluster, by
    their first; O(n^2) memory.
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    distances = squareform(1 - similarity, checks=False)
    # later pairs lie further apart, by less than any similarity is rounded to: no ties are left
    tree = linkage(distances + 1e-12 * np.arange(len(distances)), "complete")

    # what reaches the threshold exactly is in, whatever its last binary digit
    labels = fcluster(tree, 1 - threshold + 10.0 ** -(DIGITS + 1), "distance")
    clusters: dict[int, list[int]] = {}
    for at, label in enumerate(labels.tolist()):
        clusters.setdefault(label, []).append(at)

    return list(clusters.values())


def _fixed(key: TurnKeys) -> tuple[Hashable, ...]:
    """What merged turns have in common whatever they say: tools, error marks, the values and the
    marks in the texts of action and answers, and the logical state after them.
    """
    turn = key.taken
    errors = tuple((o.source, o.error) for o in turn.observations)
    values = tuple(tuple(_letters(msgspec.json.decode(part))) for part in key.parts)
    # the key holds what was said without its letter case, which tells names
    said = _marks(turn.content or "") if not turn.tool_calls else frozenset()

    return (key.tools, errors, values, said, turn.state_key)


def _marks(text: str) -> frozenset[str]:
    return frozenset(found.casefold() for found in _FIXED.findall(text))


def _letters(value: Any) -> Iterator[Hashable]:
    """The keys and values that count to the letter, and of free texts the words that do, as a
    set.
    """
    if isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _letters(item)
    elif isinstance(value, list):
        for item in value:
            yield from _letters(item)
    elif not isinstance(value, str):
        yield value
    elif (inner := json_in(value)) is not None:
        yield from _letters(inner)
    elif len(value.split()) < WORDS:
        yield value.casefold()
    else:
        yield _marks(value)


def _cut(text: str) -> Iterator[str]:
    """The text in parts of at most `PIECE` characters, cut at white space where there is any.

    No part is shorter than half of that, but for the last.
    """
    while len(text) > PIECE:
        at = text.rfind(" ", PIECE // 2, PIECE) + 1 or PIECE
        yield text[:at]
        text = text[at:]

    yield text
