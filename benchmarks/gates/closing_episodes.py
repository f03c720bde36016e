"""`python -m benchmarks.gates.closing_episodes`: closing words, true and untrue, by a second author
(data/closing_episodes.yaml) and by a stranger who saw the conversations
(data/closing_outsider.yaml), each said at the end of an episode that the expert solved.

And a stranger's words about what the storefront has no tool for (data/closing_cases.yaml, the cases
without a state), said at the end of such episodes: nothing bears them out, so they must not pass.
Trivial baseline: a check that reads no words passes all.
"""

import asyncio
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random

import msgspec

from benchmarks.gates.closing_cases import CASES, Case
from benchmarks.gates.closing_words import LIES, REFUSED, TARGETS, SolvedEpisode, judged
from benchmarks.gates.table import Rate
from synth.envs.bots import expert
from synth.envs.storefront import WORLD
from synth.envs.transcript import perform, play
from synth.schemas import CheckResult, Task
from synth.stats.intervals import clopper_pearson

DATA = Path(__file__).parent / "data"
SECOND, OUTSIDER, LATER = "closing_episodes", "closing_outsider", "closing_later"
LOOKED_AT = 4
"""Of the stranger's texts those were looked at whose task is a multiple of it."""
AUTHORS = {SECOND: "a second author", LATER: "another stranger with conversations"}
ELSEWHERE = "words of no tool's act that pass"
_ENDS = (2, 4, 8, 12, 16, 22, 44)
"""The tasks at whose end a stranger's words are said, in turn."""


class Said(msgspec.Struct, frozen=True):
    """What may be said at the end of a task's episode."""

    task: int
    truths: Sequence[str]
    lies: Sequence[str]


class Author(msgspec.Struct, frozen=True):
    """The texts, and the seed and number of the tasks."""

    seed: int
    episodes: Sequence[Said]
    tasks: int = 48


def author(name: str = SECOND) -> Author:
    """An author's texts, by the name of the file."""
    return msgspec.yaml.decode((DATA / f"{name}.yaml").read_bytes(), type=Author)


@cache
def _tasks(seed: int, count: int) -> Sequence[Task]:
    return WORLD.make_tasks({}, seed, count)


async def judged_texts(
    at: int, seed: int, texts: Sequence[str], *, tasks: int = 48
) -> list[CheckResult]:
    """The verdict on a solved episode with each text at its end."""
    task = _tasks(seed, tasks)[at]
    env = WORLD.open(task.env_config)
    episode = SolvedEpisode(task, await play(env, task, expert("correct"), seed=at), Random(0))

    return [(await perform(env, task, episode.ending(text))).verdict for text in texts]


async def measured() -> Iterator[tuple[str, str, str, CheckResult]]:
    """(whose it is, what it is, the text, the verdict)."""
    found = list[tuple[str, str, str, CheckResult]]()

    for name in (SECOND, OUTSIDER, LATER):
        by = author(name)
        for said in by.episodes:
            seen = "looked at" if said.task % LOOKED_AT == 0 else "left out"
            who = AUTHORS.get(name, f"a stranger with conversations, {seen}")
            for what, texts in ((REFUSED, said.truths), (LIES, said.lies)):
                verdicts = await judged_texts(said.task, by.seed, texts, tasks=by.tasks)
                found += [(who, what, *pair) for pair in zip(texts, verdicts, strict=True)]

    every = msgspec.yaml.decode(CASES.read_bytes(), type=list[Case])
    for at, case in enumerate(case for case in every if case.state is None):
        texts = [re.sub(r"#(\d+)", r"O-\1", text) for text in (*case.truthful, *case.lies)]
        verdicts = await judged_texts(_ENDS[at % len(_ENDS)], author().seed, texts)
        who = "a stranger, other shops"
        found += [(who, ELSEWHERE, *pair) for pair in zip(texts, verdicts, strict=True)]

    return iter(found)


def rows() -> list[Rate]:
    """By author, lies that pass, truths turned away and undefined; a stranger's words about other
    shops.
    """
    wrong, of = Counter[tuple[str, str]](), Counter[tuple[str, str]]()

    for who, what, _, verdict in asyncio.run(measured()):
        pairs = [(ELSEWHERE, verdict.passed is True)] if what == ELSEWHERE else []
        for counted, hit in pairs or judged(what, verdict.passed):
            wrong[who, counted] += hit
            of[who, counted] += 1

    targets = {**TARGETS, ELSEWHERE: "<= 5 %"}
    return [
        Rate(
            f"storefront, {who}",
            "truth of words",
            what,
            wrong[who, what],
            n,
            targets[what],
        )
        for (who, what), n in of.items()
    ]


def main() -> None:
    """Prints the rates; with `texts` what went wrong."""
    for one in rows():
        bound = clopper_pearson(one.hits, one.n, level=0.9)[1]
        print(f"{one.source}: {one.what} {one.hits} of {one.n}, at most {100 * bound:.1f} % (95 %)")

    for who, what, text, verdict in asyncio.run(measured()) if sys.argv[1:] == ["texts"] else ():
        if (what == REFUSED) is not (verdict.passed is True):
            parts = [part.evidence for part in verdict.parts if part.passed is not True]
            print(f"{who}, {what}: {verdict.passed}: {text} {parts}")


if __name__ == "__main__":
    main()
