"""Turns without loss, as a row of ours names them beside its messages."""

import msgspec
from msgspec.structs import replace

from synth.importers.chats.columns import parsed
from synth.importers.chats.dialogue import LOSS
from synth.importers.records import Object
from synth.schemas import Conversation


class _Masked(msgspec.Struct):
    turn: int
    reason: str


def without_loss(value: Object, turns: int) -> list[_Masked]:
    """The turns that a row of ours names as masked, or does not name among those with loss."""
    if value.get("masked_turns") is not None or value.get("trained_turns") is None:
        return msgspec.convert(parsed(value.get("masked_turns")) or [], list[_Masked])
    trained = msgspec.convert(parsed(value["trained_turns"]), set[int])
    return [_Masked(turn, LOSS["training"]) for turn in range(turns) if turn not in trained]


def masked(conversation: Conversation, named: list[_Masked]) -> Conversation:
    """The conversation with a mask on each turn that is named. Raises `ValueError`."""
    turns = list(conversation.turns)
    for at, mask in sorted((one.turn, one.reason) for one in named):
        if not 0 <= at < len(turns):
            raise ValueError(
                f"masked_turns names turn {at}, the chat has {len(turns)} turns, counted from 0"
            )
        kept = turns[at].mask if mask == LOSS["training"] else None
        greets = turns[at].mask if turns[at].mask == "canned_greeting" else None
        turns[at] = replace(turns[at], mask=greets or kept or mask)

    return replace(conversation, turns=tuple(turns))
