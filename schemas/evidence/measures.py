"""What stands behind a measure beside its number, typed. Its writer gives the struct; the ledger
alone encodes it as the JSON that people read, and decodes it again.

A field that is left out is not written; None is written where the type has `UNSET` as well.
"""

import msgspec
from msgspec import UNSET, UnsetType

from synth.schemas.evidence.labels import StepRef


class Faulted(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A fault that kept a measure from being taken: it is not kept, and tried again next time."""

    fault: str | None = None
    message: str | None = None


class Ranked(Faulted, frozen=True, omit_defaults=True, kw_only=True):
    """What a student makes of a trajectory (`rsr`), or of its decisions (`rsr_decision`).

    `turns`: of each, the sums of capped ranks and of surprisals in nats, and the tokens. `final`: a
    fault that another try would not mend. `why`: the reason why there is no ratio.
    """

    final: bool | None = None
    why: str | None = None
    student: str | None = None
    weights_id: str | UnsetType | None = UNSET
    template_hash: str | None = None
    tools_rendered: bool | None = None
    max_rank: int | None = None
    turns: tuple[tuple[float, float, int], ...] = ()
    loss_tokens: int | None = None
    chat_tokens: int | UnsetType | None = UNSET
    copied_share: float | UnsetType | None = UNSET
    tokens: int | None = None
    avg_rank_clip: float | None = None
    avg_nll: float | None = None


class Potentials(msgspec.Struct, frozen=True):
    """A trial's potential turn by turn (`potential`): canned turns have none. `seen`: the share of
    its turns that a donor came by.
    """

    turns: tuple[int, ...]
    by_turn: tuple[float | None, ...]
    nodes: tuple[str, ...] = ()
    donors: int | None = None
    seen: float = 0.0


class ComparedPotentials(msgspec.Struct, frozen=True):
    """A trial beside another one of its task (`potential_pair`): their mean potentials by the
    `donors` other trials. The row's value is 1 where the row's own trial does better, 0 where the
    other does, .5 where they are equal or one of them is not known.
    """

    other: str
    of_own: float | None
    of_other: float | None
    donors: int


class Merged(msgspec.Struct, frozen=True):
    """Which text a turn shares its node with (`merged`), and how alike the node's texts are."""

    node: str
    first: StepRef = msgspec.field(name="with")
    least: float
    threshold: float


class Text(msgspec.Struct, frozen=True):
    """A text that a filter or a role wrote (`skill`, `note`)."""

    text: str = ""
