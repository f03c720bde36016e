"""Records an episode as the ledger would hold it, without the engine."""

import asyncio

import msgspec

from synth.policies.scripted import expert_policy, random_policy
from synth.schemas.canonical import valid_text
from synth.schemas.outcome import Termination, settle
from synth.schemas.policy import Episode, PolicySpec, View
from synth.schemas.trajectory import SampledBy, Trajectory, Turn

EXPERT = expert_policy({"profiles": "mixed"}, model_name=None, sampling={})
RANDOM = random_policy({}, model_name=None, sampling={})


async def record(env, task, policy: PolicySpec, *, trial=0, seed=0, max_turns=40) -> Trajectory:
    """One episode, played to its end or `max_turns`."""
    opening = await env.reset(task)
    turns: list[Turn] = []
    if opening.greeting is not None:
        turns.append(
            Turn(
                0,
                opening.greeting,
                observations=opening.observations,
                sampled_by=SampledBy.CANNED,
                mask="canned_greeting",
            )
        )
        opening = msgspec.structs.replace(opening, greeting=None, observations=())
    decide, done = policy.open(Episode(env, None, trial, seed)), False
    while not done and len(turns) < max_turns:
        act = (await decide.act(View(opening, tuple(turns)))).turn
        response = await env.step(act)
        seen = tuple(
            msgspec.structs.replace(o, content=valid_text(o.content)) for o in response.observations
        )
        turns.append(
            Turn(
                len(turns),
                act.content,
                act.tool_calls,
                seen,
                act.thought,
                state_key=response.state_key,
            )
        )
        done = response.done
    check = await env.check()
    termination = Termination.DONE if done else Termination.TURN_LIMIT
    return Trajectory(
        trajectory_id=f"{policy.name}-{trial}-{task.task_id}",
        slot_id="slot",
        attempt=0,
        task_id=task.task_id,
        env=task.env,
        trial=trial,
        synthesizer="rollout",
        policy=policy.name,
        outcome=settle(termination, check.passed, None),
        termination=termination,
        seed=seed,
        system_prompt=opening.system_prompt,
        tools=opening.tools,
        opening=opening.observations,
        opening_state_key=opening.state_key,
        turns=tuple(turns),
        check_result=check,
        authorship=policy.authorship,
    )


def recorded(world, config, task, policy=EXPERT, **settings) -> Trajectory:
    """`record` in a fresh instance, read back from its bytes."""
    trajectory = asyncio.run(record(world.open(config), task, policy, **settings))
    return msgspec.json.decode(msgspec.json.encode(trajectory), type=Trajectory)
