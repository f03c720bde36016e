"""A key that came in parts, and stands whole where the parts of a reply are put together."""

from msgspec.structs import replace

from synth.keys.remover import KEY_REMOVED, KeyRemover
from synth.schemas.model import Completion


def joined_without_key(reply: Completion, keys: KeyRemover) -> Completion:
    """The reply with the mark where its parts make up a key; `raw` holds these parts, and goes."""
    content, thought = (text and keys.clean_text(text) for text in (reply.content, reply.thought))
    if (content, thought) == (reply.content, reply.thought):
        return reply
    return replace(key_removed(reply), content=content, thought=thought, raw=None)


def key_removed(reply: Completion) -> Completion:
    """The reply with the repair named, and without its tokens: they spell what was taken out of the
    text.
    """
    if KEY_REMOVED in reply.repairs:
        return reply
    return replace(
        reply, repairs=(*reply.repairs, KEY_REMOVED), completion_token_ids=None, logprobs=None
    )
