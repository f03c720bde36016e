"""A student's own control tokens: what its tokenizer splits off any text, and what its chat
template writes around texts.
"""

from functools import cache

from synth.exporters.proof.template import Template
from synth.text.control_tokens import control_tokens


@cache
def own_tokens(template: Template) -> frozenset[str]:
    """Special tokens, added tokens that the template writes, and tokens of the table in the
    template's source.

    Other added tokens (runs of spaces, HTML's tags in Gemma) are words of the vocabulary.
    """
    return frozenset(added_tokens(template).values()) | frozenset(
        control_tokens().in_text(template.source)
    )


@cache
def added_tokens(template: Template) -> dict[int, str]:
    """Id -> token, of the tokenizer; none where there is none."""
    if template.tokenizer is None:
        return {}
    added = getattr(template.tokenizer, "added_tokens_decoder", {})
    structure = {
        number: str(token)
        for number, token in added.items()
        if token.special or str(token) in template.source
    }
    return {number: token for number, token in structure.items() if token.strip()}
