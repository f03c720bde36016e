"""Contamination by meaning: paraphrases that pass, tasks with other entities that pass, unrelated
pairs of one domain that are taken for one; exact 13-grams beside.

Run: `python -m benchmarks.gates.contamination [--meaning sentences]`
"""

import argparse
from collections.abc import Sequence
from importlib import import_module
from itertools import combinations
from typing import Any

import msgspec
import numpy as np

from benchmarks.gates.arguments import MISSES, shown
from benchmarks.gates.honest import DATA as HERE
from benchmarks.gates.table import Rate
from benchmarks.real_trajectories import DATA, imported
from synth.envs.registry import ENVS
from synth.envs.world import EnvEntry
from synth.filters.contamination_documents import Documents
from synth.importers.records import Imported
from synth.schemas import Source, Trajectory
from synth.text.paraphrase.index import Embed, Paraphrases, apart
from synth.topology.embeddings import SentenceEncoder

REAL = ("tau1", "tau1_retail", "tau2_airline", "tau2_retail")
WORLDS = ("storefront", "sql")
TASKS = 60
LEAST_WORDS = 15
"""Of what a person said in an episode: fewer do not say the task."""


class Pairs(msgspec.Struct, frozen=True):
    """Written by hand: (a benchmark's task, the same in other words or of other entities)."""

    paraphrases: list[tuple[str, str]]
    swapped: list[tuple[str, str]]


def by_hand() -> Pairs:
    """Those of data/paraphrases.yaml."""
    return msgspec.yaml.decode((HERE / "paraphrases.yaml").read_bytes(), type=Pairs)


def spoken(one: Trajectory) -> str:
    """All that persons said in an episode: the task in the words of whoever played the user."""
    heard = [*one.opening, *(told for turn in one.turns for told in turn.observations)]
    return "\n".join(told.content for told in heard if told.source is Source.USER)


def real_tasks(folder: str) -> dict[str, str]:
    """Goal -> what persons said in the first episode about it."""
    found: dict[str, str] = {}
    for entry in imported([DATA / folder]):
        if isinstance(entry, Imported) and entry.task.goal:
            found.setdefault(entry.task.goal, spoken(entry.trajectory))

    return found


def goals(world: str) -> list[str]:
    """Goals of a world's tasks."""
    module, attribute = ENVS[world].split(":")
    entry: EnvEntry = getattr(import_module(module), attribute)
    return list(dict.fromkeys(task.goal for task in entry.make_tasks({}, 91, TASKS)))


def exact(document: str, text: str) -> bool:
    """The trivial gate: 13 words in a row."""
    documents = Documents(13, 10)
    documents.add("b", document)
    return documents.same(text) is not None or bool(documents.repeated([text]))


def missed(
    source: str, pairs: Sequence[tuple[str, str]], index: Paraphrases, target: str
) -> list[Rate]:
    """Of pairs (document, the same in other words), how many pass."""
    passed = sum(index.nearest(text) is None for _, text in pairs)
    trivial = sum(not exact(document, text) for document, text in pairs)

    return [
        Rate(source, "contamination", MISSES, passed, len(pairs), target),
        Rate(source, "13-grams (trivial)", MISSES, trivial, len(pairs), ""),
    ]


def alarms(
    source: str, texts: Sequence[str], index: Paraphrases, embed: Embed | None
) -> list[Rate]:
    """Of unrelated pairs of one domain, how many reach the threshold; and of texts that are set
    against all others that they have nothing to do with, how many are taken for one of these.
    """
    pairs = [(a, b) for a, b in combinations(texts, 2) if apart(a, b)]
    hits = sum(index.score(a, b) >= index.threshold for a, b in pairs)
    taken = 0

    for text in texts:
        others = [("b", other) for other in texts if other != text and apart(other, text)]
        taken += Paraphrases(others, unrelated=0.01, embed=embed).nearest(text) is not None

    return [
        Rate(source, "contamination", "false alarms, pairs", hits, len(pairs), "at most 1 %"),
        Rate(source, "contamination", "false alarms, tasks", taken, len(texts), ""),
    ]


def encoder(meaning: str) -> Embed | None:
    """The sentence encoder, each text once; None for words."""
    if meaning == "words":
        return None

    encode, kept = SentenceEncoder(), dict[str, Any]()

    def embed(texts: Sequence[str]) -> Any:
        new = [text for text in dict.fromkeys(texts) if text not in kept]
        kept.update(zip(new, encode(new), strict=True) if new else ())
        return np.stack([kept[text] for text in texts])

    return embed


def rows(meaning: str = "words") -> list[Rate]:
    """All rates; the threshold is measured on each set's own documents."""
    embed = encoder(meaning)
    real = {name: real_tasks(name) for name in REAL} if DATA.is_dir() else {}
    domain = [("tau", goal) for tasks in real.values() for goal in tasks]
    found = _by_hand(domain, embed)

    for name, tasks in real.items():
        index = Paraphrases([(name, goal) for goal in tasks], unrelated=0.01, embed=embed)
        said = [pair for pair in tasks.items() if len(pair[1].split()) >= LEAST_WORDS]
        found += missed(f"{name}, users' words", said, index, "at most 1 in 3")
        found += alarms(name, list(tasks), index, embed)

    for world in WORLDS:
        texts = goals(world)
        index = Paraphrases([(world, goal) for goal in texts], unrelated=0.01, embed=embed)
        found += alarms(world, texts, index, embed)

    return found


def _by_hand(domain: Sequence[tuple[str, str]], embed: Embed | None) -> list[Rate]:
    """The pairs by hand, their documents among those of real benchmarks."""
    pairs, found = by_hand(), list[Rate]()

    for what, target in (("paraphrases", "at most 4 of 12"), ("swapped", "0")):
        chosen = getattr(pairs, what)
        documents = [*(("b", one) for one, _ in chosen), *domain]
        index = Paraphrases(documents, unrelated=0.01, embed=embed)
        found += missed(f"by hand, {what}", chosen, index, target)

    return found


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gates.contamination")
    parser.add_argument("--meaning", choices=("words", "sentences"), default="words")
    print("\n".join(shown(rows(parser.parse_args().meaning))))


if __name__ == "__main__":
    main()
