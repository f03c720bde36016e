"""What an exploration of a game has achieved, as a goal in words: TextWorld's `WriteGoal`."""

from random import Random

from synth.envs.textworld.commands import Command, read_call, typed
from synth.envs.textworld.config import validated
from synth.envs.textworld.games import made_games
from synth.envs.textworld.wishes import masked, read, told, wish_of
from synth.schemas.reverse import Draft, NoGoal, Operation, Window


def write_goal(window: Window) -> Draft | NoGoal:
    """One sentence per fact that the operations changed for good, in their order.

    What was opened or unlocked while a thing found a new place was a means, and so is where keys
    end up: both are free, unless nothing
    else was done.
    """
    config = validated(window.env_config)
    (made,) = made_games(config, [config.explored_seed])
    keys = {str(info.name) for info in made.game.infos.values() if info.type == "k"}
    last = {path: operation.at for operation in window.operations for path in operation.changed}
    changed = [
        path
        for path in window.end
        if window.start.get(path) != window.end[path] and not path.startswith(("quest/", "player/"))
    ]
    found = {
        path: wish_of(path, window.end[path], window.start.get(path))
        for path in sorted(changed, key=lambda p: (last.get(p, -1), p))
    }
    wishes = {path: wish for path, wish in found.items() if wish is not None}
    ends = {path: wish for path, wish in wishes.items() if not _is_means(wish, keys)}
    asked = ends or wishes
    if not asked:
        return NoGoal("undone_again")
    said = list(dict.fromkeys(asked.values()))
    draw = Random(f"textworld reverse {config.explored_seed} {said}")
    goal = " ".join(told(wish, draw) for wish in said)
    if read(goal) != said:
        return NoGoal("words_read_otherwise")
    eaten = {f"thing/{wish.arguments[0]}/place" for wish in said if wish.tool == "eat"}
    means = [
        path
        for path in window.start
        if path.startswith(("door/", "container/")) and path not in asked
    ]
    means += [f"thing/{key}/place" for key in sorted(keys) if f"thing/{key}/place" not in asked]
    return Draft(
        goal=goal,
        low_level=tuple(_instruction(operation) for operation in window.operations),
        structure=masked(said),
        script={"game": made.digest},
        env_config=config.of_the_game(),
        free=("quest/*/*", *sorted(means), *sorted(eaten)),
        seed=config.explored_seed,
    )


def _is_means(wish: Command, keys: set[str]) -> bool:
    return wish.tool in ("open", "unlock") or wish.arguments[0] in keys


def _instruction(operation: Operation) -> str:
    """What was typed, as a sentence."""
    commands = [
        command
        for call in operation.turn.tool_calls
        if isinstance(command := read_call(call), Command)
    ]
    return " ".join(f"{typed(command).capitalize()}." for command in commands)
