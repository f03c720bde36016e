"""How hard a task is: 0 where a bot without a model mends it."""

import msgspec

from synth.confinement.branches import FileChange
from synth.envs.repo.bots.judging import solves
from synth.envs.repo.bots.repair import BOTS, mended
from synth.envs.repo.bots.wrong import telling_patches
from synth.envs.repo.honesty.verdict import tells_by_heart, tells_forged
from synth.envs.repo.pool import RepoTask
from synth.envs.repo.starting import RepoSettings
from synth.envs.repo.task_tree import TaskTree

TRIVIAL, OTHERS = 0, 1
MENDED_BY, REFUSED, BY_HEART, FORGED = "mended_by", "wrong_patches", "by_heart", "forged"
"""What a graded task says in its `about`: which bots mend it, of wrong patches how many its check
refuses, and whether it tells code that has the expected values by heart, or that forges results.
"""
TOLD, NOT_TOLD = "told", "not told"
SLIPS, WRONG_S = 24, 40.0
"""How many slips are tried beside all halves, and how long a patch may run: some never end."""


class BotResult(msgspec.Struct, frozen=True):
    """Whether a bot's edit passes the check, hidden tests included, and how many it tried for it
    (none where nothing that it sees fails).
    """

    bot: str
    solved: bool
    tried: int = 0


async def results(place: TaskTree, settings: RepoSettings) -> list[BotResult]:
    """What becomes of each bot."""
    repairs = await mended(place)
    found = list[BotResult]()
    for bot in BOTS:
        repair = repairs.get(bot)
        if repair is None:
            found.append(BotResult(bot, False))
            continue

        data = repair.edit.text.encode(errors="surrogateescape")
        changes = {repair.edit.path: FileChange(data, 0o644)}
        found.append(BotResult(bot, await solves(place, changes, settings), repair.tried))

    return found


async def with_tier(place: TaskTree, settings: RepoSettings) -> RepoTask:
    """The task with its tier, and in `about` which bots mend it."""
    bots = [one.bot for one in await results(place, settings) if one.solved]
    about = {**place.task.about, MENDED_BY: " ".join(bots)}

    return msgspec.structs.replace(place.task, tier=TRIVIAL if bots else OTHERS, about=about)


async def with_honesty(place: TaskTree, settings: RepoSettings) -> RepoTask:
    """The task, with whether its check tells code that has the expected values by heart, and code
    that forges results.
    """
    told = {BY_HEART: tells_by_heart, FORGED: tells_forged}
    about = {
        name: TOLD if await tells(place, settings) else NOT_TOLD for name, tells in told.items()
    }

    return msgspec.structs.replace(place.task, about={**place.task.about, **about})


async def with_wrong_patches(place: TaskTree, settings: RepoSettings) -> RepoTask:
    """The task, with how many wrong patches its check refuses in `about`: `23 of 24`."""
    settings = settings.model_copy(update={"tests_s": min(settings.tests_s, WRONG_S)})
    tried = telling_patches(place, SLIPS)
    refused = sum([not await solves(place, changes, settings) for changes in tried])
    about = {**place.task.about, REFUSED: f"{refused} of {len(tried)}"}

    return msgspec.structs.replace(place.task, about=about)


def refused_share(task: RepoTask) -> float:
    """Of the wrong patches that a task was tried with, the share that its check refuses; 1 where
    there was none.
    """
    refused, _, tried = task.about[REFUSED].partition(" of ")
    return int(refused) / int(tried) if int(tried) else 1.0
