"""What came of a reading of the ledger: taken, left out with the reason, and what a reader of the
card must know.
"""

from collections import Counter
from dataclasses import dataclass, field

import msgspec

from synth.datasets.left_out import LeftOut
from synth.schemas.pairs import Tier
from synth.text.authorship import Style


class LengthBalance(msgspec.Struct, frozen=True):
    """A length-only classifier on one family (or all pairs), before and after sampling.

    `auc`: the better of long-is-chosen and short-is-chosen, sides pooled. `chosen_longer`: share of
    the pairs, ties half. None where
    there are too few pairs to tell.
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

    `candidates` by family, `policies` = (prefix, chosen, rejected) -> pairs,
    `off_policy` by reason. `lengths` and `styles` by `family`, `all`, and the same after
    `off_policy/`.
    """

    candidates: Counter[str] = field(default_factory=Counter)
    policies: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    families: Counter[str] = field(default_factory=Counter)
    off_policy: Counter[str] = field(default_factory=Counter)
    lengths: dict[str, LengthBalance] = field(default_factory=dict)
    styles: dict[str, Style] = field(default_factory=dict)
    rows: int = 0

    @property
    def style_confounded(self) -> list[str]:
        """Families in which style alone gives the chosen side away."""
        return [name for name, style in self.styles.items() if style.confounded]


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
        ratio = self.desirable / self.undesirable
        if ratio < 1:
            return 1 / ratio, 1.0
        return (1.0, ratio * 3 / 4) if ratio > 4 / 3 else (1.0, 1.0)


@dataclass(slots=True)
class StepReport(LeftOut):
    """Filled while `step_labels` is read: labels by tier and by (tier, label)."""

    tiers: Counter[Tier] = field(default_factory=Counter)
    labels: Counter[tuple[Tier, bool | None]] = field(default_factory=Counter)
