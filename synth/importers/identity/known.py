"""Tasks and policies of public benchmarks, known by their fingerprints.

`known.tsv` has a line for each text: the benchmark, `task` or `policy`, and its sketch; no text.
`python -m benchmarks.known_sets` makes it of the public repositories.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from synth.importers.chats.columns import parsed
from synth.importers.identity.sketch import runs
from synth.importers.records import Object

LEAST = 0.6
"""Share of a sketch from which a text holds the text that was sketched."""

_TASKS = (
    "task",
    "task_description",
    "instruction",
    "user_scenario",
    "scenario",
    "question",
    "info",
)
"""Keys under which a record may hold its task."""


class KnownText(NamedTuple):
    """A text of a benchmark."""

    benchmark: str
    kind: str
    hashes: tuple[str, ...]


@cache
def known() -> tuple[KnownText, ...]:
    """All texts that are known."""
    text = files("synth.importers.identity").joinpath("known.tsv").read_text("ascii")
    rows = (line.split("\t") for line in text.splitlines() if line)
    return tuple(KnownText(name, kind, tuple(hashes.split())) for name, kind, hashes in rows)


@cache
def _by_hash() -> Mapping[str, tuple[int, ...]]:
    places: dict[str, list[int]] = defaultdict(list)
    for at, one in enumerate(known()):
        for hashed in one.hashes:
            places[hashed].append(at)
    return {hashed: tuple(found) for hashed, found in places.items()}


def benchmark_of(text: str, kind: str, family: str = "") -> str | None:
    """The benchmark one of whose tasks, or whose policy, a text holds; None where it holds none.
    Of several the one of a `family` (`tau2-bench`), then the one that it holds most of.
    """
    if not text:
        return None
    hits: Counter[int] = Counter()
    for hashed in runs(text):
        hits.update(_by_hash().get(hashed, ()))

    best: dict[str, float] = {}
    for at, count in hits.items():
        one = known()[at]
        share = count / len(one.hashes)
        if one.kind == kind and share >= LEAST:
            best[one.benchmark] = max(share, best.get(one.benchmark, 0.0))

    if not best:
        return None
    return max(best, key=lambda name: (name.startswith(f"{family}/"), best[name], name))


def benchmark_beside(record: Object) -> str | None:
    """The benchmark one of whose tasks a record holds; None where it holds none."""
    held = "\n".join(line for key in _TASKS for line in _texts(parsed(record.get(key))))
    return benchmark_of(held, "task")


def _texts(held: Any) -> Iterator[str]:
    """All texts of a JSON value."""
    if isinstance(held, str):
        yield held
    elif isinstance(held, dict | list):
        for one in held.values() if isinstance(held, dict) else held:
            yield from _texts(one)
