"""Replies in OpenAI's harmony format (gpt-oss): messages in channels. `analysis` is thinking, a
message `to=functions.NAME` is a call, `final` and the rest of `commentary` are text.
"""

import re
from collections.abc import Iterable, Iterator

from synth.schemas import ToolCall, ToolSchemas
from synth.text.calls.found import RECOVERED, UNREAD, FoundCalls, cut_off, json_end, tool_named

HARMONY = "tool_call_harmony"
INVENTED = "tool_call_result_invented"
_MARK = re.compile(r"<\|(?:channel|start|message)\|>")
_MESSAGE = re.compile(
    r"(?:<\|start\|>(?P<role>[^<]*))?(?:<\|channel\|>(?P<channel>[^<]*))?"
    r"(?:<\|constrain\|>[^<]*)?<\|message\|>(?P<said>.*?)"
    r"(?P<end><\|(?:end|call|return)\|>|(?=<\|(?:start|channel)\|>)|\Z)",
    re.DOTALL,
)
_TO = re.compile(r"\bto=(?:functions\.)?(?P<name>[\w.\-]+)")
_TOKEN_BEGUN = re.compile(r"\s*<\|?[a-z]*\Z")
_WITHOUT_TOKENS = re.compile(
    r"(?:assistant)?(?:commentary|analysis)?[ \t]{0,3}\bto=functions\.(?P<name>[\w.\-]+?)\s*"
    r"(?:commentary|analysis)?\s*(?:json|code)?\s*(?=\{)"
)
_THOUGHT = re.compile(
    r"\s*analysis(?P<thought>.*?)(?:assistant(?:final|commentary)?|\Z)", re.DOTALL
)
_FINAL = re.compile(r"\s*analysis(?P<thought>.*?)assistantfinal(?P<final>.*)\Z", re.DOTALL)


def begins(text: str) -> int | None:
    """Where a reply in this format begins, or what tells it where its tokens were left out."""
    begun = _MARK.search(text) or _WITHOUT_TOKENS.search(text)
    return None if begun is None else begun.start()


def read_harmony(text: str, tools: ToolSchemas) -> FoundCalls | None:
    """A whole reply in this format, also where the server left its tokens out; None for a reply
    that is not.
    """
    if _MARK.search(text) is None:
        return _without_tokens(text, tools) if "analysis" in text or "to=" in text else None

    calls, texts, thoughts = list[ToolCall](), list[str](), list[str]()
    repairs, end = dict.fromkeys((HARMONY,)), 0
    for message in _messages(text):
        texts.append(text[end : message.start()])
        end = message.end()
        role = (message["role"] or "assistant").strip()
        if not role.startswith("assistant"):
            repairs[INVENTED], end = None, len(text)
            break
        _sort(message, tools, calls, texts, thoughts)

    texts.append(text[end:])
    whole = not any(map(_MARK.search, texts))
    told = ((RECOVERED,) if calls else ()) + tuple(repairs) + (() if whole else (UNREAD,))
    return FoundCalls(tuple(calls), _lines(texts), told, len(text), _lines(thoughts))


def _lines(texts: Iterable[str]) -> str:
    """Texts one below the other, without those that are empty."""
    return "\n".join(filter(None, map(str.strip, texts)))


def _messages(text: str) -> Iterator["re.Match[str]"]:
    """The messages of a reply, one after the other; none after a gap that is no white space."""
    end = 0
    while (begun := _MARK.search(text, end)) is not None:
        message = _MESSAGE.match(text, begun.start())
        if message is None:
            return
        yield message
        end = message.end()


def _sort(
    message: "re.Match[str]",
    tools: ToolSchemas,
    calls: list[ToolCall],
    texts: list[str],
    thoughts: list[str],
) -> None:
    """Puts a message where it belongs; a call that is cut off stays as it stands among the
    texts.
    """
    channel, said = (message["channel"] or "").strip(), message["said"]
    to = _TO.search(f"{message['role'] or ''} {channel}")
    if to is None:
        (thoughts if channel.startswith("analysis") else texts).append(said)
        return

    if not message["end"]:
        stop = json_end(said, 0)
        if stop is None and cut_off(said, 0):
            texts.append(message[0])
            return
        texts.append(_TOKEN_BEGUN.sub("", said[stop:]) if stop is not None else "")
        said = said[:stop]
    name = tool_named(tools, to["name"]) or to["name"]
    calls.append(ToolCall.received("", name, said.strip() or "{}"))


def _apart(before: str) -> tuple[str, str]:
    """What stands before a call, as (text, thinking)."""
    thinking = _THOUGHT.fullmatch(before)
    return (before, "") if thinking is None else ("", thinking["thought"])


def _without_tokens(text: str, tools: ToolSchemas) -> FoundCalls | None:
    """What is left of a reply whose special tokens the server left out: `analysis...assistant
    commentary to=functions.NAME json{...}`.
    """
    calls, texts, thought, end = list[ToolCall](), list[str](), "", 0
    repairs: list[str] = []
    for called in _WITHOUT_TOKENS.finditer(text):
        name, stop = tool_named(tools, called["name"]), json_end(text, called.end())
        if name is not None and stop is None and cut_off(text, called.end()):
            repairs.append(UNREAD)
        if name is None or stop is None or called.start() < end:
            continue
        before, thinking = _apart(text[end : called.start()])
        texts.append(before)
        thought += thinking
        calls.append(ToolCall.received("", name, text[called.end() : stop]))
        end = stop
    if calls:
        said = "".join((*texts, text[end:])).strip()
        return FoundCalls(
            tuple(calls), said, (RECOVERED, HARMONY, *repairs), len(text), thought.strip()
        )
    if repairs:
        return FoundCalls((), text, (UNREAD,), len(text))

    final = _FINAL.fullmatch(text)
    if final is None:
        return None
    thought = final["thought"].strip()
    return FoundCalls((), final["final"].strip(), (HARMONY,), len(text), thought)
