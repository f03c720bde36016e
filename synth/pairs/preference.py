"""Preference pairs of a ledger: every pair that its tests allow, once, under caps, with length
balanced and style measured.

The ledger is read twice: the first reading keeps what is needed to decide (a few kilobytes per
pair, and the words of at most 1,000 pairs of a family), the second gives the rows, a hundred states
in memory at a time.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence

from synth.ledger.ledger import StoredLedger
from synth.pairs.candidates import candidates
from synth.pairs.labels import LengthBalance, PairReport, PairRow, PairSettings
from synth.schemas import Authorship, PairFamily, PairLabel
from synth.stats.length_balance import Lengths, balanced, chosen_longer, length_auc
from synth.text.authorship import StyledPair, style, styled
from synth.text.transcript.acts import act_digest

MOST_STYLED = 500
"""Pairs of a family whose words are looked at: an AUC is then known to 0.03 or so."""
_ORDER = tuple(PairFamily)
Found = tuple[tuple[Hashable, ...], int, PairLabel, tuple[str, str]]
"""A pair with its rank, its place among the candidates and the digests of its acts: of one pair the
smallest stands.
"""


def preference_pairs(
    ledger: StoredLedger, settings: PairSettings | None = None, report: PairReport | None = None
) -> Iterator[PairRow]:
    """The pairs to train on, in the ledger's order; `report` is whole before the first of them is
    given.
    """
    settings = settings or PairSettings()
    report = PairReport() if report is None else report
    kept = _surveyed(candidates(ledger, settings, report), settings, report)

    for place, row in enumerate(candidates(ledger, settings, PairReport())):
        if place in kept:
            yield row


def _surveyed(rows: Iterator[PairRow], settings: PairSettings, report: PairReport) -> set[int]:
    """Which candidates are taken, by their places; fills the report."""
    found: dict[str, Found] = {}
    words: defaultdict[str, dict[str, StyledPair]] = defaultdict(dict)

    for place, row in enumerate(rows):
        identity, known = row.pair.pair_id, found.get(row.pair.pair_id)
        acts = (act_digest(row.chosen), act_digest(row.rejected))
        one = (_rank(row.pair), place, row.pair, acts)
        if known is not None:
            report.leaves("duplicate")

        if known is None or one[:2] < known[:2]:
            found[identity] = one
            _remember(words[_name(row.pair)], row)

    # caps come before balance, which sees what would be trained on
    capped = _capped([(pair, acts) for *_, pair, acts in found.values()], settings, report.left_out)
    taken = [
        pair
        for off_policy in (False, True)
        for pair in _balanced([p for p in capped if p.off_policy is off_policy], settings, report)
    ]

    for pair in taken:
        report.policies[pair.prefix_policy, pair.chosen_policy, pair.rejected_policy] += 1
        report.families[pair.family.value] += 1
        report.off_policy.update(filter(None, [pair.off_policy_reason]))

    identities = {pair.pair_id for pair in taken}

    # styles are of what is taken, at most so many of each family
    for name, pairs in sorted(words.items()):
        told = [styles for pair, styles in sorted(pairs.items()) if pair in identities]
        report.styles[name] = style(told[:MOST_STYLED], settings.style_auc)

    report.rows = len(taken)

    return {found[identity][1] for identity in identities}


def _rank(pair: PairLabel) -> tuple[Hashable, ...]:
    """The better of two candidates for one pair: not written by a script, by the policy itself, the
    plainer family.
    """
    # ids come last: some order there must be, and the order of reading is none
    by_itself = pair.chosen_policy == pair.prefix_policy
    scripted = Authorship.SCRIPTED in (pair.chosen_authorship, pair.rejected_authorship)
    places = (pair.prefix.trajectory_id, pair.chosen.trajectory_id)
    return (scripted, not by_itself, _ORDER.index(pair.family), *places)


def _name(pair: PairLabel) -> str:
    """Of the family, as the report calls it."""
    return f"off_policy/{pair.family}" if pair.off_policy else pair.family.value


def _remember(words: dict[str, StyledPair], row: PairRow) -> None:
    """Keeps the pairs with the smallest ids."""
    # ids are hashes, so the smallest ones are a sample of no particular kind
    words[row.pair.pair_id] = StyledPair(row.pair.task_id, styled(row.chosen), styled(row.rejected))
    if len(words) > 2 * MOST_STYLED:
        for pair in sorted(words)[MOST_STYLED:]:
            del words[pair]


def _capped(
    pairs: Iterable[tuple[PairLabel, tuple[str, str]]],
    settings: PairSettings,
    left_out: Counter[str],
) -> list[PairLabel]:
    """In the order of their ids, which is no order of anything else, as many as the caps allow."""
    counts: Counter[tuple[str, Hashable]] = Counter()
    kept = []

    for pair, acts in sorted(pairs, key=lambda one: one[0].pair_id):
        limits = _limits(pair, acts, settings)
        # the first cap that is reached counts, and the pair then counts for none
        full = next((one[0] for one, most in limits.items() if counts[one] >= most), None)

        if full is None:
            counts.update(limits.keys())
            kept.append(pair)
        else:
            left_out[full] += 1

    return kept


def _limits(
    pair: PairLabel, acts: tuple[str, str], settings: PairSettings
) -> dict[tuple[str, Hashable], int]:
    """What a pair counts among, and how many of each there may be; off-policy pairs are a data set
    of their own.
    """
    # a world that names no template has one of each task
    template = pair.template if ":" in pair.template else f"{pair.template}:{pair.task_id}"
    seed = pair.task_id if pair.world_seed is None else pair.world_seed
    apart, task = pair.off_policy, pair.task_id

    return {
        ("act_cap", (apart, task, "chosen", acts[0])): settings.per_act,
        ("act_cap", (apart, task, "rejected", acts[1])): settings.per_act,
        ("step_cap", (apart, task, pair.prefix.turn)): settings.per_step,
        ("task_cap", (apart, task)): settings.per_task,
        ("seed_cap", (apart, pair.template.partition(":")[0], seed)): settings.per_seed,
        ("template_cap", (apart, template)): settings.per_template,
    }


def _balanced(
    pairs: list[PairLabel], settings: PairSettings, report: PairReport
) -> list[PairLabel]:
    """Each family by itself, then all together; the figures of both go into the report."""
    if not pairs:
        return []

    families: defaultdict[str, list[Lengths]] = defaultdict(list)

    for pair in pairs:
        # off-policy pairs are a data set of their own, and balanced by themselves
        lengths = Lengths(pair.pair_id, pair.chosen_length, pair.rejected_length)
        families[_name(pair)].append(lengths)

    whole = [one for found in families.values() for one in found]
    kept, count = dict(sorted(families.items())), -1

    # what is left out of all may unbalance a family, and the reverse
    while count != (count := sum(map(len, kept.values()))):
        each = [one for found in kept.values() for one in balanced(found, settings.length_auc)]
        ids = {one.pair_id for one in balanced(each, settings.length_auc)}
        kept = {name: [one for one in found if one.pair_id in ids] for name, found in kept.items()}

    whole_name = "off_policy/all" if pairs[0].off_policy else "all"

    for name, found in {**families, whole_name: whole}.items():
        left = [one for one in found if one.pair_id in ids]
        report.lengths[name] = LengthBalance(*_measured(found), *_measured(left))

    if len(ids) < len(pairs):
        report.left_out["length_balance"] += len(pairs) - len(ids)

    return [pair for pair in pairs if pair.pair_id in ids]


def _measured(found: Sequence[Lengths]) -> tuple[int, float | None, float | None]:
    """(pairs, AUC of length, share whose chosen side is the longer)"""
    return len(found), length_auc(found), chosen_longer(found)
