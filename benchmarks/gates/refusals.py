"""`python -m benchmarks.gates.refusals`: refusals in words, missed and falsely found, on sentences
written for the definition in docs/models.md (data/refusals.yaml says by whom and when), and what is
found among all that real agents said (../shared/data).

The baseline is what models say most: "I'm sorry, but I can't".
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from benchmarks.gates.raw_calls import DATA, SOURCES, texts_of
from benchmarks.gates.table import Rate, table
from synth.schemas import read_yaml
from synth.text.refusals import refuses

WORDS = Path(__file__).parent / "data" / "refusals.yaml"


def rows() -> list[Rate]:
    """Misses by set, false alarms; of real texts none where the data is absent."""
    sets = read_yaml(WORDS.read_text(encoding="utf-8"), WORDS.name)
    real = (_real(source) for source in (SOURCES if DATA.is_dir() else ()))
    return [*_written(sets), *chain.from_iterable(real)]


def _written(sets: dict[str, list[str]]) -> Iterator[Rate]:
    for name in ("first", "second", "third", "fourth"):
        said = sets[name]
        missed = sum(not refuses(text) for text in said)
        yield Rate(f"written, {name}", "refusals", "misses", missed, len(said), "<= 10 %")
        plain = sum("sorry, but i can't" not in text.casefold() for text in said)
        yield Rate(f"written, {name}", "refusals", "misses of the baseline", plain, len(said), "")
    for name in ("none", "third_near", "fourth_near"):
        alarms = sum(map(refuses, sets[name]))
        yield Rate(f"written, {name}", "refusals", "false alarms", alarms, len(sets[name]), "0")


def _real(source: str) -> Iterator[Rate]:
    said = texts_of(source)
    found = sum(map(refuses, said))
    yield Rate(source, "refusals", "texts read as refusals", found, len(said), "refusals only")


if __name__ == "__main__":
    print("\n".join(table(rows())))
