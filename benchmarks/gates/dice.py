"""A world whose truth is known: take one of three ways, then roll. What a way is worth depends on
the task (`spread`), and on the way itself (`gap`) in a share of the tasks (`real`).
"""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from synth import BranchPoint, Proposal, Study, Task, ToolEnv, Trials, Unit, synthesizer, tool
from synth.engine.study.alternatives import Ask
from synth.envs.tool_env import Require, world_of
from synth.policies.chance import turn_draws
from synth.schemas import Act, AgentTurn, Authorship, Episode, Policy, PolicySpec, ToolCall, View

NAME = "benchmarks.gates.dice:WORLD"
POLICY = "benchmarks.gates.dice:roller"
STUDY = "benchmarks.gates.dice:OtherWays"
OWN, OTHERS = "left", ("right", "up", "down", "back")
SIDES = 1000
SETTINGS = ("base", "spread", "gap", "real")


class Dice(ToolEnv):
    """Take a way (left, right, up, down or back), then roll."""

    version, licence, name = "1", "Apache-2.0", NAME

    base: float = 0.5
    spread: float = 0.0
    gap: float = 0.0
    real: float = 1.0

    def start(self, task: Task | None) -> str:
        """Begins before the choice of a way."""
        self.way, self.won, self.number = "", False, task.seed if task else 0
        return f"Win game {self.number}."

    @tool
    def take(self, way: str) -> str:
        """Take a way."""
        self.way = way
        return "taken"

    @tool
    def roll(self, number: int) -> str:
        """Roll the dice."""
        self.won = number < SIDES * chance(
            {name: getattr(self, name) for name in SETTINGS}, self.number, self.way
        )
        return "rolled"

    def tasks(self, seed: int, count: int) -> Sequence[Task]:
        """Games by number."""
        numbers = range(1000 * seed, 1000 * seed + count)
        return [
            Task.new(self, one, f"Win game {one}.", Require("won", True), free=("way",))
            for one in numbers
        ]


def chance(settings: Mapping[str, float], game: int, way: str) -> float:
    """Of winning a game by a way: half of the games are easy, half hard; where acts matter, the own
    way is `gap` / 2 below the game's chance, the first of the others as much above it.
    """
    random = Random(f"game {game}")
    easy, matters = random.random() < 0.5, random.random() < settings["real"]
    middle = settings["base"] + (settings["spread"] if easy else -settings["spread"])
    shift = {OWN: -0.5, OTHERS[0]: 0.5}.get(way, -0.5) if matters else 0.0
    return middle + shift * settings["gap"]


WORLD = world_of(Dice)


class _Roller:
    """Goes its own way, then rolls what it draws."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode

    async def act(self, view: View) -> Act:
        """Its turn."""
        if not view.turns:
            return Act(turn=called("take", f'{{"way": "{OWN}"}}'))
        if len(view.turns) > 1:
            return Act(turn=AgentTurn(content="Done."))
        number = turn_draws(self._episode, view).randrange(SIDES)
        return Act(turn=called("roll", f'{{"number": {number}}}'))


def called(name: str, arguments: str) -> AgentTurn:
    """A turn with one call."""
    return AgentTurn(tool_calls=(ToolCall.received("c", name, arguments),))


def roller(
    settings: Mapping[str, Any], *, model_name: str | None, sampling: Mapping[str, Any]
) -> PolicySpec:
    """The policy."""

    def opened(episode: Episode) -> Policy:
        return _Roller(episode)

    return PolicySpec(
        name="roller", authorship=Authorship.SCRIPTED, identity={"policy": "roller"}, open=opened
    )


@synthesizer("other_ways")
class OtherWays(Study):
    """Tests other ways against the own one, in every trial."""

    ways: int = 1
    control_share: float = 0.05

    def plan(self, base: Trials) -> Iterator[Unit]:
        """The first turn of every trial, whatever it came to."""
        for trial in base:
            yield Unit(BranchPoint(trial, turn=0))

    async def propose(self, unit: Unit, ask: Ask) -> Sequence[Proposal]:
        """The other ways."""
        return [
            Proposal(called("take", f'{{"way": "{way}"}}'), "rule") for way in OTHERS[: self.ways]
        ]
