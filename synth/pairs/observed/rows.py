"""The comparisons of a ledger's collected trials: which there are, what shuffled outcomes would
give, and the rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import msgspec
from msgspec.structs import replace

from synth.datasets.release import LABELLED_TURNS, Lineage, Why, first, may_leave
from synth.ledger.decisions import with_decisions
from synth.ledger.ledger import StoredLedger
from synth.ledger.with_tasks import batches
from synth.loss_turns import characters
from synth.pairs.labels import PairSettings
from synth.pairs.observed.pair import DrawnComparison, ObservedPair, drawn_from
from synth.pairs.observed.report import WITHOUT, ObservedReport
from synth.pairs.observed.shuffled import Shape, shuffled
from synth.pairs.turns import prompt_messages, provenance_gap, unlearnable
from synth.schemas import Release, Trajectory, Turn, Verdict
from synth.stats.length_balance import Lengths, balanced
from synth.topology.partings.states import NO_TRIALS, shared_states, why_none
from synth.topology.partings.trials import SeenTrial, mixed_groups

_AT_ONCE = 100
"""Comparisons whose trajectories are in memory together."""
Found = tuple[Trajectory, Mapping[str, Verdict]]


class ObservedRow(msgspec.Struct, frozen=True):
    """A pair with its turns; `prompt` is the trial that holds the prefix, the chosen one."""

    pair: ObservedPair
    prompt: Trajectory
    rejected_in: Trajectory

    @property
    def chosen(self) -> Turn:
        """What the trials that passed more often did."""
        return self.prompt.turns[self.pair.depth]

    @property
    def rejected(self) -> Turn:
        """What the other ones did there."""
        return self.rejected_in.turns[self.pair.depth]


def observed_pairs(
    ledger: StoredLedger, settings: PairSettings, report: ObservedReport
) -> Iterator[ObservedRow]:
    """One comparison per state at which acts passed differently, fewer where length alone would
    tell the sides apart; `report` is whole once all are given. Trials are read as digests first.
    """
    drawn = _comparisons(mixed_groups(ledger), report)

    # the first reading decides, so that the second can give rows one at a time
    for row in _rows(ledger, drawn, settings, report):
        report.lengths[row.pair.family].append(_lengths(row))
    kept = {
        one.pair_id
        for lengths in report.lengths.values()
        for one in balanced(lengths, settings.length_auc)
    }

    for row in _rows(ledger, drawn, settings, ObservedReport()):
        if row.pair.pair_id in kept:
            report.count(row.pair, _lengths(row))
            yield row
        else:
            report.leaves("length_balance")


def _lengths(row: ObservedRow) -> Lengths:
    return Lengths(row.pair.pair_id, characters(row.chosen), characters(row.rejected))


def _comparisons(
    groups: Mapping[str, Sequence[SeenTrial]], report: ObservedReport
) -> list[DrawnComparison]:
    """Of all groups, in the order of their tasks; each group gives one or a reason."""
    drawn: list[DrawnComparison] = []
    shapes: list[Shape] = []

    for trials in groups.values():
        passed = {trial.identity for trial in trials if trial.passed}
        if not 0 < len(passed) < len(trials):
            report.leaves(f"{WITHOUT}{NO_TRIALS}")
            continue
        states = list(shared_states(trials))
        partings = [parting for state in states if (parting := state.parting(passed))]
        drawn += [drawn_from(parting, trials, passed) for parting in partings]
        shapes.append(([trial.identity for trial in trials], len(passed), states))
        report.groups += 1
        if partings:
            report.compared += 1
        else:
            report.leaves(f"{WITHOUT}{why_none(trials)}")

    report.found = len(drawn)
    report.decisive = sum(one.parting.posterior >= report.LIKELY for one in drawn)
    report.shuffled = shuffled(shapes, report.LIKELY)

    return drawn


def _rows(
    ledger: StoredLedger,
    drawn: Sequence[DrawnComparison],
    settings: Release,
    report: ObservedReport,
) -> Iterator[ObservedRow]:
    """The rows that may leave; the others are counted in `report` by their reason."""
    for some in batches(drawn, _AT_ONCE):
        wanted = {identity for one in some for identity in (one.chosen, one.rejected)}
        held: dict[str, Found] = {
            trajectory.trajectory_id: (trajectory, verdicts)
            for trajectory, verdicts in with_decisions(ledger, report.aside, among=wanted)
        }
        for one in some:
            row = report.made(one.chosen, partial(_made, one, held, settings))
            if row is not None:
                yield row


def _made(one: DrawnComparison, held: Mapping[str, Found], settings: Release) -> ObservedRow | Why:
    """The row, or why there is none."""
    if not {one.chosen, one.rejected} <= held.keys():
        return "trajectory_lost"

    chosen, rejected = held[one.chosen][0], held[one.rejected][0]
    depth = one.parting.depth

    refusal = first(
        # one turn is learnt: being a copy of another trajectory says nothing of it
        may_leave(
            Lineage(side, (side.authorship,), continuation=True),
            held[side.trajectory_id][1],
            LABELLED_TURNS,
            settings,
        )
        for side in (chosen, rejected)
    )
    reason = refusal or unlearnable(chosen.turns[depth]) or unlearnable(rejected.turns[depth])
    if reason is not None:
        return reason
    # both answers must follow the same bytes, also after what was taken out of them
    if _shown(chosen, depth) != _shown(rejected, depth):
        return "prefix_differs"

    gap = provenance_gap(chosen, depth)

    return f"chosen_{gap}" if gap else ObservedRow(one.pair(chosen, rejected), chosen, rejected)


def _shown(one: Trajectory, depth: int) -> object:
    """Tools and messages before a turn, without ids and thoughts."""
    plain = [replace(turn, thought=None) for turn in one.turns[:depth]]
    messages = prompt_messages(replace(one, turns=tuple(plain)), depth)
    return one.tools, [_nameless(message) for message in messages]


def _nameless(message: Mapping[str, object]) -> Mapping[str, object]:
    calls = message.get("tool_calls")
    plain = {key: value for key, value in message.items() if key not in ("tool_call_id", "id")}
    if not isinstance(calls, list):
        return plain
    return {**plain, "tool_calls": [call["function"] for call in calls]}
