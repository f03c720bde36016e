"""Fits the weights by which a sentence tells what a lesson alone had told: logistic regression,
secrets against harmless turns of several authors, and against sentences of real trajectories under
lessons of other tasks.

Run: `python -m benchmarks.gates.fit_telling > data/leaks/telling_weights.yaml` (needs
../shared/data); with `--across` it prints how each author fares whom the fit has not seen.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random

import msgspec
import numpy as np
import numpy.typing as npt

from benchmarks.gates.arguments import lesson
from benchmarks.gates.fit_leaks import fitted, halved, matrix_of
from benchmarks.gates.honest import planned
from synth.filters.leaks.calibration import Situation
from synth.schemas import Trajectory
from synth.text.leaks.allusion import sentences
from synth.text.leaks.facts import Facts, Shown, facts_of
from synth.text.leaks.scan import authored
from synth.text.leaks.suspicion import sentence_of
from synth.text.leaks.telling import telling_signs

HERE = Path(__file__).parent
FITTED = {
    "author": HERE.parents[1] / "data" / "leaks" / "wordings.yaml",
    "somebody else": HERE / "data" / "leaks_outsider.yaml",
    "a second outsider": HERE / "data" / "leaks_second_outsider.yaml",
    "held out": HERE / "data" / "leaks_held_out.yaml",
}
"""Author -> what is fitted to."""
FOLDERS = (
    "fireact",
    "tau1",
    "tau1_retail",
    "tau2_airline",
    "tau2_retail",
    "toolbench",
    "sweagent_demos",
)
WORLDS, SEED = {"storefront": 120, "sql": 20}, 76
TRAJECTORIES, SENTENCES = 40, 150
"""Of a source, at most."""
TURN, REAL = 2.0, 0.5
"""How much a turn of theirs counts, and a real sentence."""
PENALTY = 3.0
LEAST = 4
"""Turns and sentences in which a sign must stand."""
Signs = frozenset[str]
Vector = npt.NDArray[np.float64]


class Situations(msgspec.Struct, frozen=True):
    """What of a file of wordings is fitted to."""

    situations: Sequence[Situation]


def of_turn(one: Situation, text: str) -> list[Signs]:
    """The signs of each sentence of a turn."""
    shown = Shown()
    for told in (one.system, one.user, one.seen):
        shown.show(told)

    lesson_facts = facts_of(one.lesson)
    return [telling_signs(part, lesson_facts, shown) for part in sentences(text) or [text]]


def by_author(file: Path) -> tuple[list[list[Signs]], list[list[Signs]]]:
    """Secrets and harmless turns."""
    found = msgspec.yaml.decode(file.read_bytes(), type=Situations).situations
    return (
        [of_turn(one, text) for one in found for text in one.secrets],
        [of_turn(one, text) for one in found for text in one.harmless],
    )


def of_real(one: Trajectory, told: Facts) -> Iterator[Signs]:
    """The signs of what an unguided agent wrote, each sentence once."""
    shown, once = Shown(), set[str]()
    for text in (one.system_prompt or "", msgspec.json.encode(one.tools).decode()):
        shown.show(text, said=False)
    for heard in one.opening:
        shown.show(heard.content)

    for turn in one.turns:
        names = {call.name for call in turn.tool_calls}
        texts = [text for text in authored(turn) if text not in names]
        for part in (part for text in texts for part in sentences(text) or [text]):
            if sentence_of(part) not in once:
                once.add(sentence_of(part))
                yield telling_signs(part, told, shown)
        for heard in turn.observations:
            shown.show(heard.content)


@cache
def unguided() -> Mapping[str, list[Signs]]:
    """Sentences of real trajectories and planners, each under the lesson of another task."""
    sources = {name: halved(name, fitted=True) for name in FOLDERS}
    sources |= {world: planned(world, count, seed=SEED) for world, count in WORLDS.items()}
    found: dict[str, list[Signs]] = {}
    for name, every in sources.items():
        whole = [one for one in every if one.turns]
        drawn = Random(4).sample(whole, min(TRAJECTORIES, len(whole)))
        seen = [
            signs
            for one, other in pairwise(drawn)
            if lesson(one) != lesson(other)
            for signs in of_real(one, facts_of(lesson(other)))
        ]
        found[name] = Random(4).sample(seen, min(SENTENCES, len(seen)))

    return found


def weights(secrets: Sequence[list[Signs]], harmless: Sequence[list[Signs]]) -> dict[str, float]:
    """The weights by sign, with `base`."""
    # the secret of a turn of several sentences stands in one of them; nobody knows in which
    told = [signs for turn in secrets if len(turn) == 1 for signs in turn]
    clean = [signs for turn in harmless for signs in turn]
    real = [signs for some in unguided().values() for signs in some]
    seen = [*told, *clean, *real]
    counts = (len(told), len(clean), len(real))
    sign = np.repeat([1.0, -1.0, -1.0], counts)
    how_much = np.repeat([TURN, TURN, REAL], counts)

    stands = Counter(name for one in [*told, *clean] for name in one)
    names = sorted(name for name, n in stands.items() if n >= LEAST)
    *found, base = fitted(matrix_of(seen, names), sign, how_much, PENALTY)
    return {**dict(zip(names, map(float, found), strict=True)), "base": float(base)}


def odds(turn: Sequence[Signs], told: Mapping[str, float]) -> float:
    """The largest log odds of a turn's sentences."""
    return max(told["base"] + sum(told.get(name, 0.0) for name in signs) for signs in turn)


def across() -> Iterator[str]:
    """By author, fitted to the others: the area under the curve, and at bounds what is caught of
    secrets and flagged of harmless turns, and of real sentences.
    """
    files = {name: by_author(file) for name, file in FITTED.items()}
    for name, (secrets, harmless) in files.items():
        others = [of for other, of in files.items() if other != name]
        told = weights([t for s, _ in others for t in s], [t for _, h in others for t in h])
        high = np.array([odds(turn, told) for turn in secrets])
        low = np.array([odds(turn, told) for turn in harmless])
        area = float((high[:, None] > low[None]).mean())
        yield f"{name}: area {area:.3f}"
        for bound in (-2.0, -1.5, -1.0, -0.5, 0.0, 0.5):
            real = {
                source: sum(odds([one], told) > bound for one in some) / max(1, len(some))
                for source, some in unguided().items()
            }
            shares = " ".join(f"{source} {share:.3f}" for source, share in real.items())
            yield (
                f"  {bound:+.1f}: caught {(high > bound).mean():.2f} flagged "
                f"{(low > bound).mean():.2f}; sentences of {shares}"
            )


def main() -> None:
    """Prints the file, or the figures across authors."""
    if "--across" in sys.argv:
        print("\n".join(across()))
        return

    files = [by_author(file) for file in FITTED.values()]
    told = weights([t for s, _ in files for t in s], [t for _, h in files for t in h])
    print("# Log odds by sign, as `python -m benchmarks.gates.fit_telling` prints them.")
    print(f"base: {told.pop('base'):.2f}\nsigns:")
    for name, weight in told.items():
        print(f'  "{name}": {weight:.2f}')


if __name__ == "__main__":
    main()
