"""What a student makes of a trajectory: ratio, mean rank, mean surprisal, and what the ratio may be
a proxy of; scored once and kept.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

from msgspec import structs
from pydantic import ConfigDict, Field

from synth.boundary import FaultError, guard_async
from synth.engine.asking import SourceMeans
from synth.filters.rank_surprisal.decisions import copied, scaffolding
from synth.filters.rank_surprisal.ratio import MAX_RANK, Sums, summed
from synth.loss_turns import mask_reason
from synth.models.assistant_turns import TOO_LONG
from synth.schemas.errors import ConfigError
from synth.schemas.filter import Case, FilterSettings, Measure
from synth.schemas.measures import Ranked
from synth.schemas.messages import to_messages
from synth.schemas.model import Message, ModelError, Scored
from synth.schemas.outcome import Fault
from synth.schemas.trajectory import Authorship, Trajectory

ROLE = "student"


class RankSurprisalConfig(FilterSettings):
    """`role`: of the flow's models, the student. `max_rank`: where a rank is capped, from 1.

    `select`: within a task, drop what is clearly above the lowest ratio; else the filter only
    measures. `least_candidates`: so many of
    one policy make a choice; fewer must come from two policies. `errors`: by how many standard
    errors of their difference.
    `solved_first`: where a task has successes, only they are candidates. `copied_span`: from so
    many tokens on, what stands in the context
    counts as copied (`rsr_decision`). `card`: the student's model card; left out, README.md in its
    folder.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    role: str = ROLE
    max_rank: int = Field(default=MAX_RANK, ge=1)
    copied_span: int = Field(default=6, ge=2)
    card: str | None = None
    select: bool = False
    solved_first: bool = True
    least_candidates: int = Field(default=8, ge=2)
    errors: float = Field(default=2.0, gt=0)


MEASURED = ("role", "max_rank", "copied_span")
"""Settings that the measures depend on; the others change nothing that was scored."""


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
                about=Ranked(fault=error.fault.value, message=error.detail, final=error.final),
            )
        ]
    means.run.role_breakers[config.role].answered()
    known = Ranked(
        student=student,
        weights_id=scored.weights_id,
        template_hash=scored.template_hash,
        tools_rendered=scored.tools_rendered,
        max_rank=config.max_rank,
    )
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
    known: Ranked,
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
    decision, share = _decision(scored, messages, config)
    about = structs.replace(
        known,
        turns=tuple((one.rank, one.nll, one.tokens) for _, one in sorted(turns.items())),
        loss_tokens=sum(one.tokens for turn, one in turns.items() if turn not in masked),
        chat_tokens=len(scored.chat) or None,
        copied_share=share,
    )
    return [
        Measure(RSR, whole.ratio, about=about),
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
        return Measure(DECISION, None, about=Ranked(why="engine_gives_no_text")), None
    taken = copied(scored, config.copied_span)
    share = sum(taken) / len(taken)
    around = scaffolding(scored, messages)
    if around is None:
        return Measure(DECISION, None, about=Ranked(why="calls_not_found_in_text")), share
    own = [
        token
        for token, seen, form in zip(scored.tokens, taken, around, strict=True)
        if not seen and not form
    ]
    sums = summed(own, config.max_rank)
    if sums.ratio is None:
        return Measure(DECISION, None, about=Ranked(why="no_decision_tokens")), share
    return Measure(
        DECISION,
        sums.ratio,
        about=Ranked(tokens=sums.tokens, avg_rank_clip=sums.mean_rank, avg_nll=sums.mean_nll),
    ), share


def _none(why: str, known: Ranked | None = None) -> Measure:
    return Measure(RSR, None, about=structs.replace(known or Ranked(), why=why))


_SHARD = re.compile(r"train-([0-9a-f]{16})-\d{5}\.parquet")
_HASH = re.compile(r"\b[0-9a-f]{16}\b")


def card_of(model: str, named: str | None) -> Path | None:
    """The student's card: the file that the settings name, else README.md in the model's folder;
    None where neither is to be had.

    Raises `ConfigError` where the named file cannot be read.
    """
    if named is not None:
        path = Path(named).expanduser()
        if not path.is_file():
            raise ConfigError(
                f"rank_surprisal.card: {named} is no file; name the student's model card, or "
                "leave it out"
            )
        return path
    path = Path(model).expanduser() / "README.md"
    return path if path.is_file() else None


def datasets_of(run: Path) -> Iterator[tuple[str, Path]]:
    """(hash, folder) of the data sets in a run's folder: the hash is that in the names of their
    shards.
    """
    for folder in sorted((run / "datasets").glob("*/")):
        for found in sorted(
            {match[1] for file in folder.iterdir() if (match := _SHARD.fullmatch(file.name))}
        ):
            yield found, folder


def trained_on(card: Path, run: Path) -> Path | None:
    """The data set of the run whose hash stands in the card, None where there is none."""
    named = set(_HASH.findall(card.read_text(encoding="utf-8", errors="replace")))
    return next((folder for found, folder in datasets_of(run) if found in named), None)
