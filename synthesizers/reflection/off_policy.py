"""Whether the unguided policy would ever do what a guided retry does first: if not, the retry is
off-policy (rigor.md, provenance).
"""

from collections.abc import Sequence

import msgspec

from synth.engine.asking import RoleClient
from synth.engine.context import Role, Run
from synth.ledger.ledger import Score
from synth.ledger.role_reply import RoleReply
from synth.ledger.typed import Read
from synth.models.admission import ConcurrencyLimit
from synth.rollout.limits import Limits
from synth.schemas.environment import AgentTurn
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory
from synth.synthesizers.continuations import Continuations
from synth.synthesizers.steps.alternatives import DecisionState, drawn_acts, played_there
from synth.text.transcript.acts import act_digest

OFF_POLICY = "off_policy_pivot"
"""Metric: 1 where none of the unguided policy's samples at the pivot is the retry's act there, 0
where one is, None where not known.
"""
PURPOSE = "off_policy"
SAMPLES = 8


class OffPolicy(msgspec.Struct, frozen=True):
    """How a tag was found: `method` deterministic, sampled (`samples` times) or none, and why it is
    not known.
    """

    key: str
    samples: int
    method: str
    reason: str | None


class Tagged(msgspec.Struct, frozen=True):
    """The tag and what was asked for it; `open` where a ceiling kept it from being known."""

    score: Score
    replies: tuple[RoleReply, ...] = ()
    open: bool = False


class Unguided:
    """Samples of one shard's unguided policy: `samples` at most per retry, until one does the
    same.
    """

    def __init__(
        self,
        run: Run,
        shard: str,
        name: str,
        role: Role,
        *,
        limits: Limits,
        places: ConcurrencyLimit,
        seed: int,
        samples: int,
    ) -> None:
        self._run = run
        self._name = name
        self._role = role
        self._limits = limits
        self._places = places
        self._seed = seed
        self._samples = samples
        self._asking = (
            RoleClient(run, shard, name, role) if role.model is not None and samples else None
        )
        self._played = (
            Continuations(run, shard)
            if role.model is None and samples and not role.policy.deterministic
            else None
        )

    async def tag(self, retry: Trajectory, parent: Trajectory, task: Task, key: str) -> Tagged:
        """The tag of a retry of `parent`. A deterministic policy is asked nothing: what it did
        there unguided stands in its own trial.
        """
        at = retry.pivot_turn or 0
        state = DecisionState(retry, task, at)
        own = act_digest(state.own)

        def tagged(
            samples: Sequence[AgentTurn], asked: int, method: str, reason: str | None = None
        ) -> Score:
            same = any(act_digest(act) == own for act in samples)
            value = 0.0 if same else 1.0 if reason is None else None
            about = OffPolicy(key, asked, method, None if same else reason)
            return Score(retry.trajectory_id, OFF_POLICY, value, at, about)

        if self._role.policy.deterministic:
            by = (self._role.policy.name, self._role.policy.model)
            known = (
                parent.guidance is None
                and (parent.policy, parent.model) == by
                and at < len(parent.turns)
            )
            return Tagged(
                tagged(
                    [DecisionState(parent, task, at).own] if known else [],
                    0,
                    "deterministic",
                    None if known else "not_its_own_trial",
                )
            )
        if self._asking is not None:
            enough = lambda acts: any(act_digest(act) == own for act in acts)  # noqa: E731
            drawn = await drawn_acts(
                self._asking, self._role, state, self._seed, self._samples, enough, purpose=PURPOSE
            )
            return Tagged(
                tagged(drawn.acts, drawn.asked, "sampled", drawn.lost),
                drawn.replies,
                drawn.lost == "not_started",
            )
        if self._played is not None:
            version = self._run.spec_of(task.env, task.env_config).version
            found = await played_there(
                self._played,
                self._name,
                self._role,
                state,
                seed=self._seed,
                samples=self._samples,
                limits=self._limits,
                places=self._places,
                version=version,
            )
            acts = [other.turn for other in found.alternatives]
            return Tagged(
                tagged(acts, self._samples, "sampled", found.lost), (), found.lost == "not_started"
            )
        return Tagged(tagged([], 0, "none", "not_measured"))


def in_words(rows: Sequence[Read[OffPolicy]]) -> str:
    """One line for the report: how many kept retries are off-policy, and what it has cost to
    know.
    """
    known = [row for row in rows if row.value is not None]
    if not known:
        reasons = dict.fromkeys(str(row.about.reason) for row in rows)
        how = (
            "; `off_policy_samples: 8` measures it for a scripted policy too"
            if "not_measured" in reasons
            else ""
        )
        return (
            f"off-policy at the pivot: not known for all {len(rows)} kept retries "
            f"({', '.join(reasons)}{how})"
        )
    off = sum(row.value == 1 for row in known)
    asked = sum(row.about.samples for row in known)
    exact = sum(row.about.method == "deterministic" for row in known)
    told = f", {exact} by the trial of a deterministic policy itself" if exact else ""
    return (
        f"off-policy at the pivot: {off} of {len(known)} kept retries ({asked} samples of the "
        f"unguided policy{told})"
    )
