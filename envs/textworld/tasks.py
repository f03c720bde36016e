"""Tasks: one game each, by seed; the goal is told in words, the check is about the facts that the
game itself counts.
"""

from collections.abc import Sequence
from typing import Any

from synth.envs.textworld.commands import as_turn
from synth.envs.textworld.config import TextWorldConfig
from synth.envs.textworld.games import MadeGame, made_games
from synth.envs.textworld.logic import EATEN, Logic
from synth.envs.textworld.planner import Planner
from synth.schemas.check import Check, RowPredicate
from synth.schemas.task import Task
from synth.schemas.trajectory import ToolCall

FREE = ("player/*/*", "thing/*/*", "door/*/*", "container/*/*")
"""Any way to the goals is right that uses nothing up: food that no goal asks to eat stays uneaten.
"""


def tasks_of(name: str, config: TextWorldConfig, seed: int, count: int) -> Sequence[Task]:
    """That many tasks, each with its own game; games that are not there yet are made (about a
    second each).
    """
    seeds = [seed * 1_000_003 + number for number in range(count)]
    return [
        _task(name, config, seed, game)
        for seed, game in zip(seeds, made_games(config, seeds), strict=True)
    ]


def _task(name: str, config: TextWorldConfig, seed: int, made: MadeGame) -> Task:
    gold, eaten = _walkthrough(made.game)
    required = [
        RowPredicate("quest", {"id": str(number), "completed": True})
        for number in range(len(made.game.quests))
    ]
    required += [RowPredicate("food", {"id": food, "eaten": True}) for food in eaten]
    return Task.identified(
        env=name,
        env_config=config.of_the_game(),
        goal=made.game.objective,
        seed=seed,
        check=Check(required=tuple(required), free=FREE, protected=("quest/*/*", "food/*/*")),
        gold=gold,
        script={"game": made.digest},
        split=config.split if config.split == "held_out" else None,
        difficulty={**config.model_dump(exclude={"split", "explored_seed"}), "turns": len(gold)},
    )


def _walkthrough(game: Any) -> tuple[tuple[ToolCall, ...], list[str]]:
    """The planner's own solution, and the food that it eats."""
    logic, planner = Logic(game), Planner(game)
    calls: list[ToolCall] = []
    while not logic.won:
        deed = planner.next_deed(logic.deeds)
        if deed is None:
            raise RuntimeError("a game without a plan got past its making")
        calls.append(as_turn(logic.command(deed), len(calls)).tool_calls[0])
        logic.do(deed)
    places = logic.facts()
    return tuple(calls), sorted(
        path.split("/")[1]
        for path, place in places.items()
        if path.startswith("thing/") and place == EATEN
    )
