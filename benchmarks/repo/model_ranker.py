"""A language model as a ranker of repairs: of the edits that the bot by spectrum would try, those
first that make the code around them likelier.
"""

import asyncio
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from benchmarks.repo.bench import Bench, at_least, each
from benchmarks.repo.model_bot import ModelBot, reached
from synth.confinement.branches import FileChange
from synth.envs.repo.bots.judging import solves
from synth.envs.repo.bots.repair import BOTS
from synth.envs.repo.bots.trying import RepairEdit, Spectrum, workshop
from synth.envs.repo.starting import RepoSettings
from synth.envs.repo.task_tree import TaskTree
from synth.models.registry import open_scoring
from synth.schemas import ScoringModel

FIRST = 20
"""Edits that either order may try."""
AROUND = 12
"""Lines before and after an edit that are read with it: about a function."""
GOAL_CHARS = 600
_ASKED = "{}\n\nMend this part of the code."


class Ranked(NamedTuple):
    """What becomes of one task: how many edits there are, the place (from 1) of the first one that
    passes all that an agent sees, in either order, 0 where none does; whether the first few of
    each solve it; and whether there was time to try all.
    """

    edits: int = 0
    by_spectrum: int = 0
    by_model: int = 0
    spectrum_solves: bool = False
    model_solves: bool = False
    all_tried: bool = True


async def ranks(bot: ModelBot, bench: Bench) -> None:
    """How many tasks the first edits of either order solve."""
    with reached(bot) as settings:
        scorer = open_scoring(settings.model_copy(update={"engine": "vllm"}))
        try:
            places = [bench.place(task) for task in bench.tasks]
            found = await each(
                "ranker", places, lambda place: ranked(place, scorer, bench.settings), "tasks"
            )
        finally:
            await scorer.close()

    n, mended = len(found), [one for one in found if one.by_spectrum]
    most = BOTS["spectrum"][1]
    print(f"an edit that passes what is seen, among {most}: {at_least(len(mended), n)}")
    print(f"  tasks with no time to try all: {sum(not one.all_tried for one in found)}")
    for name, solved in (
        ("suspicion", sum(one.spectrum_solves for one in found)),
        (settings.model, sum(one.model_solves for one in found)),
    ):
        print(f"  solved by the first {FIRST} by {name}: {at_least(solved, n)}")
    by_chance = sum(min(1.0, FIRST / one.edits) for one in mended)
    print(
        f"  drawn by chance, the first {FIRST} hold a given edit in {by_chance:.1f} of these tasks"
    )
    shown = ", ".join(f"{one.by_spectrum} {one.by_model} of {one.edits}" for one in mended)
    print(f"  its place by suspicion, and by {settings.model}: {shown}")


async def ranked(place: TaskTree, scorer: ScoringModel, settings: RepoSettings) -> Ranked:
    """Both orders on one task. The model is not asked where none of the edits mends it."""
    order, most = BOTS["spectrum"]
    async with workshop(place) as shop:
        known = await shop.spectrum()
        if known is None or not known.failing:
            return Ranked()
        every = list(islice(await order(shop, known), most))
        texts = {edit.path: (await shop.text(edit.path)).decode() for edit in every}

    first, tried = await _first(place, known, every)
    if first is None:
        return Ranked(len(every), all_tried=tried == len(every))

    likely = await likeliest(scorer, place.task.goal, texts, every)
    theirs, _ = await _first(place, known, likely[:FIRST])
    return Ranked(
        len(every),
        every.index(first) + 1,
        likely.index(theirs or first) + 1,
        first in every[:FIRST] and await _solves(place, first, settings),
        theirs is not None and await _solves(place, theirs, settings),
    )


async def likeliest(
    scorer: ScoringModel, goal: str, texts: dict[str, str], edits: Sequence[RepairEdit]
) -> list[RepairEdit]:
    """Edits by what the logarithm of the probability of the lines around them gains, the most
    first.
    """

    async def probability(text: str) -> float:
        asked = {"role": "user", "content": _ASKED.format(goal[:GOAL_CHARS])}
        scored = await scorer.score([asked, {"role": "assistant", "content": text}], ())
        return sum(token.logprob for token in scored.tokens)

    pairs = [around(texts[edit.path], edit) for edit in edits]
    every = list(dict.fromkeys(text for pair in pairs for text in pair))
    known = dict(zip(every, await asyncio.gather(*map(probability, every)), strict=True))
    gains = [known[after] - known[before] for before, after in pairs]
    order = sorted(range(len(edits)), key=lambda at: -gains[at])
    return [edits[at] for at in order]


def around(text: str, edit: RepairEdit) -> tuple[str, str]:
    """The lines about an edit, before it and after: as many after it as it leaves of them."""
    before, after = text.splitlines(), edit.text.splitlines()
    start, end = max(0, edit.line - 1 - AROUND), min(len(before), edit.line + AROUND)
    longer = len(after) - len(before)
    return "\n".join(before[start:end]), "\n".join(after[start : end + longer])


async def _first(
    place: TaskTree, known: Spectrum, edits: Sequence[RepairEdit]
) -> tuple[RepairEdit | None, int]:
    """The first edit that passes all that an agent sees, and how many were tried."""
    async with workshop(place) as shop:
        tried = await shop.first_repair(known, edits)
    return (edits[tried.found] if tried.found >= 0 else None), tried.tried


async def _solves(place: TaskTree, edit: RepairEdit, settings: RepoSettings) -> bool:
    """Whether it passes the check, hidden tests included."""
    data = edit.text.encode(errors="surrogateescape")
    return await solves(place, {edit.path: FileChange(data, 0o644)}, settings)
