"""How much likelier its guidance made a retry, beside guidance of other tasks: measured shard by
shard, judged over the whole stage.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from math import ceil

import msgspec

from synth.boundary import FaultError, guard_async
from synth.engine.context import Run
from synth.ledger.ledger import Decision, Score
from synth.ledger.typed import Read
from synth.schemas.canonical import content_hash
from synth.schemas.model import ScoringModel
from synth.schemas.outcome import Fault
from synth.schemas.trajectory import Trajectory
from synth.text.leaks.likelihood import (
    LEAST_SHUFFLED,
    largest_gain,
    leaks_by_likelihood,
    threshold,
    turn_gains_of_each,
)


class Gain(msgspec.Struct, frozen=True, kw_only=True):
    """What stands behind a gain: the chain, the model that scored, the largest gain under guidance
    of each of some other tasks (`shuffled`), and why there is none.
    """

    key: str = ""
    model: str | None = None
    shuffled: tuple[float, ...] = ()
    scorings: int = 0
    reason: str | None = None


GAIN = "guidance_gain"
"""Metric: max g_t over the effectful turns of a retry under its own guidance; `shuffled` in its
detail, under guidance of other tasks.
"""
FILTER = "likelihood_leak"
FEWEST_SHUFFLED = 4
"""Guidances of other tasks under which each retry is scored, more where a shard has few retries."""


async def gain_of(
    run: Run,
    scorer: ScoringModel | None,
    retry: Trajectory,
    others: Sequence[Trajectory],
    key: str,
    model: str | None,
) -> Score:
    """Scores a retry without guidance, under its own, and under that of retries of other tasks; why
    it is undefined stands in `reason`.
    """
    about = Gain(key=key, model=model)

    def unknown(reason: str) -> Score:
        told = msgspec.structs.replace(about, reason=reason)
        return Score(retry.trajectory_id, GAIN, None, retry.pivot_turn, told)

    if scorer is None or retry.guidance is None:
        return unknown("no_scoring_model")
    texts = [retry.guidance, *_shuffled(retry, others)]
    try:
        found = await guard_async(
            Fault.JUDGE, "scoring", partial(turn_gains_of_each, scorer, retry, texts), None
        )
    except FaultError as error:
        run.faulted(error, "scoring")
        return unknown(f"fault:{error.fault}")
    run.role_breakers["scoring"].answered()
    largest = [None if gains is None else largest_gain(retry, gains) for gains in found]
    why = "not_scored" if found[0] is None else "no_effectful_turn"
    scored = msgspec.structs.replace(
        about,
        shuffled=tuple(gain for gain in largest[1:] if gain is not None),
        scorings=len(texts) + 1,
        reason=None if largest[0] is not None else why,
    )
    return Score(retry.trajectory_id, GAIN, largest[0], retry.pivot_turn, scored)


def _shuffled(retry: Trajectory, others: Sequence[Trajectory]) -> list[str]:
    """Guidance of other tasks that says something else, in a drawn order; together with that of the
    other retries at least twenty texts.
    """
    texts = {
        other.guidance
        for other in others
        if other.task_id != retry.task_id and other.guidance != retry.guidance
    }
    order = sorted(filter(None, texts), key=lambda text: content_hash([retry.trajectory_id, text]))
    return order[: max(FEWEST_SHUFFLED, ceil(LEAST_SHUFFLED / max(1, len(others))))]


def judged(rows: Sequence[Read[Gain]]) -> list[Decision]:
    """A decision on each retry: rejected above the 95th percentile of all shuffled gains of the
    stage; undefined where one is not known.
    """
    limit = threshold([gain for row in rows for gain in row.about.shuffled])
    found = []
    for row in rows:
        leaks = leaks_by_likelihood(row.value, limit)
        undefined = row.about.reason or "fewer_than_20_shuffled"
        reason = undefined if leaks is None else "likelier_under_guidance" if leaks else "clean"
        found.append(
            Decision(
                row.subject_id,
                FILTER,
                None if leaks is None else not leaks,
                reason,
                row.value,
                {"limit": limit},
            )
        )
    return found


def in_words(decisions: Sequence[Decision], rows: Sequence[Read[Gain]]) -> str:
    """One line for the report: the rejected share with its counts, or why nothing is known."""
    known = [decision for decision in decisions if decision.keep is not None]
    scorings = sum(row.about.scorings for row in rows)
    if not known:
        reasons: Mapping[str, None] = dict.fromkeys(decision.reason for decision in decisions)
        how = (
            "; name one as role `student`, with engine vllm or transformers"
            if "no_scoring_model" in reasons
            else ""
        )
        return (
            f"likelihood leak undefined for all {len(decisions)} kept retries "
            f"({', '.join(reasons)}{how})"
        )
    rejected = sum(decision.keep is False for decision in known)
    shuffled = sum(len(row.about.shuffled) for row in rows)
    share = f"{rejected} of {len(known)} ({rejected / len(known):.0%}) rejected"
    left = f", {len(decisions) - len(known)} undefined" if len(known) < len(decisions) else ""
    return (
        f"likelihood leak: {share}{left}; the limit is the 95th percentile of {shuffled} "
        f"shuffled; {scorings} scorings"
    )
