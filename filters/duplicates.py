"""Copies: the same transcript again, one that differs in a few words, turns that other rows teach
already; the better row stays.

Better, in this order: a success before no verdict, a cut-off run, a failure; higher reward; nobody
who wrote it had looked at gold; written
by a model before scripts; fewer turns, fewer calls; then the lower trial number and the lower id,
so that the order is total.
"""

from collections.abc import Mapping
from contextlib import ExitStack

import msgspec
from pydantic import Field

from synth.schemas.filter import Cases, Filter, FilterSettings
from synth.schemas.outcome import Outcome
from synth.schemas.trajectory import Authorship, Trajectory
from synth.schemas.verdict import Verdict
from synth.stats.minhash import LEAST_SIMILARITY, NearIndex, kept_first
from synth.text.similarity import exact_key, shared_openings, shingles, spoken, turn_keys


class Turns:
    """Distinct turns by key; what was taught is held, and so is what is similar to it where a
    `similarity` is given.
    """

    def __init__(self, near: NearIndex | None) -> None:
        self._near = near
        self._numbers: dict[bytes, int] = {}
        self._taught: set[bytes] = set()

    def added(self, key: bytes, words: list[str]) -> bytes:
        """The key, its words remembered where they are to be compared."""
        if self._near is not None and key not in self._numbers:
            self._numbers[key] = len(self._near)
            self._near.add(shingles(words))
        return key

    def close_adding(self) -> None:
        """From here on turns are compared."""
        if self._near is not None:
            self._near.close_adding()

    def holds(self, key: bytes) -> bool:
        """Whether a better row has a turn of this key, or one that is similar."""
        return key in self._taught or (
            self._near is not None and bool(self._near.similar(self._numbers[key]))
        )

    def teach(self, keys: tuple[bytes, ...]) -> None:
        """A row that stays has these turns."""
        for key in keys:
            if key not in self._taught:
                self._taught.add(key)
                if self._near is not None:
                    self._near.open(self._numbers[key])

    def forget(self) -> None:
        """Nothing was taught yet."""
        self._taught.clear()
        if self._near is not None:
            self._near.close_opened()


_OUTCOMES = (Outcome.SUCCESS, Outcome.UNKNOWN, Outcome.TRUNCATED, Outcome.FAILURE, Outcome.INVALID)


class DuplicatesConfig(FilterSettings):
    """`similarity`: of word triples (Jaccard), from which on two transcripts are one; None: only
    exact copies are dropped.

    `copied_turns`: share of its turns with loss that better rows hold word for word after the same
    answer, from which on a row is dropped;
    None: the share is only told. `turn_similarity`: from which on two turns count as the same one;
    None: word for word only (1 KB of memory
    per distinct turn otherwise). `across_outcomes: false` compares successes with successes only,
    failures with failures, so that a success
    and the failure beside it both stay.
    """

    similarity: float | None = Field(default=0.8, ge=LEAST_SIMILARITY, le=1)
    copied_turns: float | None = Field(default=None, gt=0, le=1)
    turn_similarity: float | None = Field(default=None, ge=LEAST_SIMILARITY, le=1)
    across_outcomes: bool = True


class _Row(msgspec.Struct, frozen=True):
    """What is remembered of a trajectory: its rank among copies, the hash of all it says, and of
    its turns.
    """

    identity: str
    rank: tuple[object, ...]
    outcome: str
    exact: bytes
    turns: tuple[bytes, ...]
    empty: bool


async def duplicates(cases: Cases, config: DuplicatesConfig) -> Mapping[str, Verdict]:
    """Drop what a better row holds already: `exact`, `near`, `copied_turns`; undefined where a
    transcript has no turns.
    """
    shared = shared_openings(
        (c.trajectory.task_id, o.content) for c in cases for o in c.trajectory.opening
    )
    verdicts: dict[str, Verdict] = {}
    with NearIndex(config.similarity or 1.0) as index, ExitStack() as opened:
        similarity = config.turn_similarity
        turns = Turns(None if similarity is None else opened.enter_context(NearIndex(similarity)))
        rows = []
        for case in cases:
            rows.append(_row(case.trajectory, turns))
            if config.similarity is not None:
                index.add(shingles(spoken(case.trajectory, shared)))
        index.close_adding()
        turns.close_adding()
        order = sorted(
            (at for at, row in enumerate(rows) if not row.empty), key=lambda at: rows[at].rank
        )
        for row in rows:
            if row.empty:
                verdicts[row.identity] = Verdict(None, "empty")
        for kind in (
            sorted({rows[at].outcome for at in order}) if not config.across_outcomes else [None]
        ):
            _judge(
                rows,
                [at for at in order if kind in (None, rows[at].outcome)],
                index,
                turns,
                config,
                verdicts,
            )
    return verdicts


def _judge(
    rows: list[_Row],
    order: list[int],
    index: NearIndex,
    taught: Turns,
    config: DuplicatesConfig,
    verdicts: dict[str, Verdict],
) -> None:
    """Decides on rows in order, best first."""
    best: dict[bytes, int] = {}
    distinct = []
    copies: dict[int, int] = {}

    def drop(document: int, kept: int, reason: str, score: float) -> None:
        copies[kept] = copies.get(kept, 0) + 1
        verdicts[rows[document].identity] = Verdict(
            False, reason, score, {"of": rows[kept].identity}
        )

    for at in order:
        kept = best.setdefault(rows[at].exact, at)
        if kept == at:
            distinct.append(at)
        else:
            drop(at, kept, "exact", 1.0)
    if config.similarity is not None:
        kept_first(
            index,
            iter(distinct),
            lambda document, kept, similarity: drop(document, kept, "near", similarity),
        )
        index.close_opened()
    taught.forget()
    for at in distinct:
        if rows[at].identity in verdicts:
            continue
        turns = rows[at].turns
        share = sum(taught.holds(key) for key in turns) / len(turns) if turns else 0.0
        if config.copied_turns is not None and share >= config.copied_turns:
            verdicts[rows[at].identity] = Verdict(False, "copied_turns", share)
            continue
        taught.teach(turns)
        detail = {
            "copied_turns": round(share, 4),
            **({"copies": copies[at]} if at in copies else {}),
        }
        verdicts[rows[at].identity] = Verdict(
            True, "best_of_copies" if at in copies else "unique", None, detail
        )


def _row(trajectory: Trajectory, turns: Turns) -> _Row:
    return _Row(
        trajectory.trajectory_id,
        rank(trajectory),
        trajectory.outcome.value,
        exact_key(trajectory),
        tuple(turns.added(key, words) for key, words in turn_keys(trajectory)),
        not trajectory.turns,
    )


def rank(trajectory: Trajectory) -> tuple[object, ...]:
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


FILTER = Filter(DuplicatesConfig, duplicates, scope="corpus")
