"""Fits the weights by which a text refuses: logistic regression over the signs of
synth/text/refusals.py, on wordings of data/refusals.yaml and on what real agents and our worlds'
planners said, none of whom refused.

Run: `python -m benchmarks.gates.fit_refusals > data/refusals/weights.yaml` (needs ../shared/data),
or `... fit_refusals held` for what is found of each outsider's wordings by weights that were fitted
without them.
"""

import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random

import numpy as np

from benchmarks.gates.fit_leaks import fitted, halved, matrix_of
from benchmarks.gates.honest import planned
from synth.schemas import Turn, read_yaml
from synth.text.leaks.scan import authored
from synth.text.refusals import FROM, LONGEST, bare, signs

WORDS = Path(__file__).parent / "data" / "refusals.yaml"
SETS = {
    "own": (("first", "second", "own"), ("none", "own_near")),
    "third": (("third",), ("third_near",)),
    "fourth": (("fourth",), ("fourth_near",)),
    "fifth": (("fifth",), ("fifth_near",)),
    "sixth": (("sixth",), ("sixth_near",)),
    "seventh": (("seventh",), ("seventh_near",)),
    "eighth": (("eighth",), ("eighth_near",)),
    "ninth": (("ninth",), ("ninth_near",)),
}
"""Author -> the lists of refusals, and of what is near to one."""
FOLDERS = (
    "tau1",
    "tau1_retail",
    "tau2_airline",
    "tau2_retail",
    "tau2_retail_multi",
    "tau2_grok",
    "tau2_es",
    "tau2_telecom",
    "agentrx_tau",
    "toolbench",
    "sweagent_demos",
    "whowhen_ag",
)
WORLDS, SEED = {"storefront": 60, "sql": 15, "textworld": 3}, 81
TEXTS = 150
"""Drawn of a source at most, so that none speaks for all."""
PENALTY = {"w:": 9.0, "b:": 9.0}
"""Of words and pairs of them; 3 of kinds, which stand for more than themselves."""
WRITTEN, REAL = 3.0, 0.5
"""How much a wording counts, and how much a real text, of which there are many more."""
LEAST_WORDS, LEAST = 4, 3
"""Wordings in which a word, or a kind, must stand."""
Seen = Sequence[frozenset[str]]


def said_by(turns: Sequence[Turn]) -> Iterator[str]:
    """What an agent says where it calls nothing, and at its end."""
    for turn in turns:
        if turn.content and (not turn.tool_calls or turn is turns[-1]):
            yield turn.content


def of_source(source: str, *, fitted_to: bool = True) -> list[str]:
    """Texts of a folder's half, evenly drawn."""
    found = (text for one in halved(source, fitted=fitted_to) for text in said_by(one.turns))
    return _drawn(found)


def of_world(world: str, *, fitted_to: bool = True) -> list[str]:
    """What a world's planner says, in replies and in calls that talk."""
    episodes = planned(world, WORLDS[world], seed=SEED if fitted_to else SEED + 1)
    return _drawn(text for one in episodes for turn in one.turns for text in authored(turn))


def _drawn(texts: Iterator[str]) -> list[str]:
    found = sorted({text for text in texts if text.strip() and len(text) <= LONGEST})
    return Random(1).sample(found, min(TEXTS, len(found)))


@cache
def _wordings() -> Mapping[str, Sequence[frozenset[str]]]:
    sets: dict[str, list[str]] = read_yaml(WORDS.read_text(encoding="utf-8"), WORDS.name)
    return {name: _seen(texts) for name, texts in sets.items()}


@cache
def _unrefusing() -> Seen:
    """Signs of what real agents and planners said."""
    real = (text for folder in FOLDERS for text in of_source(folder))
    return [*_seen(real), *(one for world in WORLDS for one in _seen(of_world(world)))]


def _seen(texts: "Collection[str] | Iterator[str]") -> list[frozenset[str]]:
    return [signs(bare(text)) for text in texts]


def written(author: str) -> tuple[Seen, Seen]:
    """An author's refusals and near misses."""
    yes, near = ([one for name in of for one in _wordings()[name]] for of in SETS[author])
    return yes, near


def weights(examples: Sequence[tuple[Seen, Seen]]) -> tuple[float, dict[str, float]]:
    """The base, and log odds by sign, fitted to authors' wordings and all that did not refuse."""
    yes = [one for of, _ in examples for one in of]
    near, real = [one for _, of in examples for one in of], _unrefusing()
    told = Counter(name for one in (*yes, *near) for name in one)
    names = sorted(
        name for name, n in told.items() if n >= (LEAST_WORDS if name[1:2] == ":" else LEAST)
    )
    counts = (len(yes), len(near), len(real))
    penalty = np.array([*(PENALTY.get(name[:2], 3.0) for name in names), 0.0])
    *found, base = fitted(
        matrix_of([*yes, *near, *real], names),
        np.repeat([1.0, -1.0, -1.0], counts),
        np.repeat([WRITTEN, WRITTEN, REAL], counts),
        penalty,
    )

    return float(base), {name: float(one) for name, one in zip(names, found, strict=True)}


def found_by(fit: tuple[float, Mapping[str, float]], seen: Seen) -> int:
    """How many texts refuse by these weights."""
    base, of = fit
    return sum(base + sum(of.get(sign, 0.0) for sign in one) >= FROM for one in seen)


def held_out() -> Iterator[tuple[str, int, int, int, int]]:
    """(author, found, refusals, false alarms, near misses), fitted without that author."""
    for author in list(SETS)[1:]:
        fit = weights([written(other) for other in SETS if other != author])
        yes, near = written(author)
        yield author, found_by(fit, yes), len(yes), found_by(fit, near), len(near)


def main() -> None:
    """Prints the file, or with `held` what is found of wordings that were left out."""
    if sys.argv[1:] == ["held"]:
        for author, found, n, alarms, near in held_out():
            print(f"{author}: {found} of {n} found, {alarms} of {near} near misses taken for one")
        return

    base, of = weights([written(author) for author in SETS])
    print("# Log odds by sign, as `python -m benchmarks.gates.fit_refusals` prints them.")
    print(f"base: {base:.2f}\nsigns:")
    for name, weight in of.items():
        if abs(weight) >= 0.005:
            print(f'  "{name}": {weight:.2f}')


if __name__ == "__main__":
    main()
