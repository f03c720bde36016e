"""How hard a task is: 0 where a bot without a model mends it."""

import msgspec

from synth.confinement.branches import FileChange
from synth.envs.repo.bots.judging import solves
from synth.envs.repo.bots.repair import BotRepair, by_spectrum, by_text
from synth.envs.repo.bots.wrong import wrong_patches
from synth.envs.repo.honesty.verdict import tells_by_heart
from synth.envs.repo.pool import RepoTask
from synth.envs.repo.starting import RepoSettings
from synth.envs.repo.task_tree import TaskTree

BOTS = {"spectrum": by_spectrum, "text": by_text}
TRIVIAL, OTHERS = 0, 1
MENDED_BY, REFUSED = "mended_by", "wrong_refused"
"""What a graded task says in its `about`: which bots mend it, and of wrong patches how many its
check refuses.
"""
WRONG_PATCHES, WRONG_S = 8, 40.0
"""How many are tried, and how long one may run: some never end."""


class BotResult(msgspec.Struct, frozen=True):
    """Whether a bot's edit passes the check, hidden tests included, and how many it tried for it
    (none where nothing that it sees fails).
    """

    bot: str
    solved: bool
    tried: int = 0


async def results(place: TaskTree, settings: RepoSettings) -> list[BotResult]:
    """What becomes of each bot."""
    return [await _result(name, place, settings) for name in BOTS]


async def _result(name: str, place: TaskTree, settings: RepoSettings) -> BotResult:
    found: BotRepair | None = await BOTS[name](place)
    if found is None:
        return BotResult(name, False)

    edit = FileChange(found.edit.text.encode(errors="surrogateescape"), 0o644)

    return BotResult(name, await solves(place, {found.edit.path: edit}, settings), found.tried)


async def labelled(place: TaskTree, settings: RepoSettings) -> RepoTask:
    """The task with its tier, and in `about` which bots mend it; `by_heart` says that its check
    would take code which has the expected values by heart.
    """
    found = [one for one in await results(place, settings) if one.solved]
    about = {**place.task.about, MENDED_BY: " ".join(one.bot for one in found)}
    if not await tells_by_heart(place, settings):
        about["by_heart"] = "not told"
    tier = TRIVIAL if found else OTHERS

    return msgspec.structs.replace(place.task, tier=tier, about=about)


async def with_wrong_patches(place: TaskTree, settings: RepoSettings) -> RepoTask:
    """The task, with how many of a few wrong patches its check refuses in `about`: `7 of 8`."""
    settings = settings.model_copy(update={"tests_s": min(settings.tests_s, WRONG_S)})
    tried = [changes for _, changes in wrong_patches(place, WRONG_PATCHES)]
    refused = sum([not await solves(place, changes, settings) for changes in tried])
    about = {**place.task.about, REFUSED: f"{refused} of {len(tried)}"}

    return msgspec.structs.replace(place.task, about=about)


def refused_share(task: RepoTask) -> float:
    """Of the wrong patches that a task was tried with, the share that its check refuses; 1 where
    there was none.
    """
    refused, _, tried = task.about[REFUSED].partition(" of ")
    return int(refused) / int(tried) if int(tried) else 1.0
