"""Preference pairs of a ledger: every pair that its tests allow, once, under caps, with length
balanced and style measured.

The ledger is read twice: the first reading keeps what is needed to decide (a few kilobytes per
pair, and the words of at most 1,000 pairs
of a family), the second gives the rows, a hundred states in memory at a time.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping

from synth.ledger.ledger import Ledger
from synth.pairs.candidates import candidates
from synth.pairs.labels import LengthBalance, PairReport, PairRow, PairSettings
from synth.schemas.pairs import PairFamily, PreferencePair
from synth.schemas.trajectory import Authorship
from synth.stats.length_balance import Lengths, balanced, chosen_longer, length_auc
from synth.text.authorship import StyledPair, style, styled

MOST_STYLED = 500
"""Pairs of a family whose words are looked at: an AUC is then known to 0.03 or so."""
_ORDER = tuple(PairFamily)
Rank = tuple[bool, bool, int, str, str]
"""Of several candidates with one id the smallest stands."""


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


def _surveyed(ledger: Ledger, settings: PairSettings, report: PairReport) -> dict[str, Rank]:
    """Which candidates are taken, id -> rank; fills the report."""
    found: dict[str, PreferencePair] = {}
    words: dict[str, dict[str, StyledPair]] = defaultdict(dict)
    for row in candidates(ledger, settings, report):
        pair = row.pair
        known = found.get(pair.pair_id)
        report.left_out.update(["duplicate"] if known is not None else ())
        if known is None or _rank(pair) < _rank(known):
            found[pair.pair_id] = pair
            _remember(words[_name(pair)], row)
    capped = _capped(found.values(), settings, report.left_out)
    taken: list[PreferencePair] = []
    for off_policy in (False, True):
        of_these = [pair for pair in capped if pair.off_policy is off_policy]
        taken += _balanced(of_these, settings, report)
    for pair in taken:
        report.policies[pair.prefix_policy, pair.chosen_policy, pair.rejected_policy] += 1
        report.families[pair.family.value] += 1
        report.off_policy.update(filter(None, [pair.off_policy_reason]))
    ranks = {pair.pair_id: _rank(pair) for pair in taken}
    for name, pairs in sorted(words.items()):
        told = [styles for pair, styles in sorted(pairs.items()) if pair in ranks]
        report.styles[name] = style(told[:MOST_STYLED], settings.style_auc)
    report.rows = len(taken)
    return ranks


def _rank(pair: PreferencePair) -> Rank:
    """The better of two candidates for one pair: not written by a script, by the policy itself, the
    plainer family.
    """
    by_itself = pair.chosen_policy == pair.prefix_policy
    scripted = Authorship.SCRIPTED in (pair.chosen_authorship, pair.rejected_authorship)
    places = (pair.prefix.trajectory_id, pair.chosen.trajectory_id)
    return (scripted, not by_itself, _ORDER.index(pair.family), *places)


def _name(pair: PreferencePair) -> str:
    return f"off_policy/{pair.family}" if pair.off_policy else pair.family.value


def _remember(words: dict[str, StyledPair], row: PairRow) -> None:
    """Keeps the pairs with the smallest ids."""
    words[row.pair.pair_id] = StyledPair(row.pair.task_id, styled(row.chosen), styled(row.rejected))
    if len(words) > 2 * MOST_STYLED:
        for pair in sorted(words)[MOST_STYLED:]:
            del words[pair]


def _capped(
    pairs: Iterable[PreferencePair], settings: PairSettings, left_out: Counter[str]
) -> list[PreferencePair]:
    """In the order of their ids, which is no order of anything else, as many as the caps allow."""
    counts: Counter[tuple[str, Hashable]] = Counter()
    kept = []
    for pair in sorted(pairs, key=lambda one: one.pair_id):
        template = pair.template if ":" in pair.template else f"{pair.template}:{pair.task_id}"
        seed = pair.task_id if pair.world_seed is None else pair.world_seed
        limits: Mapping[tuple[str, Hashable], int] = {
            ("step_cap", (pair.task_id, pair.prefix.turn)): settings.per_step,
            ("task_cap", pair.task_id): settings.per_task,
            ("seed_cap", (pair.template.partition(":")[0], seed)): settings.per_seed,
            ("template_cap", template): settings.per_template,
        }
        full = next((name for (name, of), most in limits.items() if counts[name, of] >= most), None)
        if full is not None:
            left_out[full] += 1
            continue
        counts.update(limits.keys())
        kept.append(pair)
    return kept


def _balanced(
    pairs: list[PreferencePair], settings: PairSettings, report: PairReport
) -> list[PreferencePair]:
    """Each family by itself, then all together; the figures of both go into the report."""
    if not pairs:
        return []
    prefix = "off_policy/" if pairs[0].off_policy else ""
    lengths = [Lengths(pair.pair_id, pair.chosen_length, pair.rejected_length) for pair in pairs]
    by_family: dict[str, list[Lengths]] = defaultdict(list)
    for pair, one in zip(pairs, lengths, strict=True):
        by_family[pair.family.value].append(one)
    kept, count = dict(sorted(by_family.items())), -1
    # what is left out of all may unbalance a family, and the reverse
    while count != (count := sum(map(len, kept.values()))):
        kept = {name: balanced(found, settings.length_auc) for name, found in kept.items()}
        whole = [one for found in kept.values() for one in found]
        ids = {one.pair_id for one in balanced(whole, settings.length_auc)}
        kept = {name: [one for one in found if one.pair_id in ids] for name, found in kept.items()}
    ids = {one.pair_id for found in kept.values() for one in found}
    for name, found in {**by_family, "all": lengths}.items():
        left = [one for one in found if one.pair_id in ids]
        report.lengths[prefix + name] = LengthBalance(
            *(len(found), length_auc(found), chosen_longer(found)),
            *(len(left), length_auc(left), chosen_longer(left)),
        )
    report.left_out.update(
        {"length_balance": len(pairs) - len(ids)} if len(ids) < len(pairs) else ()
    )
    return [pair for pair in pairs if pair.pair_id in ids]
