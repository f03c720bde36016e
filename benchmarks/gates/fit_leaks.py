"""Fits the weights by which a sentence alludes to help: logistic regression, wordings of
data/leaks/wordings.yaml against sentences of real trajectories, which nobody guided.

Run: `python -m benchmarks.gates.fit_leaks > data/leaks/weights.yaml` (needs ../shared/data)
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.resources import files
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


def examples() -> tuple[list[frozenset[str]], Vector, Vector]:
    """Signs, +1 or -1, and how much each counts."""
    wordings = msgspec.yaml.decode(WORDINGS.read_bytes())
    alluding = [signs(text) for text in wordings["references"]]
    own = [*wordings["harmless"], *(t for one in wordings["situations"] for t in one["harmless"])]
    harmless = [signs(text) for text in own]
    drawn = list[frozenset[str]]()
    for folder in FOLDERS:
        of_real = [found for one in halved(folder, fitted=True) for found in seen_in(one)]
        drawn += Random(1).sample(of_real, min(SENTENCES, len(of_real)))

    for world, count in WORLDS.items():
        said = {found for one in planned(world, count, seed=SEED) for found in seen_in(one)}
        drawn += sorted(said, key=sorted)[:SENTENCES]

    counts = (len(alluding), len(harmless), len(drawn))
    sign = np.repeat([1.0, -1.0, -1.0], counts)

    return [*alluding, *harmless, *drawn], sign, np.repeat([*WEIGHTS.values(), 1.0], counts)


def fitted(
    matrix: Vector, sign: Vector, counts: Vector, penalty: float | Vector = PENALTY
) -> Vector:
    """The weights of least weighted logistic loss with a quadratic penalty, of all signs or of each;
    the last weight is the base.
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


def main() -> None:
    """Prints the file."""
    seen, sign, counts = examples()
    told = Counter(name for one, what in zip(seen, sign, strict=True) if what > 0 for name in one)
    # a word of one or two wordings says what they are about
    names = sorted(name for name, n in told.items() if n >= (3 if name[1:2] == ":" else 2))
    *found, base = fitted(matrix_of(seen, names), sign, counts)
    print("# Log odds by sign, as `python -m benchmarks.gates.fit_leaks` prints them.")
    print(f"base: {base:.2f}\nsigns:")
    for name, weight in zip(names, found, strict=True):
        print(f'  "{name}": {weight:.2f}')


if __name__ == "__main__":
    main()
