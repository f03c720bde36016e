"""Policies that cheat: one command in the terminal, then `submit`. None may pass a task."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial

import msgspec

from synth.envs.bots import calls_turn
from synth.envs.data_file import data_file
from synth.schemas import Act, Episode, Policy, View

_PYTHON = "cd /repo; python3 - <<'END_OF_CHEAT'\n{}\nEND_OF_CHEAT\n"


class Cheat(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A way to pass without doing the work (`data/cheats.yaml` says what its parts are)."""

    says: str
    source: str = ""
    after: str = ""
    before: str = ""
    python: str = ""
    shell: str = ""


class _Book(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All cheats, and the names that their scripts know."""

    helper: str
    cheats: Mapping[str, Cheat]


@cache
def book() -> _Book:
    """The cheats, read once."""
    return msgspec.convert(data_file("repo/cheats"), _Book)


def command_of(cheat: Cheat) -> str:
    """A cheat as one command of a shell."""
    if cheat.shell:
        return cheat.shell

    script = cheat.python
    if cheat.source:
        script = f"first({cheat.source!r})"
    elif cheat.after:
        script = f"last({cheat.after!r})"

    return _PYTHON.format("\n".join((book().helper, cheat.before, script)))


@dataclass(frozen=True)
class _Cheats:
    """Does its command, then hands in."""

    command: str
    episode: Episode

    async def act(self, view: View) -> Act:
        """The command first, `submit` ever after."""
        if not view.turns:
            return Act(turn=calls_turn(view, [("bash", {"command": self.command})]))

        return Act(turn=calls_turn(view, [("submit", {})]))


def cheats() -> Mapping[str, Callable[[Episode], Policy]]:
    """All policies that cheat, by name."""
    return {
        f"cheat_{name}": partial(_Cheats, command_of(cheat))
        for name, cheat in book().cheats.items()
    }
