"""Turns without loss, as a row of ours names them beside its messages."""

from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from synth.importers.chats.columns import parsed
from synth.importers.chats.dialogue import LOSS
from synth.importers.records import Object
from synth.schemas import Conversation

_Kind = TypeVar("_Kind")


class _Masked(msgspec.Struct):
    turn: int
    reason: str


_KEYS = ("masked_turns", "trained_turns")


def names_turns(value: Object) -> bool:
    """Whether a row names some of its turns; others count their turns under such keys."""
    return any(isinstance(held, list) and held for held in map(parsed, map(value.get, _KEYS)))


def without_loss(value: Object, turns: int) -> list[_Masked]:
    """The turns that a row of ours names as masked, or does not name among those with loss; none
    where such a key is no list. Raises `ValueError`.
    """
    named, stated = (parsed(value.get(key)) for key in _KEYS)
    if isinstance(named, list):
        return _read("masked_turns", named, list[_Masked], "{turn, reason}")
    if not isinstance(stated, list):
        return []
    trained = _read("trained_turns", stated, set[int], "numbers")
    if beyond := sorted(trained - {*range(turns)}):
        raise ValueError(_unknown("trained_turns", beyond[0], turns))
    return [_Masked(turn, LOSS["training"]) for turn in range(turns) if turn not in trained]


def _read(key: str, held: list[Any], kind: type[_Kind], said: str) -> _Kind:
    try:
        return msgspec.convert(held, kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"{key} is no list of {said}: {error}") from error


def _unknown(key: str, turn: int, turns: int) -> str:
    return f"{key} names turn {turn}, the chat has {turns} turns, counted from 0"


def masked(conversation: Conversation, named: list[_Masked]) -> Conversation:
    """The conversation with a mask on each turn that is named. Raises `ValueError`."""
    turns = list(conversation.turns)
    for at, mask in sorted((one.turn, one.reason) for one in named):
        if not 0 <= at < len(turns):
            raise ValueError(_unknown("masked_turns", at, len(turns)))
        kept = turns[at].mask if mask == LOSS["training"] else None
        greets = turns[at].mask if turns[at].mask == "canned_greeting" else None
        turns[at] = replace(turns[at], mask=greets or kept or mask)

    return replace(conversation, turns=tuple(turns))
