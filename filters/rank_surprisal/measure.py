"""What a student makes of a trajectory: ratio, mean rank, mean surprisal, and what the ratio may be
a proxy of; scored once and kept.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

from synth.boundary import FaultError, guard_async
from synth.engine.means import SourceMeans
from synth.filters.rank_surprisal.decisions import copied, scaffolding
from synth.filters.rank_surprisal.ratio import Sums, summed
from synth.filters.rank_surprisal.settings import RankSurprisalConfig
from synth.filters.rank_surprisal.trained_on import card_of, trained_on
from synth.loss_turns import mask_reason
from synth.models.assistant_turns import TOO_LONG
from synth.schemas.errors import ConfigError
from synth.schemas.filter import Case, Measure
from synth.schemas.messages import to_messages
from synth.schemas.model import Message, ModelError, Scored
from synth.schemas.outcome import Fault
from synth.schemas.trajectory import Authorship, Trajectory

RSR, RANK, NLL, TOKENS, DECISION = (
    "rsr",
    "avg_rank_clip",
    "avg_nll",
    "n_scored_tokens",
    "rsr_decision",
)
SCRIPTED, NO_TURNS, NO_TOKENS, TOOLS_HIDDEN = (
    "scripted",
    "no_turns",
    "no_tokens",
    "tools_not_rendered",
)
FAULT = "fault"


async def measure(case: Case, config: RankSurprisalConfig, means: SourceMeans) -> Sequence[Measure]:
    """The trajectory's measures, or one that says in `why` why it has none; a fault of the
    student's server in `fault`.

    Raises `ConfigError` where the student's card says that it was trained on this run's rows.
    """
    trajectory = case.trajectory
    if trajectory.authorship is Authorship.SCRIPTED:
        return [_none(SCRIPTED)]
    if not trajectory.turns:
        return [_none(NO_TURNS)]
    student = str(means.role(config.role).policy.model)
    refuse_trained(student, config, means)
    messages = to_messages(trajectory)
    scoring = means.scoring(config.role)
    try:
        scored = await guard_async(
            Fault.JUDGE, config.role, partial(_finite, scoring.score, messages, trajectory), None
        )
    except FaultError as error:
        if error.context_overflow:
            return [_none("too_long")]
        means.run.faulted(error, config.role)
        means.run.may_start()  # refusals in a row end the run
        return [
            Measure(
                RSR,
                None,
                detail={FAULT: error.fault, "message": error.detail, "final": error.final},
            )
        ]
    means.run.role_breakers[config.role].answered()
    known = {
        "student": student,
        "weights_id": scored.weights_id,
        "template_hash": scored.template_hash,
        "tools_rendered": scored.tools_rendered,
        "max_rank": config.max_rank,
    }
    why = scored.not_scored
    if why is None and trajectory.tools and not scored.tools_rendered:
        why = TOOLS_HIDDEN
    if why is None and not scored.tokens:
        why = NO_TOKENS
    if why is not None:
        return [_none("too_long" if why == TOO_LONG else why, known)]
    return _measures(scored, messages, trajectory, config, known)


async def _finite(score: Any, messages: Sequence[Message], trajectory: Trajectory) -> Scored:
    """The scores, where each is a number: a student of broken weights gives none, and that is no
    property of a trajectory.
    """
    scored: Scored = await score(messages, list(trajectory.tools))
    if not all(isfinite(token.logprob) and token.rank >= 1 for token in scored.tokens):
        raise ModelError("it gave a log-probability that is no finite number, or a rank below 1")
    return scored


def refuse_trained(student: str, config: RankSurprisalConfig, means: SourceMeans) -> None:
    """Raises `ConfigError` where the student's card names a data set of this run (see
    `trained_on`); says where that cannot be known.
    """
    storage = means.run.ledger.storage
    card = card_of(student, config.card)
    if card is None or not storage.local:
        why = (
            "it has no card here, name its model card as `card`"
            if card is None
            else "the run lies on an object store, look yourself"
        )
        means.run.say_once(
            f"rank_surprisal: whether {student} was trained on this run's rows is not known: {why}"
        )
        return
    found = trained_on(card, Path(storage.root))
    if found is not None:
        raise ConfigError(
            f"rank_surprisal: {student} was trained on {found} ({card} names its hash), so that "
            "its ratio on these rows says nothing; "
            f"let the model before that training play the role {config.role!r}"
        )


def _measures(
    scored: Scored,
    messages: Sequence[Message],
    trajectory: Trajectory,
    config: RankSurprisalConfig,
    known: dict[str, Any],
) -> list[Measure]:
    by_turn: dict[int, list[int]] = defaultdict(list)
    for at, turn in enumerate(scored.turn_of_token):
        by_turn[turn].append(at)
    turns = {
        turn: summed((scored.tokens[at] for at in places), config.max_rank)
        for turn, places in by_turn.items()
    }
    whole = sum(turns.values(), Sums())
    masked = {
        at
        for at, turn in enumerate(trajectory.turns)
        if mask_reason(turn, at, trajectory.pivot_turn) is not None
    }
    detail = {
        **known,
        "turns": [[one.rank, one.nll, one.tokens] for _, one in sorted(turns.items())],
        "loss_tokens": sum(one.tokens for turn, one in turns.items() if turn not in masked),
        "chat_tokens": len(scored.chat) or None,
    }
    decision, share = _decision(scored, messages, config)
    return [
        Measure(RSR, whole.ratio, detail={**detail, "copied_share": share}),
        Measure(RANK, whole.mean_rank),
        Measure(NLL, whole.mean_nll),
        Measure(TOKENS, float(whole.tokens)),
        decision,
    ]


def _decision(
    scored: Scored, messages: Sequence[Message], config: RankSurprisalConfig
) -> tuple[Measure, float | None]:
    """`rsr_decision` and the share of scored tokens that are copied; neither where the engine gives
    no chat.
    """
    if not scored.chat:
        return Measure(DECISION, None, detail={"why": "engine_gives_no_text"}), None
    taken = copied(scored, config.copied_span)
    share = sum(taken) / len(taken)
    around = scaffolding(scored, messages)
    if around is None:
        return Measure(DECISION, None, detail={"why": "calls_not_found_in_text"}), share
    own = [
        token
        for token, seen, form in zip(scored.tokens, taken, around, strict=True)
        if not seen and not form
    ]
    sums = summed(own, config.max_rank)
    if sums.ratio is None:
        return Measure(DECISION, None, detail={"why": "no_decision_tokens"}), share
    return Measure(
        DECISION,
        sums.ratio,
        detail={"tokens": sums.tokens, "avg_rank_clip": sums.mean_rank, "avg_nll": sums.mean_nll},
    ), share


def _none(why: str, known: dict[str, Any] | None = None) -> Measure:
    return Measure(RSR, None, detail={"why": why, **(known or {})})
