"""What was read out of a text, and what all forms share: white space, tokens that end a reply,
JSON that is cut off.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from synth.schemas import ToolCall, ToolSchemas, valid_text

RECOVERED = "tool_call_recovered"
UNCLOSED = "tool_call_unclosed"
EXTRA_DATA = "tool_call_extra_data"
NO_ARGUMENTS = "tool_call_without_arguments"
AS_TEXT = "tool_call_arguments_as_text"
UNREAD = "tool_call_unread"
MARKUP = "tool_call_markup_in_text"

_SPACE = re.compile(r"\s*")
_ENDS = re.compile(
    r"(?:\s*(?:<\|(?:eot_id|eom_id|im_end|end_of_text|endoftext|end|call|return|end_of_turn|"
    r"eot|end_of_msg)\|>|</s>|<｜end▁of▁sentence｜>|<end_of_turn>|\[/TOOL_CALLS\]))+"
)
"""Tokens that end a reply or a message; a server that keeps special tokens leaves them in."""
_LINE_END = re.compile(r"[ \t]*(?:\n|\Z)")
_BEGUN_WORD = re.compile(r"\s*(?:-|t|tr|tru|f|fa|fal|fals|n|nu|nul)?\s*")
"""What may be left of a text where JSON stops: nothing, or the beginning of a word of it."""
_DECODER = json.JSONDecoder()


class FoundCalls(msgspec.Struct, frozen=True):
    """Calls (without ids), the text around them, the names of what was mended, and where the text
    goes on; `thought` where the form itself tells thinking from text.
    """

    calls: tuple[ToolCall, ...] = ()
    text: str = ""
    repairs: tuple[str, ...] = ()
    end: int = 0
    thought: str = ""


def past(pattern: "re.Pattern[str]", text: str, position: int) -> int:
    """Where the text goes on behind what may stand there."""
    found = pattern.match(text, position)
    return position if found is None else found.end()


def after_space(text: str, position: int) -> int:
    """Where the text goes on after white space."""
    return past(_SPACE, text, position)


def after_ends(text: str, position: int) -> int:
    """Where the text goes on after tokens that end a reply."""
    return past(_ENDS, text, position)


def ends_line(text: str, position: int) -> bool:
    """Whether nothing but white space, or a token that ends a reply, follows on this line."""
    position = after_ends(text, position)
    return _LINE_END.match(text, position) is not None


def json_end(text: str, begin: int) -> int | None:
    """Where the JSON value that begins there ends; None where none does."""
    try:
        # a slice, since an error of json counts all lines before it
        return begin + _DECODER.raw_decode(text[begin:])[1]
    except (ValueError, RecursionError):
        return None


def cut_off(text: str, begin: int) -> bool:
    """Whether the JSON that begins there only lacks its end: the text stops before it does."""
    rest = text[begin:]
    try:
        _DECODER.raw_decode(rest)
    except json.JSONDecodeError as error:
        unended = error.msg.startswith(("Unterminated", "Invalid \\"))
        return unended or _BEGUN_WORD.fullmatch(rest, error.pos) is not None
    except (ValueError, RecursionError):
        pass
    return False


def object_end(text: str, begin: int, stop: "re.Pattern[str]") -> int | None:
    """Where the object that begins there ends; `stop` is searched for what ends a broken one, or
    what is none. None where the text stops before it ends.
    """
    if text.startswith("{", begin):
        end = json_end(text, begin)
        if end is not None or cut_off(text, begin):
            return end
    found = stop.search(text, begin)
    return None if found is None else found.start()


def as_json(value: Mapping[str, Any]) -> str:
    """Arguments as a model would write them."""
    return valid_text(json.dumps(value, ensure_ascii=False))


def together(found: Sequence[FoundCalls], text: str) -> FoundCalls:
    """What was found in the parts of a text, and the text that is left."""
    calls = tuple(call for one in found for call in one.calls)
    mended = dict.fromkeys(repair for one in found for repair in one.repairs)
    thought = "\n".join(filter(None, (one.thought for one in found)))
    repairs = tuple({RECOVERED: None, **mended} if calls else mended)
    return FoundCalls(calls, text, repairs, thought=thought)


def tool_named(tools: ToolSchemas, name: str) -> str | None:
    """The name of the tool that is meant: as it stands, or behind a namespace (`functions.find`);
    None where no such tool is offered.
    """
    names = {tool.get("function", {}).get("name") for tool in tools}
    for one in (name, name.rpartition(".")[2]):
        if one in names:
            return one
    return None
