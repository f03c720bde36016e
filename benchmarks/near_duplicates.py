"""Near duplicates: our index and datasketch's, at equal bands, on documents with planted edits.

Run: `python -m benchmarks.near_duplicates` (needs datasketch, of the extra `test`)
"""

import sys
from collections.abc import Callable, Sequence
from random import Random
from statistics import median
from time import process_time

import msgspec

from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers
from synth.stats.minhash import BANDS, PERMUTATIONS, ROWS, NearIndex, near_copies
from synth.text.similarity import shingles

DOCUMENTS = 10_000
PLANTED = 200
"""Per edit rate, and as many exact copies."""
EDITS = (0.02, 0.05, 0.1, 0.2, 0.3)
WORDS = 550
"""3.6 KB."""
SIMILARITY = 0.5
"""10 % of words edited leave a similarity of about 0.57."""


class Corpus(msgspec.Struct, frozen=True):
    """Documents, originals first, and for every planted one its original and edit rate."""

    texts: Sequence[str]
    planted: dict[int, tuple[int, float]]


def corpus(documents: int, planted: int, seed: int = 11) -> Corpus:
    """Mixes of sentences drawn from a pool, so that documents share phrases as transcripts do, and
    edited copies of some.
    """
    rng = Random(seed)
    vocabulary = [
        f"{rng.choice('bcdfgklmnprstvw')}{rng.choice('aeiou')}{rng.randint(0, 20_000)}"
        for _ in range(30_000)
    ]
    pool = [" ".join(rng.choices(vocabulary, k=rng.randint(8, 16))) for _ in range(documents * 3)]
    texts = []
    for _ in range(documents):
        words: list[str] = []
        while len(words) < WORDS:
            words += rng.choice(pool).split()
        texts.append(" ".join(words[:WORDS]))
    found: dict[int, tuple[int, float]] = {}
    for rate in (0.0, *EDITS):
        for _ in range(planted):
            original = rng.randrange(documents)
            found[len(texts)] = (original, rate)
            texts.append(_edited(texts[original], rate, vocabulary, rng))
    return Corpus(texts, found)


def _edited(text: str, rate: float, vocabulary: Sequence[str], rng: Random) -> str:
    words = text.split()
    for at in rng.sample(range(len(words)), round(rate * len(words))):
        words[at] = rng.choice(vocabulary)
    return " ".join(words)


def ours(texts: Sequence[str]) -> dict[int, set[int]]:
    """Document -> verified similar ones before it; every document is opened, so that all pairs are
    found.
    """
    found: dict[int, set[int]] = {}
    with NearIndex(SIMILARITY) as index:
        for text in texts:
            index.add(shingles((text,)))
        index.close_adding()
        for document in range(len(texts)):
            found[document] = {other for other, _ in index.similar(document)}
            index.open(document)
    return found


def of_datasketch(texts: Sequence[str]) -> dict[int, set[int]]:
    """Document -> candidates before it, unverified, over the same shingles of three words."""
    from datasketch import MinHash, MinHashLSH

    lsh = MinHashLSH(num_perm=PERMUTATIONS, params=(BANDS, ROWS))
    found: dict[int, set[int]] = {}
    for document, text in enumerate(texts):
        words = text.split()
        signature = MinHash(num_perm=PERMUTATIONS, seed=1)
        signature.update_batch(
            [" ".join(part).encode() for part in zip(words, words[1:], words[2:], strict=False)]
        )
        found[document] = set(lsh.query(signature))
        lsh.insert(document, signature)
    return found


def recall(found: dict[int, set[int]], planted: dict[int, tuple[int, float]], rate: float) -> float:
    """Share of the copies at an edit rate that were found beside their original."""
    wanted = [(copy, original) for copy, (original, edits) in planted.items() if edits == rate]
    return sum(original in found[copy] for copy, original in wanted) / len(wanted)


def true_similarity(one: str, other: str) -> float:
    """Jaccard of the sets of three words, worked out on strings."""
    first, second = (
        set(zip(words, words[1:], words[2:], strict=False))
        for words in (one.split(), other.split())
    )
    return len(first & second) / len(first | second)


def _timed(
    run: Callable[[Sequence[str]], dict[int, set[int]]], texts: Sequence[str]
) -> tuple[dict[int, set[int]], float]:
    began = process_time()
    found = run(texts)
    return found, process_time() - began


def measure(documents: int = DOCUMENTS, planted: int = PLANTED, rounds: int = 3) -> Report:
    """Rates, recall by edit rate, and precision against similarities worked out on strings."""
    made = corpus(documents, planted)
    seconds: list[float] = []
    peers: list[float] = []
    for _ in range(rounds):
        mine, taken = _timed(ours, made.texts)
        seconds.append(taken)
        theirs, taken = _timed(of_datasketch, made.texts)
        peers.append(taken)
    pairs = [(one, other) for one, others in mine.items() for other in others]
    true = sum(
        true_similarity(made.texts[one], made.texts[other]) >= SIMILARITY for one, other in pairs
    )
    candidates = sum(len(others) for others in theirs.values())
    left = set(range(len(made.texts)))
    with NearIndex(SIMILARITY) as index:
        for text in made.texts:
            index.add(shingles((text,)))
        index.close_adding()
        for document, _, _ in near_copies(index, range(len(made.texts))):
            left.discard(document)
    figures = [
        Figure("ours", len(made.texts) / median(seconds), "documents/s"),
        Figure("datasketch", len(made.texts) / median(peers), "documents/s"),
        Figure(
            "ours against datasketch",
            median(p / s for p, s in zip(peers, seconds, strict=True)),
            "x",
            Target("at least", 2.5),
        ),
        Figure(
            "precision of ours, verified",
            true / len(pairs) if pairs else 1.0,
            "",
            Target("at least", 1.0),
        ),
        Figure("pairs of ours", len(pairs)),
        Figure("candidate pairs of datasketch, unverified", candidates),
    ]
    targets = {0.0: 1.0, 0.02: 1.0, 0.05: 1.0, 0.1: 0.95}
    for rate in (0.0, *EDITS):
        bound = targets.get(rate)
        target = None if bound is None else Target("at least", bound)
        figures.append(
            Figure(
                f"recall, {rate:.0%} of words edited, ours",
                recall(mine, made.planted, rate),
                "",
                target,
            )
        )
        figures.append(
            Figure(
                f"recall, {rate:.0%} of words edited, datasketch",
                recall(theirs, made.planted, rate),
            )
        )
    figures.append(
        Figure(
            "originals that were dropped as copies",
            documents - len([d for d in left if d < documents]),
        )
    )
    return Report(
        "Near duplicates",
        tuple(figures),
        f"{documents:,} documents of {WORDS} words, {planted} copies at each edit rate; shingles "
        f"of three words, {PERMUTATIONS} "
        f"permutations, {BANDS} bands of {ROWS}; ours keeps what is similar to {SIMILARITY} and "
        "more, shingles on disk and verification "
        f"included; CPU seconds of one process, medians of {rounds} rounds side by side.",
    )


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
