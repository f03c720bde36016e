"""What preference and step trainers learn from: pairs of turns after one prefix, single turns
called good or bad, values of steps.

Rows name recorded turns, they hold no text: a turn is (trajectory, index), and its prompt is what
that trajectory holds before it.
"""

from enum import StrEnum

from synth.schemas.canonical import StrictRecord
from synth.schemas.evidence.labels import StepRef as StepRef
from synth.schemas.trajectory import Authorship


class RowEvidence(StrictRecord, frozen=True, kw_only=True):
    """Successes among continuations per side, counted by the test that the row stands on (`method`:
    sequential, flip_deterministic).

    `q_pos` of `n_pos` continuations after the chosen act, `q_neg` of `n_neg` after the rejected
    one; `stopped_at` = continuations per side
    at which the test ended. `weights_id`: what the continuations were played with, where their
    server tells.
    """

    q_pos: float
    n_pos: int
    q_neg: float
    n_neg: int
    method: str
    stopped_at: int
    weights_id: str | None = None


GUIDED = "+guidance"
"""After the name of a policy: what it did under guidance that it does not have by itself."""


class PairFamily(StrEnum):
    """Where a pair comes from; each is reported, bounded and sampled by itself."""

    STEP = "step"
    """An accepted test of `critical_step`."""
    PIVOT = "pivot"
    """What a retry did at its pivot against what the failed trial did there, where a test of that
    very act was accepted.
    """
    REPAIR = "repair"
    """The correction of a failed trial's turn that a test accepted."""
    INJECTION = "injection"
    """The clean twin's turn against an injected one that is likely enough under the policy to be
    told apart from.
    """


class PairLabel(StrictRecord, frozen=True, kw_only=True):
    """One assistant turn against another after the same bytes.

    `prefix_policy`, `chosen_policy`, `rejected_policy` name who sampled each (the model, or the
    policy that has none); `on_policy_for` is whom the evidence holds for. `off_policy`: the prefix
    was not sampled by the policy to be trained, for the reason in `off_policy_reason`; such rows
    belong into a config of their own. `chosen_unsampled`: the policy was never seen to do the
    chosen act by itself, guidance or somebody else proposed it. `pair_id`: hash of the canonical
    prompt and both acts.
    """

    pair_id: str
    family: PairFamily
    prefix: StepRef
    chosen: StepRef
    rejected: StepRef
    evidence: RowEvidence
    prefix_policy: str
    chosen_policy: str
    rejected_policy: str
    on_policy_for: str
    chosen_authorship: Authorship
    rejected_authorship: Authorship
    task_id: str
    template: str
    world_seed: int | None = None
    """None where the task does not say in which world it is set."""
    off_policy: bool = False
    off_policy_reason: str | None = None
    chosen_unsampled: bool = False
    gold_informed: bool = False
    benchmark: str | None = None
    split: str | None = None
    chosen_length: int = 0
    """Characters of text, thought, tool names and arguments."""
    rejected_length: int = 0


class KtoLabel(StrictRecord, frozen=True, kw_only=True):
    """A single turn called desirable or not.

    `stratum` = template | last tool that answered | tenth of the trajectory, as text; `matched_by`
    says what a negative shares with a
    positive: `prompt` or `stratum`. Desirable and undesirable are acts that a confirmed test set
    against each other at one state. `n` continuations after the act stand behind it, by `method`;
    `q` is its unbiased rate, None where that is not known, `q_confirm` that of `n_confirm` fresh
    ones which the test never saw. `task_rate` is what trials of the task pass without it.
    `source` names the score it was read from.
    """

    trajectory_id: str
    turn: int
    desirable: bool
    stratum: str
    q: float | None
    n: int
    q_confirm: float | None = None
    n_confirm: int = 0
    method: str
    task_rate: float | None
    source: str
    policy: str
    authorship: Authorship
    on_policy_for: str
    task_id: str
    template: str
    matched_by: str | None = None
    gold_informed: bool = False
    benchmark: str | None = None
    split: str | None = None


class Tier(StrEnum):
    """What a step label stands on."""

    INTERVENTIONAL = "E1"
    GOLD_RULE = "E2"
    STATISTICAL = "E3"


class PrmLabel(StrictRecord, frozen=True, kw_only=True):
    """A step's worth. `label` None: nothing decided it, and only the soft value `q` of `n` is
    known.

    E1: `q` = unbiased success rate of the act by the path counts of its tests (not `successes` of
    `n`, which is biased by when these stopped; None where it is not known); `q_confirm` = share of
    `n_confirm` fresh continuations, where a test was confirmed: unbiased for such acts, as `q` is
    over all that were tested. E2: no continuations (`n` 0, `q` None); `rule` names what was broken,
    or kept (`passed_check`). E3: `q` None, `value` = the statistical measure `rule`.
    """

    trajectory_id: str
    turn: int
    tier: Tier
    source: str
    label: bool | None = None
    q: float | None = None
    n: int = 0
    successes: int = 0
    q_confirm: float | None = None
    n_confirm: int = 0
    method: str | None = None
    rule: str | None = None
    value: float | None = None
    on_policy_for: str | None = None
    policy: str
    authorship: Authorship
    task_id: str
    gold_informed: bool = False
    benchmark: str | None = None
    split: str | None = None
