"""Tool calls found in text where the server missed them, in every form of `synth.text.calls`.

Servers swallow calls inside thinking, give up at data after the JSON, or at the second call
(vllm#39056, #17790, #32638), or were started without a parser. What the model itself wrote wrongly
stays wrong: a recognisable call whose JSON is broken becomes a call with a `parse_error`.
"""

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from synth.models.replies.call_ids import arguments_meaning, identified
from synth.schemas import Completion, Messages, ToolCall, ToolSchemas
from synth.text.calls.found import FoundCalls
from synth.text.calls.reading import read_calls
from synth.text.calls.thinking import inside_thinking, outside_thinking, without_thinking

IN_THINKING = "tool_call_in_thinking"
BESIDE = "tool_call_beside_others"
LEFT = "tool_call_left_in_text"
THOUGHT = "thinking_in_content"


def with_recovered_calls(
    completion: Completion, messages: Messages, tools: ToolSchemas
) -> Completion:
    """The completion with the calls that its server missed.

    Where it found some, those that it left in the content outside thinking come after them; a call
    that stands in both is one call. Where it found none, calls outside thinking come first; those
    inside are taken only where there are none outside, since a model may weigh a call that it then
    does not make. `raw` keeps what was received; content that consisted of calls only becomes None.
    """
    content, known = completion.content or "", completion.tool_calls
    found = outside_thinking(content, tools)
    calls = _not_among(found.calls, known)

    if not (known or calls):
        for inside in _inside_thinking(completion, tools):
            if inside.calls:
                return _merged(completion, messages, inside, inside.calls, IN_THINKING)

    changed = found.text != content or bool(found.repairs)
    if not calls and (found.calls or not changed):
        return completion

    thought = "\n".join(filter(None, (completion.thought, found.thought)))
    found = replace(found, thought=thought)
    return _merged(completion, messages, found, calls, *((BESIDE,) if known and calls else ()))


def read_apart(completion: Completion, tools: ToolSchemas) -> Completion:
    """The completion whose text holds nothing but text: neither calls that stand among its calls as
    well, nor thinking that the server left in it. Where nothing has to go it is the same.
    """
    content = completion.content or ""
    found = outside_thinking(content, tools) if completion.tool_calls else FoundCalls()
    told = []
    if found.calls and not _not_among(found.calls, completion.tool_calls):
        content = found.text
        told.append(LEFT)

    thinking, rest = without_thinking(content)
    thought = completion.thought
    if rest != content:
        thought = "\n".join(filter(None, (thinking, thought)))
        content = rest
        told.append(THOUGHT)
    if not told:
        return completion
    repairs = _all_of(completion.repairs, told)
    return replace(completion, content=content or None, thought=thought, repairs=repairs)


def _merged(
    completion: Completion,
    messages: Messages,
    found: FoundCalls,
    calls: Sequence[ToolCall],
    *told: str,
) -> Completion:
    """The completion with these calls after its own, and what was found for text and thought."""
    named, mended = identified([*completion.tool_calls, *calls], messages)
    return replace(
        completion,
        content=found.text or None,
        thought=found.thought if found.thought or completion.thought is not None else None,
        tool_calls=named,
        repairs=_all_of(completion.repairs, found.repairs, told, mended),
    )


def _all_of(*repairs: Sequence[str]) -> tuple[str, ...]:
    """Each repair once, in order."""
    return tuple(dict.fromkeys(repair for several in repairs for repair in several))


def _not_among(found: Sequence[ToolCall], known: Sequence[ToolCall]) -> list[ToolCall]:
    """The calls but for those that are known: each of these accounts for one of the same name and
    the same arguments.
    """
    left, new = Counter(map(_meaning, known)), list[ToolCall]()
    for call in found:
        meaning = _meaning(call)
        if left[meaning] > 0:
            left[meaning] -= 1
        else:
            new.append(call)
    return new


def _inside_thinking(completion: Completion, tools: ToolSchemas) -> list[FoundCalls]:
    """What stands in the thinking: in the thought, or in the content; only what is marked as a
    call.
    """
    content, thought = completion.content or "", completion.thought or ""
    in_thought = read_calls(thought, tools, marked_only=True)
    in_content = inside_thinking(content, tools)
    return [
        replace(in_thought, text=content, thought=in_thought.text),
        replace(in_content, thought=thought),
    ]


def _meaning(call: ToolCall) -> tuple[str, bool, bytes]:
    return call.name, call.parse_error is None, arguments_meaning(call)
