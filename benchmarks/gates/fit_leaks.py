"""Fits the weights by which a sentence alludes to help: logistic regression, wordings of
data/leaks/wordings.yaml against sentences of real trajectories, which nobody guided.

Run: `python -m benchmarks.gates.fit_leaks > data/leaks/weights.yaml` (needs ../shared/data); with
`--across` it prints how each author fares whom the fit has not seen.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from benchmarks.gates.honest import planned
from benchmarks.real_trajectories import real
from synth.schemas import Trajectory
from synth.text.leaks.allusion import explained_by, sentences, signs
from synth.text.leaks.references import RECENT, failed
from synth.text.leaks.scan import authored

WORDINGS = files("synth") / "data" / "leaks" / "wordings.yaml"
OTHERS = Path(__file__).parent / "data"
AUTHORS = {
    "author": WORDINGS,
    "somebody else": OTHERS / "leaks_outsider.yaml",
    "a second outsider": OTHERS / "leaks_second_outsider.yaml",
    "held out": OTHERS / "leaks_held_out.yaml",
}
"""Whose wordings are fitted to."""
FOLDERS = (
    "fireact",
    "tau1",
    "tau1_retail",
    "tau2_airline",
    "tau2_retail",
    "tau2_grok",
    "agentrx_tau",
    "toolbench",
    "sweagent_demos",
    "whowhen_ag",
)
SENTENCES = 800
"""Drawn of a folder at most, so that none speaks for all."""
WORLDS, SEED = {"storefront": 200, "sql": 20, "textworld": 3}, 76
"""Of each, tasks whose planner is fitted to; others are measured."""
PENALTY = 6.0
WEIGHTS = {"references": 6.0, "harmless": 6.0}
"""How much a wording counts: real sentences, of which there are many more, count 1."""
Vector = npt.NDArray[np.float64]


def halved(folder: str, *, fitted: bool) -> list[Trajectory]:
    """Every second trajectory of a folder: the first of each two is fitted to, the other one is for
    measuring.
    """
    return [one for at, one in enumerate(real([folder])) if at % 2 != fitted]


def seen_in(trajectory: Trajectory) -> Iterator[frozenset[str]]:
    """The signs of each sentence that an agent wrote."""
    shown = frozenset[str]()
    for told in trajectory.opening:
        shown |= explained_by(told.content)

    for at, turn in enumerate(trajectory.turns):
        lately = any(map(failed, trajectory.turns[max(0, at - RECENT) : at]))
        for text in authored(turn):
            for sentence in sentences(text):
                yield signs(sentence, shown, failed=lately)
        for told in turn.observations:
            shown |= explained_by(told.content)


@cache
def unguided() -> Sequence[frozenset[str]]:
    """The signs of sentences of real trajectories and planners."""
    drawn = list[frozenset[str]]()
    for folder in FOLDERS:
        of_real = [found for one in halved(folder, fitted=True) for found in seen_in(one)]
        drawn += Random(1).sample(of_real, min(SENTENCES, len(of_real)))

    for world, count in WORLDS.items():
        said = {found for one in planned(world, count, seed=SEED) for found in seen_in(one)}
        drawn += sorted(said, key=sorted)[:SENTENCES]

    return drawn


def wordings(author: str) -> tuple[list[frozenset[str]], list[frozenset[str]]]:
    """The signs of an author's references, and of the sentences of harmless turns."""
    given = msgspec.yaml.decode(AUTHORS[author].read_bytes())
    own = [*given.get("harmless", ()), *(t for s in given["situations"] for t in s["harmless"])]
    parts = [part for text in own for part in sentences(text) or [text]]
    return [signs(text) for text in given["references"]], [signs(text) for text in parts]


def examples(authors: Sequence[str]) -> tuple[list[frozenset[str]], Vector, Vector]:
    """Signs, +1 or -1, and how much each counts."""
    given = [wordings(author) for author in authors]
    alluding = [one for references, _ in given for one in references]
    harmless = [one for _, own in given for one in own]
    counts = (len(alluding), len(harmless), len(unguided()))
    sign = np.repeat([1.0, -1.0, -1.0], counts)

    seen = [*alluding, *harmless, *unguided()]
    return seen, sign, np.repeat([*WEIGHTS.values(), 1.0], counts)


def fitted(
    matrix: Vector, sign: Vector, counts: Vector, penalty: float | Vector = PENALTY
) -> Vector:
    """The weights of least weighted logistic loss with a quadratic penalty, of all signs or of
    each; the last weight is the base.
    """

    def loss(weights: Vector) -> tuple[float, Vector]:
        margin = (matrix @ weights) * sign
        slope = -(counts * sign / (1 + np.exp(margin))) @ matrix
        penalised = penalty * np.append(weights[:-1], 0.0)
        value = (counts * np.logaddexp(0, -margin)).sum() + penalised @ weights / 2
        return float(value), slope + penalised

    start: Any = np.zeros(matrix.shape[1])
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B").x)


def matrix_of(seen: Sequence[frozenset[str]], names: Sequence[str]) -> Vector:
    """[examples, signs + 1]: 1 where a sign is seen; the last column is the base."""
    return np.array([[*(float(name in one) for name in names), 1.0] for one in seen])


def weights(authors: Sequence[str]) -> dict[str, float]:
    """The weights by sign, with `base`."""
    seen, sign, counts = examples(authors)
    told = Counter(name for one, what in zip(seen, sign, strict=True) if what > 0 for name in one)
    # a word of one or two wordings says what they are about
    names = sorted(name for name, n in told.items() if n >= (3 if name[1:2] == ":" else 2))
    *found, base = fitted(matrix_of(seen, names), sign, counts)
    return {**dict(zip(names, map(float, found), strict=True)), "base": float(base)}


def across() -> Iterator[str]:
    """By author, fitted to the others: at some bounds, what is found of references, of harmless
    sentences, and of unguided agents' sentences.
    """
    for author in AUTHORS:
        told = weights([one for one in AUTHORS if one != author])
        odds = [
            np.array([told["base"] + sum(told.get(name, 0.0) for name in one) for one in some])
            for some in (*wordings(author), unguided())
        ]
        yield author
        for bound in (-1.0, -0.5, -0.1, 0.3, 0.7):
            shares = [(some > bound).mean() for some in odds]
            yield f"  {bound:+.1f}: {shares[0]:.2f}, harmless {shares[1]:.3f}, real {shares[2]:.3f}"


def main() -> None:
    """Prints the file, or the figures across authors."""
    if "--across" in sys.argv:
        print("\n".join(across()))
        return

    told = weights(list(AUTHORS))
    print("# Log odds by sign, as `python -m benchmarks.gates.fit_leaks` prints them.")
    print(f"base: {told.pop('base'):.2f}\nsigns:")
    for name, weight in told.items():
        print(f'  "{name}": {weight:.2f}')


if __name__ == "__main__":
    main()
