"""Fingerprints of texts: a few hashes of runs of five words, by which a text is known again that
was shortened, laid out otherwise or put into a longer one (bottom-k sketches, Broder 1997).
"""

import re
from functools import lru_cache
from hashlib import blake2b

RUN = 5
"""Words in a row that are hashed together."""
KEPT = 16
"""Hashes of a text that are kept: the smallest ones."""
_WORD = re.compile(r"[a-z0-9]+")


@lru_cache(maxsize=256)
def runs(text: str) -> frozenset[str]:
    """The hashes of all runs of words of a text; of a shorter text, that of the whole."""
    words = _WORD.findall(text.lower())
    found = (" ".join(words[at : at + RUN]) for at in range(max(1, len(words) - RUN + 1)))
    return frozenset(blake2b(one.encode(), digest_size=5).hexdigest() for one in found if one)


def sketch(text: str) -> tuple[str, ...]:
    """The smallest hashes of a text's runs, sorted."""
    return tuple(sorted(runs(text))[:KEPT])
