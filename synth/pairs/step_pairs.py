"""Step labels whose tools do not give them away: every hard label stands beside an opposite one of
the same tools.

What tests and checks find wrong are certain calls (who acts too early writes), so that the name of
a tool alone told good steps from bad ones (AUC .75). So true and false labels are drawn in pairs
within the tools of a step: after the same prompt, else after the answer of the same tool in the
same environment (in one task alone, the kind of state told them apart). The ledger is read twice,
as for KTO.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

import msgspec
from msgspec.structs import replace

from synth.ledger.ledger import StoredLedger
from synth.pairs.kept_steps import kept_steps
from synth.pairs.labels import LabelSettings, StepReport
from synth.pairs.step_labels import StepRow, step_labels
from synth.pairs.turns import prompt_digest, tool_in_context
from synth.schemas import Tier, content_hash
from synth.stats.ranks import auc

UNPAIRED = "no_opposite_of_its_tool"
"""Why a hard label is none, or a row is left out."""
LEVELS = ("prompt", "tool_in_context")
"""What the two of a pair share beside the tools, the closest first."""


class HardLabel(msgspec.Struct, frozen=True):
    """A label to be paired, by its place among the rows; `extra`: only wanted as a partner."""

    place: int
    good: bool
    tools: str
    context: str
    prompt: str
    drawn: str
    extra: bool = False

    def shared(self, level: str) -> Hashable:
        """What its partner at this level has as well."""
        closer = {"prompt": self.prompt, "tool_in_context": self.context}
        return self.tools, closer[level]


def paired_steps(
    ledger: StoredLedger, settings: LabelSettings | None = None, report: StepReport | None = None
) -> Iterator[StepRow]:
    """The step labels (`step_labels`), hard ones in pairs; `report` is whole at the end.

    A hard label without a partner is null where its soft value is known, and left out elsewhere.
    Writes of passed trials are taken in as partners of blamed ones.
    """
    settings = settings or LabelSettings()
    report = StepReport() if report is None else report

    found = enumerate(step_labels(ledger, settings, StepReport()))
    hard = [_hard(at, row) for at, row in found if _decided(row)]
    blamed = frozenset(one.tools for one in hard if not one.good)
    extras = enumerate(_partners(ledger, settings, blamed))
    hard += [_hard(-1 - at, row, extra=True) for at, row in extras]
    by = paired(hard)
    _remember(report, hard, by)

    for place, row in _rows(ledger, settings, report, blamed):
        kept = row if not _decided(row) or place in by else _softened(row)
        if place >= 0:
            # what the reading has counted is not what leaves
            _count(report, row, -1)
            report.left_out.update([UNPAIRED] if kept is None else [])
        if kept is not None:
            _count(report, kept, 1)
            yield kept


def _count(report: StepReport, row: StepRow, by: int) -> None:
    report.tiers[row.label.tier] += by
    report.labels[row.label.tier, row.label.label] += by


def _rows(
    ledger: StoredLedger, settings: LabelSettings, report: StepReport, blamed: frozenset[str]
) -> Iterator[tuple[int, StepRow]]:
    """All labels with their places, then those that are wanted as partners alone, whose places are
    below 0.
    """
    yield from enumerate(step_labels(ledger, settings, report))
    for at, row in enumerate(_partners(ledger, settings, blamed)):
        yield -1 - at, row


def _partners(
    ledger: StoredLedger, settings: LabelSettings, blamed: frozenset[str]
) -> Iterator[StepRow]:
    """Writes of passed trials by tools that are blamed elsewhere."""
    return (row for row in kept_steps(ledger, settings) if _tools(row) in blamed)


def _tools(row: StepRow) -> str:
    return "+".join(call.name for call in row.step.tool_calls)


def _decided(row: StepRow) -> bool:
    return row.label.label is not None


def _softened(row: StepRow) -> StepRow | None:
    """The row without its hard label; None where nothing else is known of the step."""
    if row.label.tier is not Tier.INTERVENTIONAL or row.label.q is None:
        return None
    return StepRow(replace(row.label, label=None), row.trajectory)


def _hard(place: int, row: StepRow, *, extra: bool = False) -> HardLabel:
    one, turn = row.trajectory, row.label.turn
    return HardLabel(
        place,
        bool(row.label.label),
        _tools(row),
        f"{one.env}|{tool_in_context(one, turn)}",
        prompt_digest(one, turn),
        content_hash([one.trajectory_id, turn, row.label.source]),
        extra,
    )


def paired(labels: Sequence[HardLabel]) -> Mapping[int, str]:
    """The labels that are taken, by their places, and at which level each has its partner. No two
    that are only wanted as partners make a pair.
    """
    left = {one.place: one for one in sorted(labels, key=lambda one: (one.extra, one.drawn))}
    found = dict[int, str]()

    for level in LEVELS:
        groups = defaultdict[Hashable, list[HardLabel]](list)
        for one in left.values():
            groups[one.shared(level)].append(one)

        for good, bad in chain.from_iterable(map(_couples, groups.values())):
            for place in (good.place, bad.place):
                found[place] = level
                del left[place]

    return found


def _couples(group: Iterable[HardLabel]) -> list[tuple[HardLabel, HardLabel]]:
    """True and false ones, in their order, as long as there are both."""
    ones = list(group)
    good, bad = ([one for one in ones if one.good is wanted] for wanted in (True, False))
    return [pair for pair in zip(good, bad, strict=False) if not all(one.extra for one in pair)]


def _remember(report: StepReport, hard: Sequence[HardLabel], by: Mapping[int, str]) -> None:
    """Fills in the pairs by level, and what gives labels away before and after."""
    taken = [one for one in hard if one.place in by]
    report.paired.update(Counter(by.values()))
    found = [one for one in hard if not one.extra]
    report.tool_auc = given_away(found), given_away(taken)
    report.context_auc = given_away(found, context=True), given_away(taken, context=True)


def given_away(labels: Sequence[HardLabel], *, context: bool = False) -> float | None:
    """The best AUC with which the tools of a step can tell true labels from false ones on these
    very rows, each scored by the share of true ones among its like; with `context`, tools and the
    tool that answered last. None without both labels.
    """

    def key(one: HardLabel) -> Hashable:
        return (one.tools, one.context) if context else one.tools

    told = Counter((key(one), one.good) for one in labels)
    scores: dict[bool, list[float]] = {True: [], False: []}
    for one in labels:
        good, bad = told[key(one), True], told[key(one), False]
        scores[one.good].append(good / (good + bad))

    return auc(scores[True], scores[False]) if scores[True] and scores[False] else None
