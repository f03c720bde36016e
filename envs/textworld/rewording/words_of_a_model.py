"""A model's words for a goal that rules wrote: accepted where they are read as its wishes."""

from collections.abc import Sequence

from msgspec.structs import replace

from synth.envs.textworld.commands import Command
from synth.envs.textworld.config import validated
from synth.envs.textworld.games import made_games
from synth.envs.textworld.rewording.reader import Kinds, read
from synth.envs.textworld.wishes import read as read_own
from synth.schemas import Draft

_LONGEST = 60
"""Words of one wish."""


def kinds_of(draft: Draft) -> Kinds:
    """The things of a draft's game by their names."""
    config, seed = validated(draft.env_config or {}), draft.seed or 0
    (made,) = made_games(config, [seed])
    return {str(info.name): str(info.type) for info in made.game.infos.values() if info.name}


def reworded(draft: Draft, lines: Sequence[str]) -> Draft:
    """The draft with its wishes in other words. Raises `ValueError` where these are read as others,
    or as none.
    """
    wishes, kinds = read_own(draft.goal), kinds_of(draft)
    said = [" ".join(line.split()) for line in lines]
    worded = " ".join(line if line[-1:] in ".!?" else f"{line}." for line in said if line)

    if len(worded.split()) > _LONGEST * len(wishes):
        raise ValueError(f"more than {_LONGEST} words for each wish")

    got = read(worded, kinds)
    if got == wishes:
        return replace(draft, worded=worded)

    names = [name for wish in wishes for name in wish.arguments]
    lacking = [name for name in names if name.casefold() not in worded.casefold()]
    wanted, read_as = ("; ".join(map(_said, some)) or "nothing" for some in (wishes, got))
    why = f"it does not name: {', '.join(lacking)}" if lacking else f"it is read as: {read_as}"
    raise ValueError(f"{why}; it is to say, one sentence each: {wanted}")


def _said(wish: Command) -> str:
    return f"{wish.tool} {' / '.join(wish.arguments)}"
