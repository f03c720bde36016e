"""What is asked of a ledger's labels, the rows that exporters are given, and what came of a
reading: taken, left out with the reason, and what a reader of the card must know.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import msgspec
from pydantic import Field

from synth.datasets.release import LeftOut
from synth.schemas import KtoLabel, PairLabel, PrmLabel, Release, Tier, Trajectory, Turn
from synth.text.authorship import Style

L = TypeVar("L", KtoLabel, PrmLabel)


class LabelSettings(Release):
    """What KTO rows and step labels share with pairs.

    `student`: the policy to be trained; left out, each label's own (`on_policy_for`).
    `include_statistical`: step labels of tier E3 too.
    """

    student: str | None = None
    include_statistical: bool = False


class PairSettings(LabelSettings):
    """Caps count pairs of one task with the same chosen or the same rejected act, of one (task,
    turn), of one task, of one world seed and of one template, where the last two are known.

    `length_auc`: what a classifier that sees nothing but length may reach, over all pairs and
    within each family; pairs are left out until it holds. `style_auc`: from where a family is
    called style-confounded.
    """

    # how many pairs of a kind there may be
    per_act: int = Field(default=1, ge=1)
    per_step: int = Field(default=3, ge=1)
    per_task: int = Field(default=4, ge=1)
    per_seed: int = Field(default=100, ge=1)
    per_template: int = Field(default=1000, ge=1)
    # what a classifier of form alone may reach
    length_auc: float = Field(default=0.60, ge=0.5, le=1)
    style_auc: float = Field(default=0.65, ge=0.5, le=1)


class PairRow(msgspec.Struct, frozen=True):
    """`prompt` is the recorded trajectory that holds the prefix: everything before turn
    `pair.prefix.turn` of it.

    `action_only`: one side alone has a thought; both are to be rendered without, or the thought
    gives the answer away.
    """

    pair: PairLabel
    prompt: Trajectory
    chosen: Turn
    rejected: Turn

    @property
    def action_only(self) -> bool:
        """Whether thoughts would tell which side is which."""
        return bool(self.chosen.thought) is not bool(self.rejected.thought)


class TurnRow(msgspec.Struct, Generic[L], frozen=True):
    """A label on a turn of a trajectory; the prompt is what stands before the turn."""

    label: L
    trajectory: Trajectory

    @property
    def step(self) -> Turn:
        """The labelled turn."""
        return self.trajectory.turns[self.label.turn]


class LengthBalance(msgspec.Struct, frozen=True):
    """A length-only classifier on one family (or all pairs), before and after sampling.

    `auc`: the better of long-is-chosen and short-is-chosen, sides pooled. `chosen_longer`: share of
    the pairs, ties half. None where there are too few pairs to tell.
    """

    pairs: int
    auc: float | None
    chosen_longer: float | None
    kept: int
    auc_kept: float | None
    chosen_longer_kept: float | None


@dataclass(slots=True)
class PairReport(LeftOut):
    """Filled by `preference_pairs` before it gives its first row.

    `candidates` by family, `policies` = (prefix, chosen, rejected) -> pairs, `off_policy` by
    reason. `lengths` and `styles` by `family`, `all`, and the same after `off_policy/`.
    """

    # what tests allow, before caps and balance
    candidates: Counter[str] = field(default_factory=Counter)
    # what is taken
    policies: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    families: Counter[str] = field(default_factory=Counter)
    off_policy: Counter[str] = field(default_factory=Counter)
    # what gives the chosen side away
    lengths: dict[str, LengthBalance] = field(default_factory=dict)
    styles: dict[str, Style] = field(default_factory=dict)
    rows: int = 0

    @property
    def style_confounded(self) -> list[str]:
        """Families in which style alone gives the chosen side away."""
        return [name for name, style in self.styles.items() if style.confounded]

    def remarks(self) -> Iterator[str]:
        """What a reader of the card must know: whose turns stand on which side, and what gives the
        chosen side away.
        """
        # a trainer that mixes policies should know of it
        for (prefix, chosen, rejected), count in sorted(self.policies.items()):
            yield (
                f"Sampled by: prefix {prefix}, chosen {chosen}, rejected {rejected} "
                f"({count} pairs)."
            )

        # said only where there are pairs enough to tell
        for name, length in sorted(self.lengths.items()):
            if length.auc is not None and length.auc_kept is not None:
                yield (
                    f"Length alone tells chosen from rejected in {name}: AUC {length.auc:.2f}, "
                    f"{length.auc_kept:.2f} of what was kept."
                )

        # a model may learn the style in place of the act
        for name in sorted(self.style_confounded):
            features = ", ".join(self.styles[name].features[:5])
            yield (
                f"WARNING: {name} is style_confounded: style alone (without argument values) "
                f"gives the chosen side away: {features}."
            )


@dataclass(slots=True)
class KtoReport(LeftOut):
    """Filled by `kto_labels` before it gives its first row. `matched`: negatives by what they share
    with a positive.
    """

    desirable: int = 0
    undesirable: int = 0
    matched: Counter[str] = field(default_factory=Counter)
    strata: Counter[str] = field(default_factory=Counter)

    @property
    def weights(self) -> tuple[float, float] | None:
        """Suggested (desirable, undesirable): the smaller class is weighed up until lambda_D n_D /
        (lambda_U n_U) is within [1, 4/3].

        None where a class is empty (KTO, arXiv 2402.01306, section 4.2).
        """
        if not self.desirable or not self.undesirable:
            return None

        # within the bounds nothing is weighed: 1 to 4/3 in favour of desirable turns
        ratio = self.desirable / self.undesirable
        if ratio < 1:
            return 1 / ratio, 1.0

        return (1.0, ratio * 3 / 4) if ratio > 4 / 3 else (1.0, 1.0)

    def remarks(self) -> Iterator[str]:
        """What a reader of the card must know: how to weigh the classes."""
        if self.weights is not None:
            good, bad = self.weights
            yield f"Suggested: desirable_weight={good:.3g}, undesirable_weight={bad:.3g}."


@dataclass(slots=True)
class StepReport(LeftOut):
    """Filled while `step_labels` is read: labels by tier and by (tier, label).

    `paired`: hard labels by what they share with an opposite one of the same tools. `tool_auc`: how
    well the tools of a step can tell true from false, of all found and of those in pairs (AUC,
    scored by the shares among these very rows); `context_auc`: the tools and the tool that answered
    last. None where there are not both.
    """

    tiers: Counter[Tier] = field(default_factory=Counter)
    labels: Counter[tuple[Tier, bool | None]] = field(default_factory=Counter)
    paired: Counter[str] = field(default_factory=Counter)
    tool_auc: tuple[float | None, float | None] = (None, None)
    context_auc: tuple[float | None, float | None] = (None, None)

    def remarks(self) -> Iterator[str]:
        """What a reader of the card must know: what gives hard labels away, and what is left of
        that.
        """
        if self.paired:
            levels = ", ".join(f"{count} by {name}" for name, count in self.paired.items())
            yield f"Hard labels stand in pairs of the same tools: {levels}."

        shown = {"The name of the tool": self.tool_auc, "With the last tool": self.context_auc}
        for what, (found, left) in shown.items():
            if found is not None:
                now = "nothing" if left is None else f"{left:.2f}"
                yield f"{what} alone tells true from false: AUC {found:.2f} of all, {now} of these."
