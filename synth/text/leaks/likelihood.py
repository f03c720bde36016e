"""Likelihood leak: what a guided agent would hardly have written without its guidance (rigor.md).

g_t = mean over the tokens of turn t of [ log pi(token | history, guidance) - log pi(token |
history) ]
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import ceil, inf

from synth.schemas import (
    Guidance,
    Opening,
    Scored,
    ScoringModel,
    Trajectory,
    to_messages,
    view_messages,
)
from synth.text.provenance.effect import effectful_by_name

PERCENTILE = 0.95
WITHIN = (-2.0, 4.0)
"""Nats between which a token's gain is kept where turns of words are compared: else one name
decides for a long turn.
"""
UNBOUNDED = (-inf, inf)
LEAST_SHUFFLED = 20
"""Guidances of other tasks below which no 95th percentile is known."""


async def turn_gains_of_each(
    scorer: ScoringModel,
    trajectory: Trajectory,
    guidances: Sequence[str],
    within: tuple[float, float] = UNBOUNDED,
) -> Sequence[Mapping[int, float] | None]:
    """g_t in nats per token, by turn from the pivot on, under each of several guidances; `within`
    what each token's gain is kept.

    None where one of the two transcripts could not be scored. The transcript without guidance is
    scored once. Raises `ModelError`.
    """
    pivot, tools = trajectory.pivot_turn or 0, list(trajectory.tools)
    opening = Opening(trajectory.system_prompt, trajectory.tools, trajectory.opening)
    without = await scorer.score(to_messages(trajectory), tools)
    found = []

    for text in guidances:
        guided = view_messages(
            opening, trajectory.turns, thoughts=True, guidance=Guidance(text, pivot)
        )
        found.append(gains(await scorer.score(guided, tools), without, pivot, within))

    return found


def gains(
    with_help: Scored, without: Scored, pivot: int, within: tuple[float, float] = UNBOUNDED
) -> Mapping[int, float] | None:
    """g_t from two scorings of the same turns, each token's gain kept `within` two bounds.

    None where one has no tokens, or the turns are not the same tokens in both.
    """
    if with_help.not_scored is not None or without.not_scored is not None:
        return None

    helped, alone = _by_turn(with_help), _by_turn(without)
    found: dict[int, float] = {}
    least, most = within

    for turn in sorted(turn for turn in alone if turn >= pivot):
        (tokens, better), (own_tokens, worse) = helped[turn], alone[turn]
        if tokens != own_tokens:
            return None

        apart = (a - b for a, b in zip(better, worse, strict=True))
        found[turn] = sum(min(max(one, least), most) for one in apart) / len(worse)

    return found


def _by_turn(scored: Scored) -> Mapping[int, tuple[list[int], list[float]]]:
    """Turn -> its tokens, and their log-probabilities."""
    found = defaultdict[int, tuple[list[int], list[float]]](lambda: ([], []))

    for token, turn in zip(scored.tokens, scored.turn_of_token, strict=True):
        tokens, logprobs = found[turn]
        tokens.append(token.token_id)
        logprobs.append(token.logprob)

    return found


def largest_gain(trajectory: Trajectory, found: Mapping[int, float]) -> float | None:
    """max g_t over the turns that call an effectful tool; None where no scored turn does."""
    acting = (
        found[turn.index]
        for turn in trajectory.turns
        if turn.index in found and any(effectful_by_name(call.name) for call in turn.tool_calls)
    )
    return max(acting, default=None)


def threshold(shuffled: Sequence[float]) -> float | None:
    """The 95th percentile (nearest rank) of the largest gains under guidance of other tasks.

    None with fewer than 20 of them.
    """
    if len(shuffled) < LEAST_SHUFFLED:
        return None

    return sorted(shuffled)[ceil(PERCENTILE * len(shuffled)) - 1]


def leaks_by_likelihood(largest: float | None, limit: float | None) -> bool | None:
    """Whether a retry is to be rejected: its largest gain lies above the limit.

    None where one of both is not known.
    """
    return None if largest is None or limit is None else largest > limit
