"""Tasks: one game each, by seed; the goal is told in words, the check is about the facts that the
game itself counts. Goals of explorations: what they have achieved, in words.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from synth.envs.textworld.commands import (
    Command,
    as_turn,
    read_call,
    typed,
)
from synth.envs.textworld.config import TextWorldConfig, validated
from synth.envs.textworld.games import MadeGame, made_games
from synth.envs.textworld.logic import EATEN, Logic
from synth.envs.textworld.planner import winning
from synth.envs.textworld.wishes import (
    masked,
    read,
    told,
    wish_of,
)
from synth.schemas import Check, Draft, NoGoal, Operation, RowPredicate, Task, ToolCall, Window

FREE = ("player/*/*", "thing/*/*", "door/*/*", "container/*/*")
"""Any way to the goals is right that uses nothing up: food that no goal asks to eat stays uneaten.
"""


def tasks_of(
    name: str,
    config: TextWorldConfig,
    seed: int,
    count: int,
) -> Sequence[Task]:
    """That many tasks, each with its own game; games that are not there yet are made (about a
    second each).
    """

    seeds = [seed * 1_000_003 + number for number in range(count)]
    return [
        _task(
            name,
            config,
            seed,
            game,
        )
        for seed, game in zip(seeds, made_games(config, seeds), strict=True)
    ]


def _task(
    name: str,
    config: TextWorldConfig,
    seed: int,
    made: MadeGame,
) -> Task:
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

    logic = Logic(game)
    calls = [as_turn(one, at).tool_calls[0] for at, one in enumerate(winning(logic))]
    if not logic.won:
        raise RuntimeError("a game without a plan got past its making")
    places = logic.facts().items()
    eaten = [path for path, place in places if path.startswith("thing/") and place == EATEN]

    return tuple(calls), sorted(path.split("/")[1] for path in eaten)


def write_goal(window: Window) -> Draft | NoGoal:
    """One sentence per fact that the operations changed for good, in their order.

    What was opened or unlocked while a thing found a new place was a means, and so is where keys
    end up: both are free, unless nothing else was done.
    """

    config = validated(window.env_config)
    (made,) = made_games(config, [config.explored_seed])
    keys = {str(info.name) for info in made.game.infos.values() if info.type == "k"}
    asked = _asked(window, keys)
    if not asked:
        return NoGoal("undone_again")

    said = list(dict.fromkeys(asked.values()))
    draw = Random(f"textworld reverse {config.explored_seed} {said}")
    goal = " ".join(told(wish, draw) for wish in said)
    if read(goal) != said:
        return NoGoal("words_read_otherwise")

    return Draft(
        goal=goal,
        low_level=tuple(_instruction(operation) for operation in window.operations),
        structure=masked(said),
        script={"game": made.digest},
        env_config=config.of_the_game(),
        free=("quest/*/*", *_means(window, keys, asked)),
        seed=config.explored_seed,
    )


def _means(window: Window, keys: set[str], asked: Mapping[str, Command]) -> list[str]:
    """What no wish is about: doors and lids, where keys lie; and where food was that is eaten."""

    shut = [path for path in window.start if path.startswith(("door/", "container/"))]
    lying = [f"thing/{key}/place" for key in keys]
    means = [path for path in (*shut, *lying) if path not in asked]
    food = {wish.arguments[0] for wish in asked.values() if wish.tool == "eat"}

    return [*sorted(means), *sorted(f"thing/{name}/place" for name in food)]


def _asked(window: Window, keys: set[str]) -> dict[str, Command]:
    """The wishes that the changes of a window stand for, by path; ends alone, where there are
    any.
    """

    last = {path: operation.at for operation in window.operations for path in operation.changed}
    wishes = {}
    for path in sorted(window.end, key=lambda path: (last.get(path, -1), path)):
        before, after = window.start.get(path), window.end[path]
        if before != after and not path.startswith(("quest/", "player/")):
            wish = wish_of(path, after, before)
            if wish is not None:
                wishes[path] = wish

    ends = {
        path: wish
        for path, wish in wishes.items()
        if wish.tool not in ("open", "unlock") and wish.arguments[0] not in keys
    }

    return ends or wishes


def _instruction(operation: Operation) -> str:
    """What was typed, as a sentence."""

    commands = [
        command
        for call in operation.turn.tool_calls
        if isinstance(command := read_call(call), Command)
    ]
    return " ".join(f"{typed(command).capitalize()}." for command in commands)
