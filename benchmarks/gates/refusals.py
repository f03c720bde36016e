"""`python -m benchmarks.gates.refusals`: refusals in words, missed and falsely found, on wordings
written for the definition in docs/models.md (data/refusals.yaml says by whom), in what our worlds'
planners say, and in all that real agents said (../shared/data).

A file of wordings may be named, a list of texts under each of `refusals` and `not_refusals`. The
baseline is what models say most: "I'm sorry, but I can't".
"""

import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from benchmarks.gates.fit_refusals import FOLDERS, WORDS, WORLDS, held_out, of_source, of_world
from benchmarks.gates.raw_calls import DATA, SOURCES, texts_of
from benchmarks.gates.table import Rate, table
from synth.schemas import read_yaml
from synth.text.refusals import refuses

TARGETS = {"misses": "<= 10 %", "false alarms": "<= 1 %"}


def rows() -> list[Rate]:
    """Misses by set, false alarms; of real texts none where the data is absent."""
    real = (_real(source) for source in (SOURCES if DATA.is_dir() else ()))
    return [*_left_out(), *_ours(), *_others(), *chain.from_iterable(real)]


def rated(source: str, yes: Sequence[str], near: Sequence[str]) -> Iterator[Rate]:
    """Misses and false alarms of one author's wordings, beside the baseline."""
    missed = sum(not refuses(text) for text in yes)
    yield Rate(source, "refusals", "misses", missed, len(yes), TARGETS["misses"])
    plain = sum("sorry, but i can't" not in text.casefold() for text in yes)
    yield Rate(source, "refusals", "misses of the baseline", plain, len(yes), "")
    alarms = sum(map(refuses, near))
    yield Rate(source, "refusals", "false alarms", alarms, len(near), TARGETS["false alarms"])


def _left_out() -> Iterator[Rate]:
    """Each outsider's wordings, by weights that were fitted without them."""
    sets = read_yaml(WORDS.read_text(encoding="utf-8"), WORDS.name)
    for author, found, n, alarms, near in held_out():
        source = f"left out, {author}"
        yield Rate(source, "refusals", "misses", n - found, n, TARGETS["misses"])
        plain = sum("sorry, but i can't" not in text.casefold() for text in sets[author])
        yield Rate(source, "refusals", "misses of the baseline", plain, n, "")
        yield Rate(source, "refusals", "false alarms", alarms, near, TARGETS["false alarms"])


def _ours() -> Iterator[Rate]:
    """What planners said of tasks that were not fitted."""
    for world in WORLDS:
        texts = of_world(world, fitted_to=False)
        alarms = sum(map(refuses, texts))
        yield Rate(world, "refusals", "false alarms", alarms, len(texts), TARGETS["false alarms"])


def _others() -> Iterator[Rate]:
    """Real agents' last words and others without a call, of the half that was not fitted."""
    if not DATA.is_dir():
        return

    texts = [text for folder in FOLDERS for text in of_source(folder, fitted_to=False)]
    found = sum(map(refuses, texts))
    yield Rate("real, not fitted", "refusals", "false alarms", found, len(texts), "<= 1 %")


def _real(source: str) -> Iterator[Rate]:
    said = texts_of(source)
    found = sum(map(refuses, said))
    yield Rate(source, "refusals", "texts read as refusals", found, len(said), "refusals only")


def main() -> None:
    """Prints the rates, or those of a file with the texts that were read wrongly."""
    if not sys.argv[1:]:
        print("\n".join(table(rows())))
        return

    place = Path(sys.argv[1])
    sets = read_yaml(place.read_text(encoding="utf-8"), place.name)
    yes, near = [list(map(str, sets[name])) for name in ("refusals", "not_refusals")]
    print("\n".join(table(rated(place.name, yes, near))))
    print(*(f"missed: {text}" for text in yes if not refuses(text)), sep="\n")
    print(*(f"false alarm: {text}" for text in near if refuses(text)), sep="\n")


if __name__ == "__main__":
    main()
