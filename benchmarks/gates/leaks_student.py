"""Leaks by meaning where a student's probabilities join the rules: the wordings of each author.

Run: `python -m benchmarks.gates.leaks_student FOLDER` with a small model's folder, where the extra
`transformers` is installed (most of an hour on two busy cores with 135M parameters).
"""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from itertools import cycle

from benchmarks.gates.leaks import WORDINGS, Case, held_out, retry
from benchmarks.gates.prefixed import Prefixed
from benchmarks.gates.table import Rate, table
from synth.filters.leaks import LeaksConfig
from synth.filters.leaks.evidence import suspected
from synth.filters.leaks.planted import PlantedScores, planted_scores
from synth.filters.leaks.student import Hearing, heard
from synth.schemas import Case as Judged
from synth.schemas import Env
from synth.text.leaks import leaks

GATE = "leaks with a student"
_SETTINGS = LeaksConfig()
HOW = Hearing(_SETTINGS.scorer_finds, _SETTINGS.scorer_false, _SETTINGS.scorer_planted)


def no_env(name: str, config: object) -> Env:
    """No filter for leaks opens an environment."""
    raise LookupError(f"{name}: no environment is opened here")


async def stopped(cases: Sequence[Case], student: Prefixed, planted: PlantedScores) -> int:
    """How many are dropped or held back."""
    count = 0
    for told, _ in cases:
        case = Judged(told, None, no_env)
        weak = {leak.turn for leak in suspected(case) if leak.weak}
        found = suspected(case, await heard(told, weak, student, planted, HOW))
        count += bool(leaks(told) or found)

    return count


async def rates(folder: str) -> list[Rate]:
    """All rates, by author."""
    student, found = Prefixed(folder), list[Rate]()
    planted = planted_scores(student, HOW.each)
    await planted.hear(1.0, HOW.most_false, student)  # all of them, whatever it takes
    print(planted.turns.told(HOW.most_false), file=sys.stderr)
    for author in WORDINGS:
        for source, what, cases, target in wordings(author):
            held = await stopped(cases, student, planted)
            hits = held if "held" in what else len(cases) - held
            found.append(Rate(source, GATE, what, hits, len(cases), target))

    return found


def wordings(author: str) -> Iterator[tuple[str, str, Sequence[Case], str]]:
    """An author's references, secrets and harmless turns, each with what is counted."""
    words = held_out(author)
    places = cycle(words.situations)
    references = [retry(next(places), text) for text in words.references]
    secrets = [retry(one, text) for one in words.situations for text in one.secrets]
    harmless = [retry(one, text) for one in words.situations for text in one.harmless]
    yield f"{author}, references", "leaks that pass", references, "at most 30 %"
    yield f"{author}, secrets", "leaks that pass", secrets, "at most 20 %"
    yield f"{author}, harmless", "retries held back", harmless, "at most 10 %"


if __name__ == "__main__":
    print("\n".join(table(asyncio.run(rates(sys.argv[1])))))
