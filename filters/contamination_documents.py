"""Texts of named benchmarks as word n-grams, and what of them a text repeats."""

import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from synth.schemas.errors import ConfigError

LEAST_WORDS = 8
"""Shorter documents are found as a whole text only (Brown et al. 2020, appendix C: n between 8 and
13).
"""
LEAST_WHOLE = 5
"""What is shorter ("Hello, I need help") is nobody's task."""
_WORD = re.compile(r"\w+")
_SUFFIXES = (".txt", ".md", ".json", ".jsonl")


class Documents:
    """n-grams by benchmark, and whole texts; what stands in more than `common` documents is a set
    phrase, and does not count.
    """

    def __init__(self, n: int, common: int) -> None:
        self._n = n
        self._common = common
        self._grams: dict[bytes, tuple[str, int]] = {}
        self._whole: dict[bytes, tuple[str, int]] = {}
        self._lengths: set[int] = set()
        self._count = 0

    def add(self, benchmark: str, text: str) -> None:
        """One more document of a benchmark."""
        found = words(text)
        if not found:
            return
        self._count += 1
        if len(found) >= LEAST_WHOLE:
            name, count = self._whole.get(_key(found), (benchmark, 0))
            self._whole[_key(found)] = (name, count + 1)
        size = min(self._n, len(found))
        if size >= LEAST_WORDS:
            self._lengths.add(size)
            for key in set(_grams(found, size)):
                name, count = self._grams.get(key, (benchmark, 0))
                self._grams[key] = (name, count + 1)

    def __len__(self) -> int:
        return self._count

    def same(self, text: str) -> str | None:
        """The benchmark that has a text as a document, letter case and punctuation aside; one of
        too many documents is nobody's task.
        """
        name, count = self._whole.get(_key(words(text)), ("", 0))
        return name if 0 < count <= self._common else None

    def repeated(self, texts: Iterable[str]) -> dict[str, int]:
        """Benchmark -> how many distinct n-grams of its documents stand in the texts."""
        counts: dict[str, int] = {}
        seen: set[bytes] = set()
        for text in texts:
            found = words(text)
            for size in self._lengths:
                for key in _grams(found, size):
                    hit = self._grams.get(key)
                    if hit is not None and hit[1] <= self._common and key not in seen:
                        seen.add(key)
                        counts[hit[0]] = counts.get(hit[0], 0) + 1
        return counts


def words(text: str) -> list[str]:
    """Runs of letters and digits, in one case."""
    return _WORD.findall(text.casefold())


def _grams(found: Sequence[str], size: int) -> Iterator[bytes]:
    return (_key(found[at : at + size]) for at in range(len(found) - size + 1))


def _key(found: Sequence[str]) -> bytes:
    return blake2b(" ".join(found).encode("utf-8", "surrogatepass"), digest_size=8).digest()


@lru_cache(maxsize=4)
def read(paths: tuple[tuple[str, tuple[str, ...]], ...]) -> Sequence[tuple[str, str]]:
    """(benchmark, document) of files and folders; .txt and .md are one document each, records of
    .json and .jsonl give one per text.

    Files may end in .gz. Raises `ConfigError` for what does not exist or cannot be read.
    """
    found = []
    for benchmark, places in paths:
        for place in places:
            files = _files(Path(place))
            if not files:
                raise ConfigError(
                    f"benchmarks.{benchmark}: {place} holds no {', '.join(_SUFFIXES)} file (each "
                    "may end in .gz)"
                )
            found += [(benchmark, text) for file in files for text in _texts(file, benchmark)]
    return found


def _files(place: Path) -> list[Path]:
    if place.is_dir():
        return sorted(
            path for path in place.rglob("*") if path.name.removesuffix(".gz").endswith(_SUFFIXES)
        )
    return [place] if place.exists() else []


def _texts(file: Path, benchmark: str) -> Iterator[str]:
    kind = Path(file.name.removesuffix(".gz")).suffix
    try:
        with (
            gzip.open(file, "rt", encoding="utf-8")
            if file.suffix == ".gz"
            else file.open(encoding="utf-8") as lines
        ):
            if kind == ".jsonl":
                for line in lines:
                    if line.strip():
                        yield from _strings(json.loads(line))
            elif kind == ".json":
                yield from _strings(json.load(lines))
            else:
                yield lines.read()
    except (OSError, EOFError, ValueError, RecursionError) as error:
        raise ConfigError(f"benchmarks.{benchmark}: {file} cannot be read: {error}") from error


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for entry in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(entry)
