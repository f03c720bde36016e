"""A pool of storefront trials, eight of each task, each by a planner that holds misconceptions of
its own; with their true labels.

The labels (`Truth`) are for measuring alone: nothing that scores or selects is given them.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from benchmarks.planted_episodes import MOST_TURNS
from benchmarks.truth.monitor import truth_of
from synth.envs.storefront import WORLD
from synth.schemas.canonical import content_hash
from synth.schemas.check import CheckResult
from synth.schemas.outcome import Outcome, Termination
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory, Turn

TASKS, TRIALS = 400, 8
SEED = 777005
"""Not one of the seeds on which heuristics of the project were written."""
GUESSERS = ("mixed", "first_match", "first_address", "skips_confirmation")
"""Profiles of a pool in which lucky passes are common: each trial has one of them, three in four a
habit of guessing.
"""


@dataclass(frozen=True, slots=True)
class Truth:
    """`guessed`: some write was not justified by what had been shown; a lucky pass is a pass that
    guessed.
    """

    guessed: bool
    breached: bool


@dataclass(frozen=True, slots=True)
class Trial:
    """One trial, its outcome by the check that the pool asks for, and the truth about it."""

    trajectory: Trajectory
    truth: Truth

    @property
    def solved(self) -> bool:
        """Whether the check passed."""
        return self.trajectory.outcome is Outcome.SUCCESS

    @property
    def lucky(self) -> bool:
        """Whether it passed by a guess."""
        return self.solved and self.truth.guessed


Pool = Mapping[str, Sequence[Trial]]


def pool(
    tasks: int = TASKS,
    seed: int = SEED,
    *,
    profiles: Sequence[str] = ("mixed",),
    outcome_only: bool = False,
    **world: Any,
) -> Pool:
    """Trials by task, the profiles in turn. `outcome_only`: state and told facts decide; else the
    whole check does, process included.
    """
    return asyncio.run(_pool(tasks, seed, profiles, outcome_only, world))


async def _pool(
    tasks: int, seed: int, profiles: Sequence[str], outcome_only: bool, world: Mapping[str, Any]
) -> Pool:
    found = {}
    for at, task in enumerate(WORLD.make_tasks(world, seed, tasks)):
        found[task.task_id] = [
            await _trial(
                task, trial, profiles[trial % len(profiles)], TRIALS * at + trial, outcome_only
            )
            for trial in range(TRIALS)
        ]
    return found


async def _trial(task: Task, trial: int, profile: str, seed: int, outcome_only: bool) -> Trial:
    env = WORLD.open({"outcome_only": outcome_only})
    opening = await env.reset(task)
    turns: list[Turn] = []
    done = False
    while not done and len(turns) < MOST_TURNS:
        act = await env.expert(profile, seed)
        answer = await env.step(act)
        turns.append(
            Turn(
                len(turns),
                act.content,
                act.tool_calls,
                answer.observations,
                state_key=answer.state_key,
            )
        )
        done = answer.done
    verdict = await env.check()
    await env.close()
    played = _recorded(task, trial, turns, verdict)
    played = msgspec.structs.replace(
        played,
        system_prompt=opening.system_prompt,
        tools=opening.tools,
        opening=opening.observations,
        opening_state_key=opening.state_key,
    )
    truth = await truth_of(task, played)
    return Trial(
        played,
        Truth(any(write.label != "justified" for write in truth.writes), bool(truth.breaches)),
    )


def _recorded(task: Task, trial: int, turns: Sequence[Turn], verdict: CheckResult) -> Trajectory:
    return Trajectory(
        trajectory_id=content_hash([task.task_id, trial]),
        slot_id="",
        attempt=0,
        task_id=task.task_id,
        env="storefront",
        trial=trial,
        synthesizer="rollout",
        policy="expert",
        outcome=Outcome.SUCCESS if verdict.passed else Outcome.FAILURE,
        reward=float(verdict.passed is True),
        termination=Termination.DONE if len(turns) < MOST_TURNS else Termination.AGENT_STOP,
        turns=tuple(turns),
        check_result=verdict,
    )
