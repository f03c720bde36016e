"""The logical state of a game, kept beside its interpreter: facts, what can be done, which goals
have been reached.
"""

from collections.abc import Sequence
from typing import Any

from textworld.generator.game import Game

from synth.envs.textworld.commands import Command, command_of_rule
from synth.schemas import Scalar

Deed = tuple[str, dict[str, str]]
"""An action by its rule and the variable that stands for each placeholder."""
CARRIED, EATEN = "carried", "eaten"


class Logic:
    """The facts of one episode. A goal once reached stays reached, as the game counts it."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.deeds: list[Deed] = []
        self._state = game.world.state.copy()
        self._names = {key: str(info.name) for key, info in game.infos.items() if info.name}
        self.kinds = {str(one.name): str(one.type) for one in game.infos.values() if one.name}
        """Names of things and rooms -> their types."""
        self.completed = [quest.is_winning(self._state) for quest in game.quests]
        self._possible: dict[Command, Deed] | None = None
        self._visible: dict[str, str] | None = None

    @property
    def won(self) -> bool:
        """Whether every goal has been reached."""
        return all(self.completed)

    def in_sight(self, name: str) -> str | None:
        """The full name of the thing here or in the hands that is called so, in whatever case; None
        where there is none.
        """

        if self._visible is None:
            self._visible = {
                found.casefold(): found for found in map(self._names.__getitem__, self._seen_here())
            }

        return self._visible.get(name.casefold())

    def _seen_here(self) -> set[str]:
        """What lies in the room, on its furniture and in its open containers, what is carried, and
        the room's doors.
        """

        facts = [
            (fact.name, *(argument.name for argument in fact.arguments))
            for fact in self._state.facts
        ]
        room = next(fact[2] for fact in facts if fact[:2] == ("at", "P"))
        here = {fact[1] for fact in facts if fact[0] == "at" and fact[2] == room} - {"P"}
        closed = {fact[1] for fact in facts if fact[0] in ("closed", "locked")}
        doors = {fact[2] for fact in facts if fact[0] == "link" and fact[1] == room}
        held = {
            fact[1]
            for fact in facts
            if fact[0] in ("in", "on") and (fact[2] == "I" or fact[2] in here - closed)
        }

        return here | doors | held

    def possible(self) -> dict[Command, Deed]:
        """All that can be done now."""

        if self._possible is None:
            kb = self.game.kb
            actions = self._state.all_applicable_actions(
                kb.rules.values(), kb.types.constants_mapping
            )
            deeds = [deed_of(self.game, action) for action in actions]
            named = sorted((self.command(deed), number) for number, deed in enumerate(deeds))
            self._possible = {command: deeds[number] for command, number in named}

        return self._possible

    def command(self, deed: Deed) -> Command:
        """The command for an action."""

        rule, variables = deed
        return command_of_rule(
            rule,
            {place: self._names[name] for place, name in variables.items() if name in self._names},
        )

    def do(self, deed: Deed) -> None:
        """Applies an action's effects."""

        self._state.apply(action_of(self.game, deed))
        self.deeds.append(deed)
        self.completed = [
            done or quest.is_winning(self._state)
            for done, quest in zip(self.completed, self.game.quests, strict=True)
        ]
        self._possible = self._visible = None

    def facts(self) -> dict[str, Scalar]:
        """`quest/0/completed`, `player/0/room`, `thing/<name>/place`, `door/<name>/state`,
        `container/...`, `food/<name>/eaten`.
        """

        found: dict[str, Scalar] = {
            f"quest/{number}/completed": done for number, done in enumerate(self.completed)
        }
        for key, info in self.game.infos.items():
            if info.type == "f":
                found[f"food/{self._names[key]}/eaten"] = False

        for fact in self._state.facts:
            found |= self._read(fact.name, fact.arguments)

        return found

    def known(self, predicate: str) -> list[tuple[str, ...]]:
        """The propositions of a name that hold now, in a fixed order, each with the names of what
        it is about (P is the player).
        """

        found = (fact.arguments for fact in self._state.facts if fact.name == predicate)
        return sorted(
            tuple(self._names.get(argument.name, argument.name) for argument in arguments)
            for arguments in found
        )

    def _read(self, predicate: str, arguments: Sequence[Any]) -> dict[str, Scalar]:
        """What one proposition says; maps, matching keys and the like never change and are left
        out.
        """

        first = arguments[0]
        name = self._names.get(first.name, "")
        if predicate == "at" and first.type == "P":
            return {"player/0/room": self._names[arguments[1].name]}
        if predicate == "in" and arguments[1].type == "I":
            return {f"thing/{name}/place": CARRIED}
        if predicate in ("at", "in", "on"):
            return {f"thing/{name}/place": f"{predicate} {self._names[arguments[1].name]}"}
        if predicate in ("open", "closed", "locked"):
            return {f"{'door' if first.type == 'd' else 'container'}/{name}/state": predicate}
        if predicate == "eaten":
            return {f"thing/{name}/place": EATEN, f"food/{name}/eaten": True}

        return {}


def deed_of(game: Game, action: Any) -> Deed:
    """An applicable action by rule and variables: its conditions stand in the order of the rule's
    (its `mapping` is overwritten later).
    """

    rule = game.kb.rules[action.name]
    conditions = zip(
        (*rule.preconditions, *rule.postconditions),
        (*action.preconditions, *action.postconditions),
        strict=True,
    )
    pairs = (
        (place, variable)
        for like, fact in conditions
        for place, variable in zip(like.parameters, fact.arguments, strict=True)
    )

    return action.name, {place.name: variable.name for place, variable in pairs}


def action_of(game: Game, deed: Deed) -> Any:
    """The action that a deed names."""

    rule = game.kb.rules[deed[0]]
    variables = {
        variable.name: variable
        for variable in (*game.kb.types.constants_mapping.values(), *game.world.state.variables)
    }

    return rule.instantiate({place: variables[deed[1][place.name]] for place in rule.placeholders})
