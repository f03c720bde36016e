"""Trajectory reward: a judge rates from 1 to 5 how well a passed trial did its task. The reward is
a sampling weight, never a verdict (OS-Genesis, A2 step 9).

P(i) = R_i / sum_k R_k over the trials that were judged; a trial whose judge's reply could not be
read has no weight. `select` draws by it (`by_reward`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from pydantic import Field

from synth.engine.asking import RoleRequest, UnreadableError, json_reply, prompt, response_form
from synth.engine.study.method import Method, method_report, synthesizer
from synth.engine.study.shard import ShardContext, UnitResult
from synth.engine.study.stage_context import StageContext
from synth.ledger.ledger import Score
from synth.schemas import Completion, ConfigError, Trajectory, valid_text
from synth.text.transcript.log import log_of

METRIC = "trajectory_reward"
"""Score of a trajectory, 1 to 5: its weight in a draw of the stage `select`."""
SAMPLING = {"temperature": 0.5, "top_p": 0.9}
LONGEST_REASON = 1000


class JudgedReward(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The form of the judge's reply."""

    reason: str
    reward: int


FORM = response_form("reward", JudgedReward)


class Reason(msgspec.Struct, frozen=True, omit_defaults=True):
    """The judge's reason for a reward; `unreadable`: the error in its last reply."""

    reason: str | None = None
    unreadable: str | None = None


@synthesizer("trajectory_reward")
class TrajectoryReward(Method):
    """Judges trials of tasks `derived` from explorations, or of `all`. `shard` trials are committed
    together.
    """

    unit = "trials"
    metric = METRIC

    role: str = "judge"
    tasks: Literal["derived", "all"] = "derived"
    shard: int = Field(default=100, ge=1, le=1000)

    def agents(self) -> Sequence[str]:
        """No role plays."""
        return ()

    def bind(self) -> None:
        """Looks up the judge, which must be a model."""
        judge = self.bound.roles.get(self.role)

        if judge is None or judge.model is None:
            raise ConfigError(
                f"trajectory_reward needs a model as {self.role!r}: add `{self.role}: {{model: "
                "...}` to the flow's models, or leave the stage out"
            )

        self.judge = judge

    def key_settings(self) -> Mapping[str, Any]:
        """The settings that determine the rewards."""
        policy = self.judge.policy
        sampling = {**policy.sampling, **SAMPLING}
        return {"tasks": self.tasks, "model": policy.model, "sampling": sampling}

    def inputs(self, stage: StageContext) -> Sequence[str]:
        """The trials."""
        return self.units(stage)

    def units(self, stage: StageContext) -> Sequence[str]:
        """Trials that passed the environment's own check: the judge weighs them, and decides about
        none.
        """

        derived = "AND origin = 'reverse'" if self.tasks == "derived" else ""
        sql = (
            "SELECT trajectory_id FROM trajectories JOIN tasks USING (task_id) WHERE outcome = "
            f"'success' {derived} ORDER BY task_id, trajectory_id"
        )

        return [identity for (identity,) in stage.select(sql)]

    async def play(self, shard: ShardContext, units: Sequence[str]) -> None:
        """Asks about each trial once; one that is not answered stays to be done."""
        trials, tasks = shard.trials_with_tasks(units)
        client = shard.client(self.role, self.judge)

        async def judge(trial: Trajectory, result: UnitResult) -> None:
            if not shard.run.may_start():
                result.open = True
                return

            task = f"The task:\n{tasks[trial.task_id].goal}"
            log = f"The log, {len(trial.turns)} steps:\n```\n{log_of(trial)}\n```"
            role = prompt("judge/reward")
            question = RoleRequest.about(
                trial, METRIC, role, task, log, sampling=SAMPLING, form=FORM
            )
            answer = await client.ask(question, read_reward)
            result.replies += answer.replies
            judged = answer.value

            # a fault or a ceiling: a rerun asks again
            if judged is None and not answer.unreadable:
                result.open = True
                return

            value = None if judged is None else float(judged.reward)
            about = Reason(unreadable=answer.unreadable)

            if judged is not None:
                about = Reason(valid_text(judged.reason)[:LONGEST_REASON])

            result.scores.append(
                Score(
                    trial.trajectory_id,
                    METRIC,
                    value,
                    detail=about,
                )
            )

            shard.run.progress.step(1)

        await shard.each({one: trials[one] for one in units if one in trials}, judge)

    def report(self, stage: StageContext) -> Mapping[str, Any]:
        """Judged trials, their rewards, and the share of draws of each reward."""
        found = stage.rows(Reason, METRIC)
        counts = sorted(Counter(int(row.value) for row in found if row.value is not None).items())
        total = sum(reward * count for reward, count in counts)
        judged = sum(count for _, count in counts)
        left = len(self.units(stage)) - len(found)
        shares = {str(reward): round(reward * count / total, 4) for reward, count in counts}

        each = ", ".join(f"{count} of {reward}" for reward, count in reversed(counts))

        return method_report(
            self.unit,
            len(found) + left,
            judged,
            {"unreadable": len(found) - judged, "not_answered": left},
            also=[f"rewards: {each}"] if counts else [],
            details={
                "rewards": {str(reward): count for reward, count in counts},
                "share_of_draws": shares,
            },
        )


def read_reward(completion: Completion) -> JudgedReward:
    """Reads the reward from a reply. Raises `UnreadableError` for anything but the object asked
    for, with a whole number from 1 to 5.
    """

    judged = json_reply(completion, JudgedReward)

    if not 1 <= judged.reward <= 5:
        raise UnreadableError(f"reward is {judged.reward}; 1 to 5 are allowed")

    return judged
