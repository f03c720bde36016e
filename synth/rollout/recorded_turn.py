"""A turn as it is recorded: what was decided, or put in the policy's place, and what the world
answered.
"""

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from synth.models.reply_health import mask_of
from synth.rollout.start import ForcedAct
from synth.schemas.canonical import valid_text
from synth.schemas.environment import Response
from synth.schemas.policy import Act, Guidance
from synth.schemas.trajectory import Planted, Turn

S = TypeVar("S", bound=msgspec.Struct)


def recorded_turn(index: int, act: Act, response: Response) -> Turn:
    """The turn of an act; calls with broken arguments and replies that were cut off or filtered are
    masked.
    """
    turn = _storable(act.turn, ("content", "thought"))
    calls = tuple(
        _storable(call, ("call_id", "name", "arguments", "parse_error")) for call in turn.tool_calls
    )
    broken = any(call.parse_error is not None for call in turn.tool_calls)
    return Turn(
        index,
        turn.content,
        calls,
        response.observations,
        turn.thought,
        state_key=response.state_key,
        reward=response.reward,
        sampled_by=act.sampled_by,
        mask="parse_error" if broken else mask_of(act.finish_reason),
        usage=act.usage,
        latency_ms=act.latency_ms,
        prompt_token_ids=act.prompt_token_ids,
        completion_token_ids=act.completion_token_ids,
        logprobs=act.logprobs,
        repairs=act.repairs,
        raw=valid_text(act.raw) if act.raw is not None else None,
    )


def placed_turn(index: int, placed: ForcedAct, response: Response) -> Turn:
    """A turn put in the policy's place. Raises `ValueError` where altered answers are not as many
    as the world's.
    """
    given = response.observations
    if placed.alter is not None:
        altered = placed.alter(given)
        pairs = zip(given, altered, strict=True)
        observations = [
            new
            if new == old
            else msgspec.structs.replace(new, planted=Planted(old.content, old.error))
            for old, new in pairs
        ]
        response = msgspec.structs.replace(response, observations=tuple(observations))
    turn = recorded_turn(index, placed.act, response)
    return msgspec.structs.replace(turn, mask=placed.mask or turn.mask, injected=placed.injected)


def unwhispered(act: Act, guidance: Guidance | None) -> Act:
    """An act without the token ids and log-probabilities that stand on a prompt with guidance in
    it: the transcript has none.
    """
    return (
        act
        if guidance is None
        else msgspec.structs.replace(act, prompt_token_ids=None, logprobs=None)
    )


def _storable(record: S, names: Sequence[str]) -> S:
    """A struct whose texts can be written as UTF-8: lone surrogates, which JSON escapes can smuggle
    in, are replaced.
    """
    texts = {
        name: text
        for name in names
        if (text := getattr(record, name)) is not None and not text.isascii()
    }
    return (
        msgspec.structs.replace(record, **{name: valid_text(text) for name, text in texts.items()})
        if texts
        else record
    )
