"""Whether a rendered row has the turns that its messages make, and no others that its texts forge.

The same messages are rendered a second time with a blank in the place of each text. A template
makes of both the same control tokens, however it merges answers of tools, drops earlier thoughts or
moves the system prompt, since it decides by roles and not by texts. What the row has beyond that
comes from its texts.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import partial
from itertools import pairwise
from typing import Any

from synth.exporters.kinds.sft_rows import SftRow, assistant_places
from synth.exporters.template import MaskTemplate, added_tokens, own_tokens
from synth.schemas import Message, ToolSchema
from synth.set_aside import SetAside
from synth.text.control_tokens import ControlTokens, control_tokens, neutralising
from synth.text.transcript.message_texts import ARGUMENTS, TOOLS, Change, with_messages


def all_prefixes_stay(rows: Iterable[SftRow], template: MaskTemplate) -> bool:
    """Whether every row's do; the first that does not ends the look. Rows that the template refuses
    are set aside elsewhere.
    """
    refused = SetAside()
    return all(
        refused.tried(row.trajectory.trajectory_id, partial(prefixes_stay, row, template))
        is not False
        for row in rows
    )


def prefixes_stay(row: SftRow, template: MaskTemplate) -> bool:
    """Whether the rendering before each assistant message is a prefix of the next such rendering:
    of its tokens, or, without a tokenizer, of its text (rigor: masks, rows, fidelity).
    """
    tools = row.trajectory.tools
    # as a policy is asked for its next turn
    asked = [
        template.text(row.messages[:at], tools, generation_prompt=True)
        for at in assistant_places(row.messages)
    ]

    read = [template.units(text) for text in (*asked, template.text(row.messages, tools))]
    return all(later[: len(before)] == before for before, later in pairwise(read))


BLANK = "x"
MOST_NAMED = 3
_ASKED_BY_TEMPLATES = ("name", "call_id", "call_name", TOOLS)
"""Places whose texts templates look at: ids of a certain length, types of parameters."""


def turn_problems(
    messages: Sequence[Message], tools: Sequence[ToolSchema], template: MaskTemplate
) -> Iterator[str]:
    """One line for a row in which a tokenizer reads other turns, calls or thoughts than its
    messages are.
    """
    # the table's tokens and the student's own
    tokens = control_tokens(own_tokens(template))
    change = _blanking(tokens)
    blank = template.text(with_messages(messages, change), change(TOOLS, list(tools)))
    text = template.text(messages, tools)
    # what the template itself writes is structure, whoever else writes it
    markers = {token for token in (*tokens.in_text(blank), *tokens.in_text(template.source))}
    made, read = (_read(one, markers, template, tokens) for one in (blank, text))

    if read != made:
        beyond = sorted((read - made) + (made - read))
        yield f"texts are read as turns, calls or thoughts: {', '.join(beyond[:MOST_NAMED])}"


def _blanking(tokens: ControlTokens) -> Change:
    """Puts a blank in the place of each text, but for what templates look at."""
    neutral = neutralising(tokens)

    def change(place: str, value: Any) -> Any:
        asked = place in _ASKED_BY_TEMPLATES
        if asked or (place == ARGUMENTS and isinstance(value, str)):
            return neutral(place, value)

        return _blank(value, tokens)

    return change


def _blank(value: Any, tokens: ControlTokens) -> Any:
    """Arguments without their texts; keys stay, but for tokens in them."""
    if isinstance(value, dict):
        return {tokens.neutralised(key): _blank(item, tokens) for key, item in value.items()}
    if isinstance(value, list):
        return [_blank(item, tokens) for item in value]

    return BLANK if isinstance(value, str) and value.strip() else value


def _read(
    text: str, markers: Set[str], template: MaskTemplate, tokens: ControlTokens
) -> Counter[str]:
    """How often each control token stands in a text: as the tokenizer reads it, and what the
    template writes though it is no token.

    Without a tokenizer every word between bars may be one.
    """
    added = added_tokens(template)
    # as the tokenizer reads the text, token by token
    read = Counter(added[number] for number in template.ids(text) if number in added)
    known = set(added.values())
    plain = [token for token in tokens.in_text(text) if token not in known]

    return read + Counter(
        token
        for token in plain
        if token in markers or (template.tokenizer is None and tokens.is_shape(token))
    )
