"""FireAct results: an object of episodes by question number, each a list of messages or one
Alpaca-style text (by model); the model wrote ReAct text (`Thought:`, `Action: name[argument]`).

`reward` is exact match with the expected answer, a strict test: `f1` stands beside it as a score.
Dataset, split, model and temperature are what the file's name claims; nothing inside says so.
"""

import re
from functools import partial
from typing import Any

import msgspec

from synth.importers.attempt import OPEN_END, entry
from synth.importers.conversation import ConversationBuilder, tool_call
from synth.importers.records import (
    Entry,
    Found,
    ImportedLabel,
    ImportSettings,
    Object,
    Record,
    by_record,
    each,
)
from synth.schemas import Conversation, Termination

_ALPACA = re.compile(
    r"\A(?P<system>.*?)\n*### Instruction:\n(?P<question>.*?)\n+### Response:\n(?P<response>.*)\Z",
    re.DOTALL,
)
_NAME = re.compile(
    r"^(?P<dataset>[a-z]+)_(?P<split>dev|test|train)_\d+_\d+_"
    r"(?P<model>.+)_(?P<temperature>\d+\.\d+)_\d{4}-\d\d-\d\d-"
)
_ACTION = re.compile(r"^Action:[ \t]*(?P<name>\w+)\[(?P<argument>.*)", re.MULTILINE)
_THOUGHT = re.compile(r"\AThought:[ \t]*")
_STEP = re.compile(
    r"(?P<written>.*?)(?:^Observation:[ \t]*(?P<observed>.*?)(?=^(?:Thought|Action):|\Z)|\Z)",
    re.DOTALL | re.MULTILINE,
)
_OBSERVATION = "Observation:"
_ARGUMENT = {"search": "query", "lookup": "keyword", "finish": "answer"}
_FINISHED = "Episode finished"
SEVERAL_ACTIONS = "text_after_action"
"""Mask of a turn in which the model went on after its action: only the first was executed."""


class _FireActEpisode(msgspec.Struct):
    traj: list[Object] | str
    reward: bool | float | None = None
    f1: float | None = None
    gt: Any = None


def recognises(value: Any) -> bool:
    """An object of objects that have `traj`, `em` and `gt`."""
    first = next(iter(value.values()), None) if isinstance(value, dict) else None
    return isinstance(first, dict) and {"traj", "em", "gt"} <= set(first)


def _episodes(record: Record, settings: ImportSettings) -> Found:
    if not isinstance(record.value, dict):
        raise ValueError("no object of episodes")

    parts = (record.part(key, value) for key, value in record.value.items())
    return each(parts, partial(_read, settings=settings))


FORMAT = by_record(recognises, _episodes)


def _read(record: Record, settings: ImportSettings) -> Entry:
    episode = msgspec.convert(record.value, _FireActEpisode)
    conversation = _conversation(episode.traj)
    named = _NAME.match(record.file_name)
    dataset = named["dataset"] if named else "unknown"
    reward = None if episode.reward is None else float(episode.reward)

    return entry(
        record,
        "fireact",
        conversation,
        env=f"fireact/{dataset}",
        goal=conversation.opening[0].content.strip(),
        benchmark=f"{dataset}/{named['split']}" if named else "fireact/unknown",
        task={"script": {} if episode.gt is None else {"answer": episode.gt}},
        marks=[] if episode.f1 is None else [ImportedLabel("f1", episode.f1)],
        no_turns="the model wrote nothing",
        passed=settings.passed(reward),
        reward=reward,
        end=(Termination.DONE, None) if _is_finished(conversation) else OPEN_END,
        model=named and named["model"],
        sampling={"temperature": float(named["temperature"])} if named else {},
    )


def _is_finished(conversation: Conversation) -> bool:
    """Whether the last that the model was told is that the episode is over."""
    last = (one for turn in conversation.turns[-1:] for one in turn.observations[-1:])
    return any(one.content.startswith(_FINISHED) for one in last)


def _conversation(traj: list[Object] | str) -> Conversation:
    """Question and turns of either shape. Raises `ValueError`."""
    if isinstance(traj, str):
        parts = _ALPACA.match(traj)
        if parts is None:
            raise ValueError("traj has no ### Instruction and ### Response")

        chat = ConversationBuilder(parts["system"] or None)
        chat.say("user", parts["question"])

        for step in _STEP.finditer(parts["response"]):
            if step["observed"] is not None or step["written"].strip():
                _write(chat, step["written"].strip())

            if step["observed"] is not None:
                chat.result(step["observed"].strip())

        return chat.conversation()

    chat = ConversationBuilder()

    for at, message in enumerate(traj):
        text = message.get("content")
        if message.get("role") != ("user", "assistant")[at % 2]:
            raise ValueError("traj is no list of user and assistant messages in turn")

        if not isinstance(text, str):
            raise ValueError("traj has a message without text")

        if at == 0:
            chat.say("user", text)
        elif at % 2:
            _write(chat, text.strip())
        else:
            chat.result(text.removeprefix(_OBSERVATION).strip())

    return chat.conversation()


def _write(chat: ConversationBuilder, written: str) -> None:
    """Adds what the model wrote in one step; its first action is the one that was executed."""
    action = _ACTION.search(written)
    if action is None:
        chat.answer(written)
        return

    name, line = action["name"], action["argument"]
    argument, bracket, rest = line.rpartition("]")
    value = {_ARGUMENT.get(name, "input"): argument if bracket else line}
    chat.answer(
        thought=_THOUGHT.sub("", written[: action.start()].strip()) or None,
        calls=[tool_call(None, name, value)],
        mask=SEVERAL_ACTIONS if rest.strip() or written[action.end() :].strip() else None,
        raw=written,
    )
