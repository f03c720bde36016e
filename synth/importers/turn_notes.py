"""What logs say of a model call beside its message: usage, raw blocks, who wrote it, whether it may
be trained on.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec

from synth.importers.message_parts import mask_after_unseen
from synth.importers.records import Mark
from synth.schemas.messages import ENVIRONMENT_NAME, Conversation, from_messages
from synth.schemas.trajectory import SampledBy, Source, TokenId, Turn, Usage

_MOST = 1 << 53
Count = Annotated[int, msgspec.Meta(ge=0, le=_MOST)]
COPIED_MASK = "copied_context"
"""Mask of answers repeated from an earlier stretch or trajectory: they are trained on there, if
anywhere.
"""


class TurnNote(msgspec.Struct, omit_defaults=True):
    """Fields of a turn that no chat message has; None leaves what the message says."""

    usage: Usage | None = None
    raw: str | None = None
    mask: str | None = None
    sampled_by: SampledBy | None = None
    agent: str | None = None
    prompt_token_ids: tuple[TokenId, ...] | None = None
    completion_token_ids: tuple[TokenId, ...] | None = None
    logprobs: tuple[float, ...] | None = None


def noted_conversation(
    messages: Sequence[Mapping[str, Any]], notes: Sequence[TurnNote] = ()
) -> Conversation:
    """`from_messages` with the n-th note on the n-th assistant message; turns after content that is
    not text are masked.
    """
    read = from_messages(messages)
    noted = [_with(turn, notes[i]) if i < len(notes) else turn for i, turn in enumerate(read.turns)]
    return msgspec.structs.replace(read, turns=mask_after_unseen(read.opening, noted))


def _with(turn: Turn, note: TurnNote) -> Turn:
    return msgspec.structs.replace(
        turn,
        **{key: value for key, value in msgspec.structs.asdict(note).items() if value is not None},
    )


def counted(usage: Any, *names: str) -> int:
    """A count of tokens under the first of the names that has one; 0 where none has."""
    counts = (usage.get(name) for name in names) if isinstance(usage, Mapping) else ()
    return next((count for count in counts if type(count) is int and 0 <= count <= _MOST), 0)


def from_environment(text: str) -> dict[str, Any]:
    """A message in the user's role that the harness wrote, not a person."""
    return {"role": "user", "name": ENVIRONMENT_NAME, "content": text}


def totals(turns: Sequence[Turn]) -> Usage:
    """Usage of all turns that state one."""
    return sum((turn.usage for turn in turns if turn.usage is not None), Usage())


def goal_of(conversation: Conversation) -> str:
    """What the user first asked; where none speaks, what the environment or the system prompt
    says.
    """
    heard = [*conversation.opening, *(o for turn in conversation.turns for o in turn.observations)]
    for source in (Source.USER, Source.ENVIRONMENT):
        for observation in heard:
            if observation.source is source and observation.content:
                return observation.content
    return conversation.system_prompt or ""


def unresolved_mark(conversation: Conversation) -> tuple[Mark, ...]:
    """How many tool results answer no call, where there are any."""
    return (
        (Mark("unresolved_results", float(conversation.unresolved)),)
        if conversation.unresolved
        else ()
    )
