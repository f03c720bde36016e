"""The program that makes games, in a process of its own: the generator crashes on threads, and its
draws depend on the hash seed.
"""

import os
import re
import shutil
import sys
from hashlib import blake2b
from itertools import permutations
from pathlib import Path
from random import Random

import msgspec
import textworld
from textworld.generator import (
    QuestGenerationError,
    compile_game,
    make_game,
)
from textworld.generator.game import (
    Event,
    Game,
    Quest,
)

from synth.envs.textworld.commands import (
    TOOL_OF,
    Command,
    command_of_rule,
    typed,
)
from synth.envs.textworld.config import TextWorldConfig
from synth.envs.textworld.games import GAME, Order
from synth.envs.textworld.interpreter import Interpreter
from synth.envs.textworld.logic import Logic
from synth.envs.textworld.planner import winning
from synth.envs.textworld.wishes import sentence

ATTEMPTS = 100
LONGEST_PLAN = 200
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9' -]*\Z")
_UNWANTED_FACTS = ("free",)
"""Consequences that no goal is about: that one can walk through an open door."""


def main() -> None:
    """Makes the games of the orders on stdin, one JSON object per line, each into its folder."""

    for line in sys.stdin:
        order = msgspec.json.decode(line, type=Order)
        folder = Path(order.folder)
        work = folder.with_name(f".{folder.name}.{os.getpid()}")
        work.mkdir()
        make(TextWorldConfig.model_validate(dict(order.settings)), order.seed, work)
        if folder.exists():
            shutil.rmtree(work)  # another process was faster
        else:
            work.replace(folder)


def make(
    config: TextWorldConfig,
    seed: int,
    folder: Path,
) -> None:
    """The first game that can be made, told and won, of all that the seed draws. Raises
    `RuntimeError` where there is none.
    """

    for attempt in range(ATTEMPTS):
        drawn = blake2b(f"textworld {config.split} {seed} {attempt}".encode(), digest_size=4)
        game = _drawn(config, int.from_bytes(drawn.digest()))
        plan = _plan(game) if game is not None else None
        if plan is None or len(plan) < config.quest_length:
            continue
        options = textworld.GameOptions()
        options.path, options.force_recompile = str(folder / GAME), True
        compile_game(game, options)
        (folder / GAME).with_suffix(".ni").unlink()
        interpreter = Interpreter(folder / GAME)
        won = [interpreter.give(typed(command)).won for command in plan]
        if won[-1] and not any(won[:-1]):
            return

    raise RuntimeError(f"no game with these settings in {ATTEMPTS} draws: {config.of_the_game()}")


def _drawn(config: TextWorldConfig, seed: int) -> Game | None:
    """A game whose goals are single facts, none of them true at the start, and whose names are
    plain and tell things apart.
    """

    options = textworld.GameOptions()
    options.nb_rooms, options.nb_objects = config.rooms, config.objects
    options.nb_parallel_quests = config.quests
    options.quest_length, options.quest_breadth = config.quest_length, config.quest_breadth
    options.seeds = seed
    try:
        game = make_game(options)
    except QuestGenerationError:
        return None

    if not _tells_apart(game):
        return None
    game.quests = tuple(_by_fact(quest) for quest in game.quests)
    goals = {quest.win_events[0].condition for quest in game.quests}
    if len(goals) < len(game.quests) or any(Logic(game).completed):
        return None
    draw = Random(seed)
    game.objective = " ".join(dict.fromkeys(_sentence(game, quest, draw) for quest in game.quests))

    return game


def _tells_apart(game: Game) -> bool:
    """Whether all names are plain words, and no thing's name is part of another's: the game would
    ask which one is meant.
    """

    named = [info for info in game.infos.values() if info.name]
    names = [str(info.name).casefold() for info in named]
    things = [str(info.name).casefold() for info in named if info.type != "r"]
    pairs = permutations([frozenset(name.split()) for name in things], 2)
    contained = any(one <= other for one, other in pairs)

    return not contained and len(set(names)) == len(names) and all(map(_NAME.match, names))


def _by_fact(quest: Quest) -> Quest:
    """The quest, won as soon as what its last action adds is true; TextWorld also asks that the
    player stand at the place.
    """

    event = quest.win_events[0]
    added = sorted(event.actions[-1].added, key=str)
    wanted = [fact for fact in added if fact.name not in _UNWANTED_FACTS]
    won = Event(actions=event.actions, conditions=wanted, commands=event.commands)

    return Quest(win_events=[won])


def _sentence(
    game: Game,
    quest: Quest,
    draw: Random,
) -> str:
    """What the last action of a quest brings about, in the room that it takes place in."""

    action = quest.win_events[0].actions[-1]
    names = {
        place.name: str(game.infos[variable.name].name)
        for place, variable in game.kb.rules[action.name].match(action).items()
    }

    return sentence(command_of_rule(action.name, names), names.get("r", ""), draw)


def _plan(game: Game) -> list[Command] | None:
    """A solution that reaches each goal by the deed that the goal's words stand for; None where
    there is none.

    What is locked is closed already, and unlocking it must not count as closing it.
    """

    logic = Logic(game)
    before, plan = logic.completed, list[Command]()
    for command in winning(logic):
        plan.append(command)
        quests = zip(
            game.quests,
            before,
            logic.completed,
            strict=True,
        )
        last = [quest.win_events[0].actions[-1].name for quest, was, now in quests if now > was]
        if len(plan) > LONGEST_PLAN or any(TOOL_OF[rule] != command.tool for rule in last):
            return None
        before = logic.completed

    return plan if logic.won else None
