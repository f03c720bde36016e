"""What a student makes of a trajectory: ratio, mean rank, mean surprisal, and what the ratio may be
a proxy of; scored once and kept.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from math import isfinite
from typing import Any

from msgspec import structs
from pydantic import ConfigDict, Field

from synth.boundary import FaultError, guard_async
from synth.engine.asking import TOO_LONG, SourceMeans
from synth.filters.rank_surprisal.decisions import copied, scaffolding
from synth.filters.rank_surprisal.ratio import MAX_RANK, Sums, summed
from synth.filters.rank_surprisal.student_card import refuse_trained
from synth.loss_turns import mask_reason
from synth.models import assistant_turns
from synth.schemas import (
    Authorship,
    Case,
    Fault,
    FilterSettings,
    Measure,
    Message,
    ModelError,
    Ranked,
    Scored,
    Trajectory,
    to_messages,
)

RSR, RANK, NLL, TOKENS = "rsr", "avg_rank_clip", "avg_nll", "n_scored_tokens"
DECISION = "rsr_decision"


class RankSurprisalConfig(FilterSettings):
    """`role`: of the flow's models, the student. `max_rank`: where a rank is capped, from 1.

    `select`: within a task, drop what is clearly above the lowest ratio; else the filter only
    measures. `least_candidates`: so many of one policy make a choice; fewer must come from two
    policies. `errors`: by how many standard errors of their difference. `solved_first`: where a
    task has successes, only they are candidates. `copied_span`: from so many tokens on, what stands
    in the context counts as copied (`rsr_decision`). `card`: the student's model card; left out,
    README.md in its folder.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    role: str = "student"
    max_rank: int = Field(default=MAX_RANK, ge=1)
    copied_span: int = Field(default=6, ge=2)
    card: str | None = None
    select: bool = False
    solved_first: bool = True
    least_candidates: int = Field(default=8, ge=2)
    errors: float = Field(default=2.0, gt=0)


MEASURED = ("role", "max_rank", "copied_span")
"""Settings that the measures depend on; the others change nothing that was scored."""


async def measure(case: Case, config: RankSurprisalConfig, means: SourceMeans) -> Sequence[Measure]:
    """The trajectory's measures, or one that says in `why` why it has none; a fault of the
    student's server in `fault`.

    Raises `ConfigError` where the student's card says that it was trained on this run's rows.
    """
    trajectory, role = case.trajectory, config.role
    if trajectory.authorship is Authorship.SCRIPTED:
        return _none(Ranked(why="scripted"))
    if not trajectory.turns:
        return _none(Ranked(why="no_turns"))

    student = str(means.role(role).policy.model)
    refuse_trained(student, role, config.card, means)

    messages = to_messages(trajectory)
    score = partial(_finite, means.scoring(role).score, messages, trajectory)

    try:
        scored = await guard_async(Fault.JUDGE, role, score, None)
    except FaultError as error:
        if error.context_overflow:
            return _none(Ranked(why=TOO_LONG))

        means.run.faulted(error, role)
        means.run.may_start()  # refusals in a row end the run
        return _none(Ranked(fault=error.fault.value, message=error.detail, final=error.final))

    means.run.role_breakers[role].answered()

    known = Ranked(
        student=student,
        weights_id=scored.weights_id,
        template_hash=scored.template_hash,
        tools_rendered=scored.tools_rendered,
        max_rank=config.max_rank,
    )

    why = _why_none(scored, trajectory)
    if why is not None:
        return _none(structs.replace(known, why=why))

    return _measures(scored, messages, trajectory, config, known)


def _none(about: Ranked) -> list[Measure]:
    """The one row of a trajectory that has no ratio, with the reason."""
    return [Measure(RSR, None, about=about)]


async def _finite(score: Any, messages: Sequence[Message], trajectory: Trajectory) -> Scored:
    """The scores, where each is a number: a student of broken weights gives none, and that is no
    property of a trajectory.
    """
    scored: Scored = await score(messages, list(trajectory.tools))
    if not all(isfinite(token.logprob) and token.rank >= 1 for token in scored.tokens):
        raise ModelError("it gave a log-probability that is no finite number, or a rank below 1")
    return scored


def _why_none(scored: Scored, trajectory: Trajectory) -> str | None:
    """Why what a student was shown says nothing of the trajectory; None where it does."""
    if scored.not_scored is not None:
        long = scored.not_scored == assistant_turns.TOO_LONG
        return TOO_LONG if long else scored.not_scored
    if trajectory.tools and not scored.tools_rendered:
        return "tools_not_rendered"

    return None if scored.tokens else "no_tokens"


def _measures(
    scored: Scored,
    messages: Sequence[Message],
    trajectory: Trajectory,
    config: RankSurprisalConfig,
    known: Ranked,
) -> list[Measure]:
    """The five rows of a scored trajectory, all from one pass of the student."""
    by_turn = defaultdict(list)
    for at, token in zip(scored.turn_of_token, scored.tokens, strict=True):
        by_turn[at].append(token)

    turns = {at: summed(tokens, config.max_rank) for at, tokens in by_turn.items()}
    whole = sum(turns.values(), Sums())

    # a whole trajectory is scored, as in the paper; how much of it carries loss is told
    masked = {
        at
        for at, turn in enumerate(trajectory.turns)
        if mask_reason(turn, at, trajectory.pivot_turn) is not None
    }

    decision, share = _decision(scored, messages, config)
    about = structs.replace(
        known,
        turns=tuple(structs.astuple(turns[at]) for at in sorted(turns)),
        loss_tokens=sum(one.tokens for at, one in turns.items() if at not in masked),
        chat_tokens=len(scored.chat) or None,
        copied_share=share,
    )

    rank, nll = whole.means
    return [
        Measure(RSR, whole.ratio, about=about),
        Measure(RANK, rank),
        Measure(NLL, nll),
        Measure(TOKENS, float(whole.tokens)),
        decision,
    ]


def _decision(
    scored: Scored, messages: Sequence[Message], config: RankSurprisalConfig
) -> tuple[Measure, float | None]:
    """`rsr_decision` and the share of scored tokens that are copied; neither where the engine gives
    no chat.

    The share is known even where the ratio is not: it needs tokens alone, no text.
    """
    if not scored.chat:
        return Measure(DECISION, None, about=Ranked(why="engine_gives_no_text")), None

    taken = copied(scored, config.copied_span)
    share = sum(taken) / len(taken)

    around = scaffolding(scored, messages)
    if around is None:
        return Measure(DECISION, None, about=Ranked(why="calls_not_found_in_text")), share

    marked = zip(scored.tokens, taken, around, strict=True)
    sums = summed((one for one, seen, form in marked if not seen and not form), config.max_rank)
    if not sums.tokens:
        return Measure(DECISION, None, about=Ranked(why="no_decision_tokens")), share

    rank, nll = sums.means
    about = Ranked(tokens=sums.tokens, avg_rank_clip=rank, avg_nll=nll)
    return Measure(DECISION, sums.ratio, about=about), share
