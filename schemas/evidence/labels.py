"""What stages conclude about turns and trials, typed: labels of steps, of causes, of retries, and
the evidence that each stands on.

A label stands in the ledger as a row of `labels` (`synth.ledger.tables.evidence`): who, which turn,
which metric, what value; the structs here are the rest of the row. Their fields are the columns of
that table and, in their order, the JSON that people read in the column `detail` of `scores`.
"""

from collections.abc import Mapping
from typing import Any, Literal, Protocol

import msgspec
from msgspec import UNSET as UNSET
from msgspec import UnsetType

from synth.schemas.environment import AgentTurn

Status = Literal[
    "confirmed", "weak", "rejected", "undefined", "control", "replay_flip", "recovered"
]
Side = Literal["agent", "environment"]
"""Whose doing a cause is; a fault of the environment is no mistake of the agent."""
MaybeText = str | UnsetType
MaybeNumber = float | UnsetType | None
MaybeCount = int | UnsetType
MaybeIds = tuple[str, ...] | UnsetType
MaybeAct = AgentTurn | UnsetType
"""A field that is written only where it is set."""


class StepRef(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Turn `turn` (0-based) of a recorded trajectory; as a prefix, everything before it."""

    trajectory_id: str
    turn: int


class Counts(msgspec.Struct, frozen=True):
    """Successes among the continuations of one arm that have a verdict, and which these are."""

    successes: int
    n: int
    episode_ids: tuple[str, ...] = ()


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What a test of one act against another came to.

    `looks`: continuations per arm that were looked at; `lost`: those of both arms that faults took;
    `accepted` None: undefined; `false_discovery`: the share of the stage's accepted tests that is
    expected to be false is at most that.
    """

    method: str
    treated: Counts
    control: Counts
    looks: int
    lost: int = 0
    accepted: bool | None = None
    weights_id: str | None = None
    false_discovery: float | None = None


class Suggested(Protocol):
    """A step to be tested: `rule` says what suggested it."""

    @property
    def rule(self) -> str: ...


class StepTest(Protocol):
    """A test of two arms as it ended."""

    @property
    def accepted(self) -> bool | None: ...
    @property
    def reason(self) -> str | None: ...
    def evidence(self) -> Mapping[str, Any]: ...
    def alternative(self) -> Mapping[str, Any]: ...


class StepLabel(msgspec.Struct, frozen=True, kw_only=True):
    """A test of another act at a turn (`step_test`), and the label that it gives
    (`critical_step`). `untested`: why there was no test.

    `q_pos` of the `n_pos` continuations after the other act succeed, `q_neg` of `n_neg` after the
    own one: what the test saw until it stopped, and no estimates (`StepValue` has those). `gap`:
    the difference by path counts of this test, unbiased over all tests but not over the accepted.
    `q_confirm`: of an accepted test, the share of successes after the other act less that after the
    own one, among fresh continuations that the test never saw (`confirm_pos_ids`,
    `confirm_neg_ids`, with `confirm_pos` and `confirm_neg` successes).
    """

    proposed_by: MaybeText = UNSET
    own: MaybeText = UNSET
    on_policy_for: MaybeText = UNSET
    control: bool = False
    accepted: bool | UnsetType | None = UNSET
    q_pos: MaybeNumber = UNSET
    n_pos: MaybeCount = UNSET
    q_neg: MaybeNumber = UNSET
    n_neg: MaybeCount = UNSET
    gap: MaybeNumber = UNSET
    method: MaybeText = UNSET
    stopped_at: MaybeCount = UNSET
    invalid: MaybeCount = UNSET
    weights_id: MaybeText | None = UNSET
    pos_ids: MaybeIds = UNSET
    neg_ids: MaybeIds = UNSET
    q_confirm: MaybeNumber = UNSET
    confirm_pos: MaybeCount = UNSET
    confirm_neg: MaybeCount = UNSET
    confirm_pos_ids: MaybeIds = UNSET
    confirm_neg_ids: MaybeIds = UNSET
    reason: MaybeText | None = UNSET
    untested: MaybeText = UNSET
    alternative: MaybeAct = UNSET
    alternative_digest: MaybeText = UNSET
    alternative_from: MaybeText = UNSET
    alternative_authorship: MaybeText = UNSET
    status: Status | UnsetType = UNSET
    fdr: MaybeNumber = UNSET

    @classmethod
    def tested(cls, unit: Suggested, effect: StepTest) -> "StepLabel":
        """What the test of another act at a unit's turn came to."""
        return cls(
            proposed_by=unit.rule,
            accepted=effect.accepted,
            reason=effect.reason,
            **effect.evidence(),
            **effect.alternative(),
        )

    @property
    def difference(self) -> float | None:
        """The unbiased `gap`; None where an arm has no verdict or the test is undefined."""
        return None if given(self.accepted) is None else given(self.gap)

    @property
    def evidence(self) -> Evidence | None:
        """None where nothing was tested."""
        return evidence_of(self)


class StepValue(msgspec.Struct, frozen=True, kw_only=True):
    """How often the continuations of one act at a turn succeed (`step_value`), accepted or not.

    The row's value is the unbiased rate by path counts (`synth.stats.path_counts`), not
    `successes` / `n`, which is biased by when the test stopped; None where a test of the state is
    undefined, and where two tests share a side that is not the control of both.
    """

    proposed_by: str = ""
    own: str = ""
    on_policy_for: str = ""
    act: str = ""
    successes: int = 0
    n: int = 0


class Changed(msgspec.Struct, frozen=True):
    """In what the effect of an injected turn differs from the clean one's."""

    state: bool
    observation: bool

    @property
    def any(self) -> bool:
        return self.state or self.observation


class AttributionLabel(msgspec.Struct, frozen=True, kw_only=True):
    """Which turn makes a run fail: a mistake put there (`injection`), a fault of the environment
    (`observation_fault`), a correction that makes the run pass (`repair`), or what the agent came
    back from (`recovery`); and the tests of these.
    """

    status: Status | UnsetType = UNSET
    side: Side | UnsetType = UNSET
    strategy: MaybeText | None = UNSET
    mode: MaybeText | None = UNSET
    legend_version: str | int | UnsetType = UNSET
    preferred: bool | UnsetType = UNSET
    clean_twin_id: MaybeText | None = UNSET
    original: MaybeAct = UNSET
    injected: MaybeAct | None = UNSET
    correction: MaybeAct = UNSET
    description: MaybeText | None = UNSET
    mistake_agent: MaybeText | None = UNSET
    mistake_step: MaybeText | None = UNSET
    effect: Changed | UnsetType = UNSET
    earliest_tested: bool | UnsetType = UNSET
    on_policy_for: MaybeText = UNSET
    likelihood: MaybeText = UNSET
    dpo: bool | UnsetType = UNSET
    recovered: bool | UnsetType = UNSET
    q_pos: MaybeNumber = UNSET
    n_pos: MaybeCount = UNSET
    q_neg: MaybeNumber = UNSET
    n_neg: MaybeCount = UNSET
    gap: MaybeNumber = UNSET
    method: MaybeText = UNSET
    stopped_at: MaybeCount = UNSET
    invalid: MaybeCount = UNSET
    weights_id: MaybeText | None = UNSET
    pos_ids: MaybeIds = UNSET
    neg_ids: MaybeIds = UNSET
    q_confirm: MaybeNumber = UNSET
    confirm_pos: MaybeCount = UNSET
    confirm_neg: MaybeCount = UNSET
    confirm_pos_ids: MaybeIds = UNSET
    confirm_neg_ids: MaybeIds = UNSET
    reaction: Mapping[str, Any] | UnsetType = UNSET
    instruction: MaybeText | None = UNSET
    fdr: MaybeNumber = UNSET
    control_of: MaybeText = UNSET
    label: MaybeText = UNSET

    @property
    def evidence(self) -> Evidence | None:
        """None where nothing was tested."""
        return evidence_of(self)


class Memo(msgspec.Struct, frozen=True):
    """What an attempt leaves for the next, by the sections that PDI reads. Only the lessons among
    them (`next_strategy`) are ever whispered; `failed_tests` is gold.
    """

    attempts_log: tuple[str, ...]
    commands: tuple[str, ...]
    verified_facts: tuple[str, ...]
    error_pattern: str | None
    next_strategy: str
    failed_tests: tuple[str, ...]


class RetryLabel(msgspec.Struct, frozen=True, kw_only=True):
    """What was said of a failed attempt, and the retry that followed from it (`reflection`)."""

    chain: str
    key: str
    attempt: int
    retry: str | None
    reflection: Mapping[str, Any] | None
    memo: Memo | None
    why_none: str | None
    what_was_wrong: str | None
    gold_informed: bool
    pivot: int | None
    r1: float
    r2: float | None
    steps1: int
    steps2: int | None
    tokens: Mapping[str, int | float]
    leaks: tuple[Mapping[str, Any], ...] = ()


Label = StepLabel | AttributionLabel | RetryLabel
METRICS: Mapping[type[Any], tuple[str, ...]] = {
    StepLabel: ("critical_step",),
    StepValue: ("step_value",),
    AttributionLabel: ("injection", "observation_fault", "recovery", "repair"),
    RetryLabel: ("reflection",),
}
"""Under which metrics the labels of a kind stand; the tests behind them stand under others."""


def given(value: Any) -> Any:
    """The value of a field, None where it is not set."""
    return None if value is UNSET else value


def evidence_of(label: StepLabel | AttributionLabel) -> Evidence | None:
    """The counts of a tested label."""
    n_pos, n_neg, method = given(label.n_pos), given(label.n_neg), given(label.method)
    if method is None or n_pos is None or n_neg is None:
        return None
    return Evidence(
        method=method,
        treated=_counts(label.q_pos, n_pos, label.pos_ids),
        control=_counts(label.q_neg, n_neg, label.neg_ids),
        looks=given(label.stopped_at) or 0,
        lost=given(label.invalid) or 0,
        accepted=given(getattr(label, "accepted", None)),
        weights_id=given(label.weights_id),
        false_discovery=given(label.fdr),
    )


def _counts(share: Any, n: int, ids: Any) -> Counts:
    return Counts(round((given(share) or 0) * n), n, given(ids) or ())
