"""The user of an episode played by a model: each line of the world's user is worded anew, and
turned down where it departs from it.

The world has decided what is said before the model is asked, and goes on from that, whatever the
model makes of it: state, check, replay
and branching know only the scripted words.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from synth.boundary import FaultError, guard_async, ran
from synth.policies.chat import episode_sampling
from synth.rollout.open_lines import NOBODY, is_open, said_by_somebody
from synth.rollout.resumption import JournaledModel, Resumption
from synth.schemas import (
    OPEN_LINE,
    Completion,
    Deviation,
    Episode,
    Fault,
    FreeUserScript,
    Message,
    Messages,
    Observation,
    Opening,
    Sampling,
    Source,
    Task,
    Turn,
    TurnedDown,
    Usage,
    User,
    UserScript,
    Wording,
    greeting_turn,
    valid_text,
)
from synth.text.replies.objects import said

T = TypeVar("T")
BOUNDARY = "user"
"""How the details of faults at this boundary begin."""
LONGEST = 2000
"""Characters kept of a wording that was turned down."""
MOST_DEVIATIONS, LONGEST_WHAT = 8, 120
"""Kept of one wording, and characters of each."""
_AGAIN = "That cannot be said: {reasons}. Say the line again, and only the line."


class UserSimulator:
    """The user of one attempt. Its replies are journaled as the agent's are; what they used is
    counted apart: `spoke` is told of it.
    """

    def __init__(
        self,
        user: User,
        episode: Episode,
        task: Task,
        resumption: Resumption,
        spoke: Callable[[Usage], None],
    ) -> None:
        self._user = user
        self._model = JournaledModel(user.model, resumption)
        self._resumption = resumption
        self._task = task
        self._sampling = episode_sampling(msgspec.convert(dict(user.sampling), Sampling), episode)
        self._spoke = spoke
        self.ended = False
        """Whether the user has ended the talk; only one that speaks freely does."""

    async def worded(self, before: Sequence[Turn], turn: Turn) -> tuple[Observation, ...]:
        """The answers to a turn, those of the user worded one after the other. Raises
        `FaultError`.
        """
        answers = list(turn.observations)
        for place, line in enumerate(turn.observations):
            if line.source is Source.USER and not line.error and line.content.strip():
                so_far = replace(turn, observations=tuple(answers[:place]))
                answers[place] = await self._worded([*before, so_far], line)
        return tuple(answers)

    async def _worded(self, turns: Sequence[Turn], line: Observation) -> Observation:
        user, script = self._user, self._user.script
        messages = await _guarded(
            ": prompt", lambda: ran(script.prompt, self._task, turns, line.content)
        )

        if messages is None:
            said_by_somebody([line])
            return line

        turned_down: list[TurnedDown] = []
        text, usage, weights = line.content, Usage(), set[str | None]()
        found: tuple[Deviation, ...] = ()

        for _ in range(user.rewordings + 1):
            asked = [*messages, *_again(turned_down)]
            reply = await _guarded("", partial(self._asked, turns[-1].index, asked))

            usage += reply.usage
            weights.add(reply.weights_id)
            # servers without a reasoning parser leave the thought in the content
            text = said(valid_text(reply.content or "")).strip()
            reply = replace(reply, content=text)

            found = await _guarded(
                ": deviations", partial(ran, _deviations, script, line.content, reply)
            )
            if not found:
                break
            turned_down.append(TurnedDown(text[:LONGEST], found))
        else:
            if user.unfit == "fault" or line.content == OPEN_LINE:
                kinds = {one.kind for wording in turned_down for one in wording.deviations}
                raise FaultError(
                    Fault.USER_SIMULATOR,
                    f"{BOUNDARY}: {user.name} departed from its script {len(turned_down)} times: "
                    f"{', '.join(sorted(kinds))}",
                )
            text = line.content

        self.ended |= isinstance(script, FreeUserScript) and script.ends(text)
        (weights_id,) = weights if len(weights) == 1 else ("mixed",)
        fell_back = bool(found)
        wording = Wording(line.content, user.name, tuple(turned_down), fell_back, usage, weights_id)
        return replace(line, content=text, wording=wording)

    async def _asked(self, turn: int, messages: Messages) -> Completion:
        """The next try, counted."""
        if self._resumption.calls not in self._resumption.replies:
            self._resumption.refault(turn, "user")
        reply = await self._model.complete(messages, (), self._sampling)

        self._spoke(reply.usage)
        return reply


async def opened_by(user: UserSimulator | None, opening: Opening) -> Turn | None:
    """The turn of an opening's greeting, None where it has none; what the world leaves open of the
    user's answer a model says. Raises `FaultError` where nobody can.
    """
    greeting = greeting_turn(opening)
    if not any(map(is_open, opening.observations)):
        return greeting
    if user is None or greeting is None:
        raise FaultError(Fault.USER_SIMULATOR, NOBODY)
    said = await user.worded((), greeting)
    if user.ended:
        raise FaultError(Fault.USER_SIMULATOR, f"{BOUNDARY}: it ended the talk before it began")
    return replace(greeting, observations=said)


async def _guarded(what: str, call: Callable[[], Awaitable[T]]) -> T:
    return await guard_async(Fault.USER_SIMULATOR, f"{BOUNDARY}{what}", call, None)


def _again(turned_down: Sequence[TurnedDown]) -> list[Message]:
    """What is said of the last wording that was turned down: it is the one to mend."""
    if not turned_down:
        return []
    wording = turned_down[-1]
    reasons = "; ".join(f"{one.kind}: {one.what}" for one in wording.deviations)
    return [
        {"role": "assistant", "content": wording.text or "(nothing)"},
        {"role": "user", "content": _AGAIN.format(reasons=reasons)},
    ]


def _deviations(script: UserScript, line: str, reply: Completion) -> tuple[Deviation, ...]:
    found = script.deviations(line, reply)[:MOST_DEVIATIONS]
    return tuple(Deviation(one.kind, valid_text(one.what[:LONGEST_WHAT])) for one in found)
