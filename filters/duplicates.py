"""The filter `duplicates`: drops the same transcript again, one that differs in a few words, and
turns that other rows teach already; the better row stays.

Better, in this order: a success before no verdict, a cut-off run, a failure; higher reward; nobody
who wrote it had looked at gold; written by a model before scripts; fewer turns, fewer calls; then
the lower trial number and the lower id, so that the order is total.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

import msgspec
from pydantic import Field

from synth.schemas import Authorship, Cases, Filter, FilterSettings, Outcome, Trajectory, Verdict
from synth.stats.minhash import LEAST_SIMILARITY, NearIndex, near_copies
from synth.text.similarity import exact_key, shared_openings, shingles, spoken, turn_keys

# the best first: a run without a verdict may be a success, a cut-off one is none
_OUTCOMES = (Outcome.SUCCESS, Outcome.UNKNOWN, Outcome.TRUNCATED, Outcome.FAILURE, Outcome.INVALID)


class DuplicatesConfig(FilterSettings):
    """`similarity`: of word triples (Jaccard), from which on two transcripts are one; None: only
    exact copies are dropped.

    `copied_turns`: share of its turns with loss that better rows hold word for word after the same
    answer, from which on a row is dropped; None: the share is only told. `turn_similarity`: from
    which on two turns count as the same one; None: word for word only (1 KB of memory per distinct
    turn otherwise). `across_outcomes: false` compares successes with successes only, failures with
    failures, so that a success and the failure beside it both stay.
    """

    similarity: float | None = Field(default=0.8, ge=LEAST_SIMILARITY, le=1)
    copied_turns: float | None = Field(default=None, gt=0, le=1)
    turn_similarity: float | None = Field(default=None, ge=LEAST_SIMILARITY, le=1)
    across_outcomes: bool = True


class _Row(msgspec.Struct, frozen=True):
    """What is remembered of a trajectory: its rank among copies, the hash of all it says, and the
    numbers of its turns that carry loss (equal turns have one number).
    """

    identity: str
    rank: tuple[object, ...]
    exact: bytes
    turns: tuple[int, ...]


def _index(similarity: float | None) -> AbstractContextManager[NearIndex | None]:
    """An index where something is to be compared, else None."""
    return nullcontext() if similarity is None else NearIndex(similarity)


async def duplicates(cases: Cases, config: DuplicatesConfig) -> Mapping[str, Verdict]:
    """Drop what a better row holds already: `exact`, `near`, `copied_turns`; undefined where a
    transcript has no turns.
    """
    # what stands before all tasks of an environment would make all of them near copies
    shared = shared_openings(case.trajectory for case in cases)
    verdicts: dict[str, Verdict] = {}
    groups: dict[str, list[int]] = {}
    rows: list[_Row] = []
    numbers: dict[bytes, int] = {}

    with _index(config.similarity) as near, _index(config.turn_similarity) as near_turns:
        # one pass over the corpus: only hashes, ranks and numbers are remembered
        for trajectory in (case.trajectory for case in cases):
            turns = []
            for key, words in turn_keys(trajectory):
                turns.append(numbers.setdefault(key, len(numbers)))
                if near_turns is not None and turns[-1] == len(near_turns):
                    near_turns.add(shingles(words))

            if near is not None:
                near.add(shingles(spoken(trajectory, shared)))

            rank, exact = _rank(trajectory), exact_key(trajectory)
            row = _Row(trajectory.trajectory_id, rank, exact, tuple(turns))

            if trajectory.turns:
                kind = "any" if config.across_outcomes else trajectory.outcome
                groups.setdefault(kind, []).append(len(rows))
            else:
                verdicts[row.identity] = Verdict(None, "empty")

            rows.append(row)

        for index in (near, near_turns):
            if index is not None:
                index.close_adding()

        for group in groups.values():
            group.sort(key=lambda at: rows[at].rank)
            verdicts |= _judged(rows, group, near, near_turns, config.copied_turns)

    return verdicts


def _copies(
    rows: Sequence[_Row], order: Sequence[int], near: NearIndex | None
) -> list[tuple[int, int, str, float]]:
    """(copy, kept, reason, similarity) of rows in order, best first."""
    # the first of equal transcripts in this order is the one that stays
    best: dict[bytes, int] = {}
    firsts = [(at, best.setdefault(rows[at].exact, at)) for at in order]
    found = [(at, kept, "exact", 1.0) for at, kept in firsts if at != kept]

    if near is not None:
        for at, kept, similarity in near_copies(near, best.values()):
            found.append((at, kept, "near", similarity))
        near.close_opened()

    return found


def _judged(
    rows: Sequence[_Row],
    order: Sequence[int],
    near: NearIndex | None,
    near_turns: NearIndex | None,
    most_copied: float | None,
) -> Iterator[tuple[str, Verdict]]:
    """Decides on rows in order, best first: copies of a whole transcript, then turns that better
    rows teach.
    """
    copies = _copies(rows, order, near)
    for at, kept, reason, similarity in copies:
        of = {"of": rows[kept].identity}
        yield rows[at].identity, Verdict(False, reason, similarity, of)

    counts = Counter(kept for _, kept, _, _ in copies)
    dropped = {at for at, _, _, _ in copies}

    # a row that goes teaches nothing, so only those that stay take a turn from the next
    taught: set[int] = set()

    for at in (at for at in order if at not in dropped):
        row = rows[at]
        share = _taught_share(row.turns, taught, near_turns)
        if most_copied is not None and share >= most_copied:
            yield row.identity, Verdict(False, "copied_turns", share)
            continue

        if near_turns is not None:
            for turn in set(row.turns) - taught:
                near_turns.open(turn)

        taught.update(row.turns)
        told = {"copied_turns": round(share, 4)} | ({"copies": counts[at]} if counts[at] else {})
        reason = "best_of_copies" if counts[at] else "unique"
        yield row.identity, Verdict(True, reason, None, told)

    if near_turns is not None:
        near_turns.close_opened()


def _taught_share(turns: Sequence[int], taught: set[int], near: NearIndex | None) -> float:
    """The share of these turns that the rows that stay teach already, word for word or, with an
    index, nearly so; 0 of none.
    """
    held = [turn in taught or (near is not None and bool(near.similar(turn))) for turn in turns]
    return sum(held) / len(held) if held else 0.0


def _rank(trajectory: Trajectory) -> tuple[object, ...]:
    """The order of copies, the best first."""
    return (
        _OUTCOMES.index(trajectory.outcome),
        -(trajectory.reward or 0.0),
        trajectory.gold_informed,
        trajectory.authorship is Authorship.SCRIPTED,
        len(trajectory.turns),
        sum(len(turn.tool_calls) for turn in trajectory.turns),
        trajectory.trial,
        trajectory.trajectory_id,
    )


FILTER = Filter(DuplicatesConfig, duplicates, scope="corpus", version=2)
