"""Preference pairs of a ledger: every pair that its tests allow, once, under caps, with length
balanced and style measured.

The ledger is read twice: the first reading keeps what is needed to decide (a few kilobytes per
pair, and the words of at most 1,000 pairs
of a family), the second gives the rows, a hundred states in memory at a time.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping

import msgspec

from synth.ledger.ledger import Ledger
from synth.pairs.candidates import candidates
from synth.pairs.report import LengthBalance, PairReport
from synth.pairs.rows import PairRow
from synth.pairs.settings import PairSettings
from synth.schemas.pairs import PairFamily, PreferencePair
from synth.schemas.trajectory import Authorship
from synth.stats.length_balance import Lengths, balanced, chosen_longer, length_auc
from synth.text.authorship import StyledPair, style, styled

MOST_STYLED = 500
"""Pairs of a family whose words are looked at: an AUC is then known to 0.03 or so."""
_ORDER = tuple(PairFamily)


class Entry(msgspec.Struct, frozen=True):
    """What is remembered of a candidate; of several with one id the smallest `rank` stands."""

    pair: str
    rank: tuple[bool, bool, int, str, str]
    family: str
    off_policy: str | None
    policies: tuple[str, str, str]
    step: tuple[str, int]
    seed: tuple[str, int | str]
    template: str
    lengths: Lengths


def preference_pairs(
    ledger: Ledger, settings: PairSettings | None = None, report: PairReport | None = None
) -> Iterator[PairRow]:
    """The pairs to train on, in the ledger's order; `report` is whole before the first of them is
    given.
    """
    settings = settings or PairSettings()
    report = PairReport() if report is None else report
    kept = _surveyed(ledger, settings, report)
    for row in candidates(ledger, settings, PairReport()):
        if kept.get(row.pair.pair_id) == _rank(row.pair):
            del kept[row.pair.pair_id]
            yield row


def _surveyed(
    ledger: Ledger, settings: PairSettings, report: PairReport
) -> dict[str, tuple[bool, bool, int, str, str]]:
    """Which candidates are taken, id -> rank; fills the report."""
    entries: dict[str, Entry] = {}
    words: dict[str, dict[str, StyledPair]] = defaultdict(dict)
    for row in candidates(ledger, settings, report):
        entry = _entry(row.pair)
        known = entries.get(entry.pair)
        if known is not None:
            report.left_out["duplicate"] += 1
        if known is None or entry.rank < known.rank:
            entries[entry.pair] = entry
            _remember(words[_name(entry)], row)
    capped = _capped(entries.values(), settings, report.left_out)
    taken: list[Entry] = []
    for off_policy in (False, True):
        taken += _balanced(
            [one for one in capped if (one.off_policy is not None) is off_policy], settings, report
        )
    for entry in taken:
        report.policies[entry.policies] += 1
        report.families[entry.family] += 1
        if entry.off_policy is not None:
            report.off_policy[entry.off_policy] += 1
    ids = {entry.pair for entry in taken}
    for name, pairs in sorted(words.items()):
        report.styles[name] = style(
            [found for pair, found in sorted(pairs.items()) if pair in ids][:MOST_STYLED],
            settings.style_auc,
        )
    report.rows = len(taken)
    return {entry.pair: entry.rank for entry in taken}


def _rank(pair: PreferencePair) -> tuple[bool, bool, int, str, str]:
    """The better of two candidates for one pair: not written by a script, by the policy itself, the
    plainer family.
    """
    by_itself = pair.chosen_policy == pair.prefix_policy
    scripted = Authorship.SCRIPTED in (pair.chosen_authorship, pair.rejected_authorship)
    return (
        scripted,
        not by_itself,
        _ORDER.index(pair.family),
        pair.prefix.trajectory_id,
        pair.chosen.trajectory_id,
    )


def _entry(pair: PreferencePair) -> Entry:
    return Entry(
        pair=pair.pair_id,
        rank=_rank(pair),
        family=pair.family.value,
        off_policy=pair.off_policy_reason,
        policies=(pair.prefix_policy, pair.chosen_policy, pair.rejected_policy),
        step=(pair.task_id, pair.prefix.turn),
        seed=(
            pair.template.partition(":")[0],
            pair.task_id if pair.world_seed is None else pair.world_seed,
        ),
        template=pair.template if ":" in pair.template else f"{pair.template}:{pair.task_id}",
        lengths=Lengths(pair.pair_id, pair.chosen_length, pair.rejected_length),
    )


def _name(entry: Entry) -> str:
    return f"off_policy/{entry.family}" if entry.off_policy is not None else entry.family


def _remember(words: dict[str, StyledPair], row: PairRow) -> None:
    """Keeps the pairs with the smallest ids."""
    words[row.pair.pair_id] = StyledPair(row.pair.task_id, styled(row.chosen), styled(row.rejected))
    if len(words) > 2 * MOST_STYLED:
        for pair in sorted(words)[MOST_STYLED:]:
            del words[pair]


def _capped(
    entries: Iterable[Entry], settings: PairSettings, left_out: Counter[str]
) -> list[Entry]:
    """In the order of their ids, which is no order of anything else, as many as the caps allow."""
    limits: Mapping[str, tuple[int, Callable[[Entry], Hashable]]] = {
        "step_cap": (settings.per_step, lambda one: one.step),
        "task_cap": (settings.per_task, lambda one: one.step[0]),
        "seed_cap": (settings.per_seed, lambda one: one.seed),
        "template_cap": (settings.per_template, lambda one: one.template),
    }
    counts: Counter[tuple[str, Hashable]] = Counter()
    kept = []
    for entry in sorted(entries, key=lambda one: one.pair):
        keys = {name: (name, key(entry)) for name, (_, key) in limits.items()}
        full = next(
            (name for name, (most, _) in limits.items() if counts[keys[name]] >= most), None
        )
        if full is not None:
            left_out[full] += 1
            continue
        counts.update(keys.values())
        kept.append(entry)
    return kept


def _balanced(entries: list[Entry], settings: PairSettings, report: PairReport) -> list[Entry]:
    """Each family by itself, then all together; the figures of both go into the report."""
    if not entries:
        return []
    prefix = "off_policy/" if entries[0].off_policy is not None else ""
    by_family: dict[str, list[Lengths]] = defaultdict(list)
    for entry in entries:
        by_family[entry.family].append(entry.lengths)
    kept, count = {name: found for name, found in sorted(by_family.items())}, -1
    while count != (
        count := sum(map(len, kept.values()))
    ):  # what is left out of all may unbalance a family, and the reverse
        kept = {name: balanced(found, settings.length_auc) for name, found in kept.items()}
        together = {
            one.pair_id
            for one in balanced(
                [one for found in kept.values() for one in found], settings.length_auc
            )
        }
        kept = {
            name: [one for one in found if one.pair_id in together] for name, found in kept.items()
        }
    ids = {one.pair_id for found in kept.values() for one in found}
    for name, found in {**by_family, "all": [entry.lengths for entry in entries]}.items():
        left = [one for one in found if one.pair_id in ids]
        report.lengths[prefix + name] = LengthBalance(
            len(found),
            length_auc(found),
            chosen_longer(found),
            len(left),
            length_auc(left),
            chosen_longer(left),
        )
    if len(ids) < len(entries):
        report.left_out["length_balance"] += len(entries) - len(ids)
    return [entry for entry in entries if entry.pair in ids]
