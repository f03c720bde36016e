"""One prompt of a run is asked twice: whether its model's server answers one prompt in one way is
measured, and nowhere assumed.
"""

from functools import partial

import msgspec
from msgspec.structs import replace

from synth.boundary import FaultError, guard_async
from synth.engine.roles.own_prompts import PROMPTS
from synth.engine.study.shard import OF_ALL, ShardContext
from synth.ledger.ledger import Score
from synth.ledger.tables.asked_roles import ASKED_TWICE
from synth.ledger.tables.role_reply import RoleReply
from synth.policies.chat import CHAT
from synth.schemas import (
    ChatModel,
    Completion,
    Fault,
    Opening,
    SampledBy,
    Sampling,
    Trajectory,
    canonical_json,
    content_hash,
    view_messages,
)

TWICE = 2
MOST_TOKENS = 128
"""The longest reply that is asked for: what differs mostly does so early."""


class AskedTwice(msgspec.Struct, frozen=True):
    """What was asked of which model, how it was drawn, and both replies: text and calls."""

    model: str
    temperature: float | None
    seed: int | None
    first: str
    second: str


async def ask_twice(shard: ShardContext, trial: Trajectory) -> bool:
    """Asks the policy's model twice for a trial's first turn: a score `asked_twice` of the trial, 1
    where both replies are the same. False, and no score, for scripts, for a trial whose first turn
    was not drawn, and where a server fails or a ceiling is reached.
    """
    player, result = shard.player, shard.of(OF_ALL)
    model, policy = player.role.model, player.role.policy
    drawn = bool(trial.turns) and trial.turns[0].sampled_by is SampledBy.POLICY
    if model is None or policy.name != CHAT or not drawn:
        return False

    settings = {name: one for name, one in policy.sampling.items() if name != PROMPTS}
    sampling = _alike(msgspec.convert(settings, Sampling))
    said = await _said(shard, trial, model, sampling)
    if len(said) < TWICE:
        return False
    about = AskedTwice(model.name, sampling.temperature, sampling.seed, *said)
    same = float(said[0] == said[1])
    result.scores.append(Score(trial.trajectory_id, ASKED_TWICE, same, 0, about))
    return True


async def _said(
    shard: ShardContext, trial: Trajectory, model: ChatModel, sampling: Sampling
) -> list[str]:
    """The replies, fewer where there was trouble; each is accounted for."""
    opening, role = Opening(trial.system_prompt, trial.tools, trial.opening), str(shard.player.name)
    call = partial(model.complete, view_messages(opening, ()), trial.tools, sampling)
    said = list[str]()
    while len(said) < TWICE and shard.run.may_start():
        try:
            completion = await guard_async(Fault.MODEL, ASKED_TWICE, call, None)
        except FaultError:
            break  # what its server does is told by the trials themselves
        shard.run.spoke(completion.usage, role)
        shard.of(OF_ALL).replies.append(_reply(trial, role, model.name, len(said), completion))
        said.append(_said_and_called(completion))
    return said


def _reply(
    trial: Trajectory, role: str, model: str, ordinal: int, completion: Completion
) -> RoleReply:
    """For the ledger, which accounts for it."""
    return RoleReply(
        question_id=content_hash([ASKED_TWICE, trial.trajectory_id, ordinal]),
        ordinal=0,
        subject_id=trial.trajectory_id,
        task_id=trial.task_id,
        role=role,
        purpose=ASKED_TWICE,
        model=model,
        weights_id=completion.weights_id,
        content=_said_and_called(completion),
        thought=None,
        unreadable=None,
        usage=completion.usage,
    )


def _said_and_called(completion: Completion) -> str:
    """All that a reply says and calls, call ids aside."""
    calls = [[call.name, call.arguments] for call in completion.tool_calls]
    return canonical_json([completion.content, completion.thought, calls]).decode()


def _alike(sampling: Sampling) -> Sampling:
    """At temperature 0 where the role names one: some providers take none but their own."""
    cold = None if sampling.temperature is None else 0.0
    most = min(sampling.max_tokens or MOST_TOKENS, MOST_TOKENS)
    return replace(sampling, temperature=cold, max_tokens=most)
