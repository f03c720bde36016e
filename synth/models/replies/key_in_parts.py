"""A key that came in parts, and stands whole where the parts of a reply are put together."""

from msgspec.structs import replace

from synth.keys.remover import KEY_REMOVED, KeyRemover
from synth.schemas.model import Completion


def without_key(reply: Completion, keys: KeyRemover, *, taken_out: bool = False) -> Completion:
    """The reply with the mark where its parts make up a key; `raw` holds these parts, and goes.

    Where that is so, or a key was `taken_out` of the body before, the repair is named, and the
    tokens go too: they spell what was taken out of the text.
    """
    content, thought = (text and keys.clean_text(text) for text in (reply.content, reply.thought))
    joined = (content, thought) != (reply.content, reply.thought)
    if not (joined or taken_out):
        return reply
    return replace(
        reply,
        content=content,
        thought=thought,
        raw=None if joined else reply.raw,
        repairs=tuple(dict.fromkeys((*reply.repairs, KEY_REMOVED))),
        completion_token_ids=None,
        logprobs=None,
    )
