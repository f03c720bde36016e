"""Texts of named benchmarks as word n-grams, and what of them a text repeats.

After the contamination study of Brown et al. 2020, appendix C, with words where that has tokens.
"""

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from synth.schemas import ConfigError
from synth.text.word_runs import runs, words_in

LEAST_WORDS = 8
"""Shorter documents are found as a whole text only (Brown et al. 2020, appendix C: n between 8 and
13).
"""
LEAST_WHOLE = 5
"""What is shorter ("Hello, I need help") is nobody's task."""
_SUFFIXES = (".txt", ".md", ".json", ".jsonl")


class Documents:
    """n-grams by benchmark, and whole texts; what stands in more than `common` documents is a set
    phrase, and does not count.

    `n`: words of an n-gram; of a shorter document all of its words are one. Memory: 8 bytes and the
    overhead of a dict for each distinct n-gram.
    """

    def __init__(self, n: int, common: int) -> None:
        self._n = n
        self._common = common
        self._known: dict[bytes, tuple[str, int]] = {}
        self._lengths: set[int] = set()
        self._count = 0

    def add(self, benchmark: str, text: str) -> None:
        """One more document of a benchmark. An n-gram belongs to the first that had it."""
        words = words_in(text)
        self._count += bool(words)
        keys = {_whole(words)} if len(words) >= LEAST_WHOLE else set()

        # a document shorter than n is one n-gram of its own length
        size = min(self._n, len(words))
        if size >= LEAST_WORDS:
            self._lengths.add(size)
            keys |= _grams(words, size)

        for key in keys:
            name, count = self._known.get(key, (benchmark, 0))
            self._known[key] = (name, count + 1)

    def __len__(self) -> int:
        return self._count

    def same(self, text: str) -> str | None:
        """The benchmark that has a text as a document, letter case and punctuation aside; one of
        too many documents is nobody's task.
        """
        name, count = self._known.get(_whole(words_in(text)), ("", 0))
        return name if 0 < count <= self._common else None

    def repeated(self, texts: Iterable[str]) -> dict[str, int]:
        """Benchmark -> how many distinct n-grams of its documents stand in the texts."""
        # an n-gram counts once, however many texts repeat it
        seen: set[bytes] = set()
        for words in map(words_in, texts):
            for size in self._lengths:
                seen.update(filter(self._known.__contains__, _grams(words, size)))

        counts: dict[str, int] = {}
        for name, count in map(self._known.__getitem__, seen):
            if count <= self._common:
                counts[name] = counts.get(name, 0) + 1

        return counts


def _grams(words: Sequence[str], size: int) -> set[bytes]:
    """The distinct runs of so many words, as keys."""
    return set(map(_key, runs(words, size)))


def _whole(words: Sequence[str]) -> bytes:
    """The key of a whole text, which no n-gram has: no word of one is empty."""
    return _key(["", *words])


def _key(words: Sequence[str]) -> bytes:
    """64 bits of some words: an index of a benchmark holds no text."""
    return blake2b(" ".join(words).encode("utf-8", "surrogatepass"), digest_size=8).digest()


@lru_cache(maxsize=4)
def read(paths: tuple[tuple[str, tuple[str, ...]], ...]) -> Sequence[tuple[str, str]]:
    """(benchmark, document) of files and folders; .txt and .md are one document each, records of
    .json and .jsonl give one per text.

    Files may end in .gz. Raises `ConfigError` for what does not exist or cannot be read.
    """
    found = []
    for benchmark, place in ((name, Path(place)) for name, places in paths for place in places):
        files = [place] if place.is_file() else sorted(filter(_fits, place.rglob("*")))
        if not files:
            raise ConfigError(
                f"benchmarks.{benchmark}: {place} holds no {', '.join(_SUFFIXES)} file (each "
                "may end in .gz)"
            )

        for file in files:
            try:
                found += [(benchmark, text) for text in _texts(file)]
            except (OSError, EOFError, ValueError, RecursionError) as error:
                raise ConfigError(
                    f"benchmarks.{benchmark}: {file} cannot be read: {error}"
                ) from error

    return found


def _fits(path: Path) -> bool:
    """Whether a file of a folder is one that documents are read from."""
    return path.name.removesuffix(".gz").endswith(_SUFFIXES)


def _texts(file: Path) -> Iterator[str]:
    """The documents of a file, by its kind. Raises what reading and parsing raise."""
    kind = Path(file.name.removesuffix(".gz")).suffix
    opening: Any = gzip.open if file.suffix == ".gz" else open

    with opening(file, "rt", encoding="utf-8") as lines:
        if kind == ".jsonl":
            for line in filter(str.strip, lines):
                yield from _strings(json.loads(line))
        elif kind == ".json":
            yield from _strings(json.load(lines))
        else:
            yield lines.read()


def _strings(value: Any) -> Iterator[str]:
    """Every text anywhere in a record: which field holds the question is not known."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for entry in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(entry)
