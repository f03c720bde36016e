"""How hard a task is: 0 where a bot without a model mends it."""

import msgspec

from synth.confinement.branches import FileChange
from synth.envs.repo.bots.judging import solves
from synth.envs.repo.bots.repair import BotRepair, by_spectrum, by_text
from synth.envs.repo.honesty.verdict import tells_by_heart
from synth.envs.repo.pool import RepoTask
from synth.envs.repo.starting import RepoSettings
from synth.envs.repo.task_tree import TaskTree

BOTS = {"spectrum": by_spectrum, "text": by_text}
TRIVIAL, OTHERS = 0, 1


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
    about = {**place.task.about, "mended_by": " ".join(one.bot for one in found)}
    if not await tells_by_heart(place, settings):
        about["by_heart"] = "not told"
    tier = TRIVIAL if found else OTHERS

    return msgspec.structs.replace(place.task, tier=tier, about=about)
