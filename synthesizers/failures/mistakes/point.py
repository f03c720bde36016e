"""A turn of a clean trajectory at which a rule could make a mistake, with everything that the agent
had seen by then.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any

import msgspec

from synth.schemas import (
    AgentTurn,
    SampledBy,
    Scalar,
    Termination,
    ToolCall,
    Trajectory,
    Turn,
    canonical_json,
    content_hash,
)
from synth.synthesizers.failures.mistakes.transcript import InjectionTranscript, with_value, written
from synth.text.provenance.arguments import Argument, exempt, permitted
from synth.text.provenance.effect import TALKING_VERBS, changes, first_word
from synth.text.provenance.seen import stands
from synth.text.transcript.acts import Doing, act_digest

Choice = tuple[ToolCall, Argument, Scalar]
"""A call, one of its arguments, and another value for that."""


class Mistake(msgspec.Struct, frozen=True):
    """A turn that makes a mistake; `what` describes the mistake."""

    turn: AgentTurn
    what: str


@dataclass
class InjectionPoint:
    """The state before turn `index` of a transcript's twin; `affordances` lists possible actions,
    where the environment offers them.
    """

    transcript: InjectionTranscript
    index: int
    affordances: Sequence[AgentTurn] = ()

    @property
    def twin(self) -> Trajectory:
        return self.transcript.twin

    @property
    def turn(self) -> Turn:
        return self.twin.turns[self.index]

    @property
    def before(self) -> tuple[Turn, ...]:
        """The earlier turns that the agent decided."""
        turns = self.twin.turns[: self.index]
        return tuple(turn for turn in turns if turn.sampled_by is not SampledBy.CANNED)

    @property
    def after(self) -> tuple[Turn, ...]:
        """The later turns of the twin."""
        return self.twin.turns[self.index + 1 :]

    @cached_property
    def heard(self) -> str:
        """All text that the agent had been shown, case-folded for search."""
        return "\n".join(text for at, text in self.transcript.folded if at < self.index)

    def seen(self, value: Scalar) -> bool:
        """Whether the agent had been shown a value."""
        number = isinstance(value, int | float)
        return stands(self.heard, written(value).casefold(), number=number)

    def changes(self, call: ToolCall) -> bool:
        """Whether a call changes something."""
        return changes(call.name, self.transcript.tools.get(call.name))

    def talks(self, call: ToolCall) -> bool:
        """Whether a call only speaks, by the verb of its name."""
        return first_word(call.name) in TALKING_VERBS

    def writes(self, turn: Turn) -> tuple[ToolCall, ...]:
        """The readable calls of a turn that change something."""
        readable = (call for call in turn.tool_calls if call.parse_error is None)
        return tuple(call for call in readable if self.changes(call))

    def names(self, call: ToolCall) -> list[Argument]:
        """The scalars of a call that name something, without free text."""
        found = self.transcript.scalars(call)
        return [one for one in found if not exempt(one) and not isinstance(one.value, bool)]

    def texts(self, call: ToolCall) -> list[Argument]:
        """The free texts of a call, which the agent has worded itself."""
        found = self.transcript.scalars(call)

        return [
            one for one in found if isinstance(one.value, str) and exempt(one) and one.value.strip()
        ]

    def said(self, turn: Turn) -> list[str]:
        """The free texts of a turn's calls."""
        return [str(text.value) for call in turn.tool_calls for text in self.texts(call)]

    def others(self, argument: Argument) -> list[Scalar]:
        """Values that could replace the argument's, in the order in which they came up: those that
        its schema names, else those that were shown under a key of its own value or under its name,
        or that the clean run used there.
        """

        own = argument.value
        keyed = self._keyed
        choice = permitted(argument.schema)
        kinds = [key for key, values in keyed.items() if isinstance(own, str) and own in values]
        shown = [value for key in [*kinds, argument.name] for value in keyed.get(key, ())]
        found = choice or [*shown, *self.transcript.used.get(argument.name, ())]

        return [
            value
            for value in dict.fromkeys(found)
            if isinstance(value, type(own)) and value != own and (choice or self.seen(value))
        ]

    def choices(self, calls: Sequence[ToolCall]) -> list[Choice]:
        """Every argument of these calls with another value that it could have."""
        return [
            (call, argument, value)
            for call in calls
            for argument in self.names(call)
            for value in self.others(argument)
        ]

    @cached_property
    def _keyed(self) -> Mapping[str, Mapping[Scalar, None]]:
        """Scalars of all JSON answers so far, by key."""
        found: defaultdict[str, dict[Scalar, None]] = defaultdict(dict)
        for at, key, value in self.transcript.entries:
            if at < self.index:
                found[key][value] = None

        return found

    def fresh(
        self,
        call: ToolCall,
        arguments: Mapping[str, Any] | None = None,
    ) -> ToolCall:
        """The call under an id of its own, with other arguments where given."""
        text = call.arguments if arguments is None else canonical_json(arguments).decode()
        about = [self.twin.trajectory_id, self.index, call.name, text]
        return ToolCall.received(f"call_{content_hash(about, size=4)}", call.name, text)

    def changed(
        self,
        call: ToolCall,
        argument: Argument,
        value: Scalar,
    ) -> ToolCall:
        """The call with another value in one place."""
        return self.fresh(call, with_value(call.parsed(), argument.path, value))

    def again(self, turn: Turn, what: str) -> Mistake:
        """Repeats a turn, under new call ids."""
        return Mistake(AgentTurn(turn.content, tuple(map(self.fresh, turn.tool_calls))), what)

    def mistaken(
        self, random: Random, choices: Sequence[Choice], what: str, *, alone: bool = False
    ) -> Mistake | None:
        """Draws a choice and exchanges its call in the turn, or makes that call `alone`; the turn's
        text and thought are dropped. None without a choice. `what` may name `{path}`, `{tool}`,
        `{old}` and `{new}`.
        """

        if not choices:
            return None

        call, argument, value = random.choice(choices)
        old, new = written(argument.value), written(value)
        told = what.format(path=argument.path, tool=call.name, old=old, new=new)
        other = self.changed(call, argument, value)
        among = (call,) if alone else self.turn.tool_calls

        return Mistake(
            AgentTurn(tool_calls=tuple(other if one is call else one for one in among)), told
        )


Rule = Callable[[InjectionPoint, Random], Mistake | None]
"""Draws a mode's mistake at a point; None where the mode does not apply there."""


def same_act(one: Doing, other: Doing) -> bool:
    """Whether two turns do the same: equal calls, or else equal words. Call ids, JSON spelling and
    thoughts do not count.
    """
    return act_digest(one) == act_digest(other)


_CLOSING_VERBS = "finish done submit end stop complete exit quit final close conclude hang"
CLOSING_VERBS = frozenset(_CLOSING_VERBS.split())
"""First words of the names of tools that end an episode."""
_ENDED = (Termination.DONE, Termination.AGENT_STOP, Termination.UNREPORTED)


def closing(twin: Trajectory) -> Turn | None:
    """The turn by which the agent itself ended the episode: by a tool that is there for it, or by
    speaking last.
    """

    last = twin.turns[-1] if twin.turns else None

    if last is None or twin.termination not in _ENDED:
        return None

    if not last.tool_calls:
        return last if last.content and twin.termination is not Termination.DONE else None

    return last if all(first_word(call.name) in CLOSING_VERBS for call in last.tool_calls) else None
