"""Merge level `semantic`: turns that say the same in other words are one node, within a task and a
set of tools (our definition).

Only the wording of free text may differ. Turns of other tools, of answers with another error mark,
with another value of fewer than three
words anywhere, with other numbers, codes, names or denials in their texts, or with other logical
states of the world after them, are never
one, however similar they are: to an encoder, flights from ATL and from LAX are nearly the same
(.98).
"""

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from synth.schemas.canonical import content_hash
from synth.schemas.trajectory import SampledBy, Trajectory, Turn
from synth.topology.embeddings import Embed
from synth.topology.keys import TurnKeys

PIECE = 500
"""Characters that are embedded together: MiniLM reads 256 tokens and drops the rest."""
SIMILARITY = 0.9
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
    """Turn key -> its merge, for the turns whose node holds more than one text; `threshold` is what
    all of them reach.
    """

    threshold: float
    by_turn: Mapping[str, Merge]

    def applied(self, keys: Sequence[TurnKeys]) -> list[TurnKeys]:
        """The keys with their nodes."""
        return [
            msgspec.structs.replace(key, merged=self.by_turn[key.turn].node)
            if key.turn in self.by_turn
            else key
            for key in keys
        ]


def merges(
    keyed: Iterable[tuple[Trajectory, Sequence[TurnKeys]]],
    embed: Embed,
    threshold: float = SIMILARITY,
) -> Merges:
    """Clusters of the distinct turns of one task's trials; the same whatever order the trials come
    in.

    Similarity of two turns = the least cosine over their pieces, action and answers, in order;
    turns of another number of pieces have
    none. Complete linkage: every two texts of a node reach the threshold.
    """
    groups: dict[Hashable, dict[str, tuple[str, ...]]] = {}
    for trajectory, keys in keyed:
        turns = [turn for turn in trajectory.turns if turn.sampled_by is not SampledBy.CANNED]
        for turn, key in zip(turns, keys, strict=True):
            pieces = _pieces(key)
            groups.setdefault((*_fixed(turn, key), len(pieces)), {})[key.turn] = pieces
    several = {group: members for group, members in groups.items() if len(members) > 1}
    texts = sorted(
        {piece for members in several.values() for pieces in members.values() for piece in pieces}
    )
    vectors = dict(zip(texts, embed(texts), strict=True)) if texts else {}
    found: dict[str, Merge] = {}
    for members in several.values():
        names = sorted(members)
        stacked = np.stack(
            [[vectors[piece] for piece in members[name]] for name in names]
        )  # [turns, pieces, dimensions]
        similarity = np.round(
            np.einsum("ipd,jpd->ijp", stacked, stacked).min(axis=2).astype(np.float64), 4
        )
        for cluster in complete_linkage(similarity, threshold):
            if len(cluster) > 1:
                inner = similarity[np.ix_(cluster, cluster)]
                node = content_hash(["semantic", [names[at] for at in cluster]])
                for at in cluster:
                    found[names[at]] = Merge(
                        node,
                        names[cluster[0]],
                        float(similarity[at, cluster[0]]),
                        float(inner.min()),
                    )
    return Merges(threshold, found)


def _fixed(turn: Turn, key: TurnKeys) -> tuple[Hashable, ...]:
    """What merged turns have in common whatever they say."""
    errors = tuple((o.source, o.error) for o in turn.observations)
    values = tuple(tuple(_letters(msgspec.json.decode(part))) for part in key.parts)
    said = (
        _marks(turn.content or "") if not turn.tool_calls else frozenset()
    )  # the key holds it without its letter case
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
    elif value[:1] in ("{", "[") and (inner := _decoded(value)) is not None:
        yield from _letters(inner)
    elif len(value.split()) < WORDS:
        yield value.casefold()
    else:
        yield _marks(value)


def _decoded(text: str) -> Any:
    """An answer that is itself JSON; None for what only begins so."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def _pieces(key: TurnKeys) -> tuple[str, ...]:
    return tuple(piece for part in key.parts for piece in _cut(part))


def _cut(text: str) -> list[str]:
    """The text in parts of at most `PIECE` characters, cut at white space where there is any."""
    found: list[str] = []
    while len(text) > PIECE:
        at = text.rfind(" ", PIECE // 2, PIECE)
        at = PIECE if at < 0 else at + 1
        found.append(text[:at])
        text = text[at:]
    return [*found, text]


def complete_linkage(similarity: npt.NDArray[np.floating], threshold: float) -> list[list[int]]:
    """Clusters, sorted: again and again the two whose least similar members are the most similar,
    while those reach the threshold.

    Equal similarities go to the pair that stands first; O(n^2) memory and work per merge.
    """
    linked = np.array(similarity, np.float64)
    np.fill_diagonal(linked, -np.inf)
    clusters: dict[int, list[int]] = {at: [at] for at in range(len(linked))}
    while len(clusters) > 1:
        one, other = sorted(
            int(at) for at in np.unravel_index(int(np.argmax(linked)), linked.shape)
        )
        if linked[one, other] < threshold:
            break
        clusters[one] += clusters.pop(other)
        linked[one] = linked[:, one] = np.minimum(linked[one], linked[other])
        linked[one, one] = -np.inf
        linked[other] = linked[:, other] = -np.inf
    return sorted(sorted(cluster) for cluster in clusters.values())
