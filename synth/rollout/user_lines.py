"""The user of an episode played by a model: each line of the world's user is worded anew, and
turned down where it departs from it.

The world has decided what is said before the model is asked, and goes on from that, whatever the
model makes of it: state, check, replay
and branching know only the scripted words.
"""

from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from synth.boundary import FaultError, guard_async
from synth.policies.chat import episode_sampling
from synth.rollout.resumption import JournaledModel, Resumption
from synth.schemas.canonical import valid_text
from synth.schemas.model import Completion, Message, Sampling
from synth.schemas.outcome import Fault
from synth.schemas.policy import Episode
from synth.schemas.task import Task
from synth.schemas.trajectory import (
    Deviation,
    Observation,
    Source,
    Turn,
    TurnedDown,
    Usage,
    Wording,
)
from synth.schemas.user import User

BOUNDARY = "user"
"""How the details of faults at this boundary begin."""
LONGEST = 2000
"""Characters kept of a wording that was turned down."""
MOST_DEVIATIONS, LONGEST_WHAT = 8, 120
"""Kept of one wording, and characters of each."""
END_OF_THOUGHT = "</think>"
"""What stands before it was not said: servers without a reasoning parser leave the thought in the
content.
"""
_AGAIN = "That cannot be said: {reasons}. Say the line again, and only the line."


Spoke = Callable[[Usage], None]
"""Told what each reply of the user's model has used."""


class UserSimulator:
    """The user of one attempt. Its replies are journaled as the agent's are; what they used is
    counted apart, in `totals`.
    """

    def __init__(
        self, user: User, episode: Episode, task: Task, resumption: Resumption, spoke: Spoke
    ) -> None:
        self.totals = Usage()
        self._user = user
        self._model = JournaledModel(user.model, resumption)
        self._resumption = resumption
        self._task = task
        self._sampling = episode_sampling(msgspec.convert(dict(user.sampling), Sampling), episode)
        self._spoke = spoke

    async def worded(self, before: Sequence[Turn], turn: Turn) -> tuple[Observation, ...]:
        """The answers to a turn, those of the user worded one after the other. Raises
        `FaultError`.
        """
        answers = list(turn.observations)
        for place, line in enumerate(turn.observations):
            if line.source is Source.USER and not line.error and line.content.strip():
                so_far = msgspec.structs.replace(turn, observations=tuple(answers[:place]))
                answers[place] = await self._worded([*before, so_far], line)
        return tuple(answers)

    async def _worded(self, turns: Sequence[Turn], line: Observation) -> Observation:
        messages = await guard_async(
            Fault.USER_SIMULATOR,
            f"{BOUNDARY}: prompt",
            lambda: self._prompt(turns, line.content),
            None,
        )
        if messages is None:
            return line
        turned_down: list[TurnedDown] = []
        usage, weights = Usage(), set[str | None]()
        while len(turned_down) <= self._user.rewordings:
            reply = await guard_async(
                Fault.USER_SIMULATOR,
                BOUNDARY,
                lambda: self._asked(turns[-1].index, messages, turned_down),
                None,
            )
            usage += reply.usage
            self.totals += reply.usage
            self._spoke(reply.usage)
            weights.add(reply.weights_id)
            text = valid_text(reply.content or "").rpartition(END_OF_THOUGHT)[2].strip()
            reply = msgspec.structs.replace(reply, content=text)
            found = await guard_async(
                Fault.USER_SIMULATOR,
                f"{BOUNDARY}: deviations",
                partial(self._deviations, line.content, reply),
                None,
            )
            if not found:
                return self._said(line, text, turned_down, usage, weights, fell_back=False)
            turned_down.append(TurnedDown(text[:LONGEST], found))
        if self._user.unfit == "fault":
            kinds = sorted(
                {deviation.kind for wording in turned_down for deviation in wording.deviations}
            )
            raise FaultError(
                Fault.USER_SIMULATOR,
                f"{BOUNDARY}: {self._user.name} departed from its script {len(turned_down)} "
                f"times: {', '.join(kinds)}",
            )
        return self._said(line, line.content, turned_down, usage, weights, fell_back=True)

    async def _prompt(self, turns: Sequence[Turn], line: str) -> Sequence[Message] | None:
        return self._user.script.prompt(self._task, turns, line)

    async def _asked(
        self, turn: int, messages: Sequence[Message], turned_down: Sequence[TurnedDown]
    ) -> Completion:
        """The next try. Only the last wording that was turned down is shown again: it is the one to
        mend.
        """
        again: list[Message] = []
        for wording in turned_down[-1:]:
            reasons = "; ".join(
                f"{deviation.kind}: {deviation.what}" for deviation in wording.deviations
            )
            again = [
                {"role": "assistant", "content": wording.text or "(nothing)"},
                {"role": "user", "content": _AGAIN.format(reasons=reasons)},
            ]
        if self._resumption.calls not in self._resumption.replies:
            self._resumption.refault(turn, "user")
        return await self._model.complete([*messages, *again], (), self._sampling)

    async def _deviations(self, line: str, reply: Completion) -> tuple[Deviation, ...]:
        found = self._user.script.deviations(line, reply)[:MOST_DEVIATIONS]
        return tuple(
            Deviation(deviation.kind, valid_text(deviation.what[:LONGEST_WHAT]))
            for deviation in found
        )

    def _said(
        self,
        line: Observation,
        text: str,
        turned_down: list[TurnedDown],
        usage: Usage,
        weights: set[str | None],
        *,
        fell_back: bool,
    ) -> Observation:
        (weights_id,) = weights if len(weights) == 1 else ("mixed",)
        wording = Wording(
            line.content, self._user.name, tuple(turned_down), fell_back, usage, weights_id
        )
        return msgspec.structs.replace(line, content=text, wording=wording)
