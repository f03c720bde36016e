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
from typing import Any

import msgspec
import textworld
from textworld.generator import QuestGenerationError, compile_game, make_game
from textworld.generator.game import Event, Game, Quest

from synth.envs.textworld.commands import BY_RULE, Command, command_of_rule, typed
from synth.envs.textworld.config import TextWorldConfig
from synth.envs.textworld.games import GAME, Order
from synth.envs.textworld.goals import sentence
from synth.envs.textworld.interpreter import Interpreter
from synth.envs.textworld.logic import Logic
from synth.envs.textworld.planner import Planner

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


def make(config: TextWorldConfig, seed: int, folder: Path) -> None:
    """The first game that can be made, told and won, of all that the seed draws. Raises
    `RuntimeError` where there is none.
    """
    for attempt in range(ATTEMPTS):
        game = _drawn(
            config,
            int.from_bytes(
                blake2b(
                    f"textworld {config.split} {seed} {attempt}".encode(), digest_size=4
                ).digest()
            ),
        )
        plan = _plan(game) if game is not None else None
        if plan is None or len(plan) < config.quest_length:
            continue
        options = textworld.GameOptions()
        options.path, options.force_recompile = str(folder / GAME), True
        compile_game(game, options)
        (folder / GAME).with_suffix(".ni").unlink()
        interpreter = Interpreter(folder / GAME)
        if [interpreter.give(typed(command)).won for command in plan] == [False] * (
            len(plan) - 1
        ) + [True]:
            return
    raise RuntimeError(f"no game with these settings in {ATTEMPTS} draws: {config.of_the_game()}")


def _drawn(config: TextWorldConfig, seed: int) -> Game | None:
    """A game whose goals are single facts, none of them true at the start, and whose names are
    plain and tell things apart.
    """
    options = textworld.GameOptions()
    options.nb_rooms, options.nb_objects, options.nb_parallel_quests = (
        config.rooms,
        config.objects,
        config.quests,
    )
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
    names = [str(info.name) for info in game.infos.values() if info.name]
    words = [
        frozenset(str(info.name).casefold().split())
        for info in game.infos.values()
        if info.name and info.type != "r"
    ]
    contained = any(one <= other for one, other in permutations(words, 2))
    return (
        not contained
        and len({name.casefold() for name in names}) == len(names)
        and all(map(_NAME.match, names))
    )


def _by_fact(quest: Quest) -> Quest:
    """The quest, won as soon as what its last action adds is true; TextWorld also asks that the
    player stand at the place.
    """
    event = quest.win_events[0]
    wanted = [fact for fact in event.actions[-1].added if fact.name not in _UNWANTED_FACTS]
    return Quest(
        win_events=[
            Event(
                actions=event.actions, conditions=sorted(wanted, key=str), commands=event.commands
            )
        ]
    )


def _sentence(game: Game, quest: Quest, draw: Random) -> str:
    action = quest.win_events[0].actions[-1]
    return sentence(*_last_command(game, action), draw)


def _last_command(game: Game, action: Any) -> tuple[Command, str]:
    """An action as a command, and the room that it takes place in."""
    names = {
        place.name: str(game.infos[variable.name].name)
        for place, variable in game.kb.rules[action.name].match(action).items()
    }
    return command_of_rule(action.name, names), names.get("r", "")


def _plan(game: Game) -> list[Command] | None:
    """A solution that reaches each goal by the deed that the goal's words stand for; None where
    there is none.

    What is locked is closed already, and unlocking it must not count as closing it.
    """
    logic, planner = Logic(game), Planner(game)
    plan: list[Command] = []
    while not logic.won:
        deed = planner.next_deed(logic.deeds)
        if deed is None or len(plan) == LONGEST_PLAN:
            return None
        before = logic.completed
        plan.append(logic.command(deed))
        logic.do(deed)
        reached = [
            quest
            for quest, was, now in zip(game.quests, before, logic.completed, strict=True)
            if now > was
        ]
        if any(
            BY_RULE[quest.win_events[0].actions[-1].name][0] != plan[-1].tool for quest in reached
        ):
            return None
    return plan
