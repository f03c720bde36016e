"""ReAct text (`Thought:`, `Action: name[argument]`, `Observation:`) as turns."""

import json
import re
from collections.abc import Sequence

from synth.schemas.canonical import valid_text
from synth.schemas.trajectory import Observation, ToolCall, Turn

_ACTION = re.compile(r"^Action:[ \t]*(?P<name>\w+)\[(?P<argument>.*)", re.MULTILINE)
_THOUGHT = re.compile(r"\AThought:[ \t]*")
_OBSERVATION = re.compile(r"^Observation:[ \t]*", re.MULTILINE)
_WRITTEN = re.compile(r"^(?:Thought|Action):", re.MULTILINE)
_ARGUMENT = {"search": "query", "lookup": "keyword", "finish": "answer"}
SEVERAL_ACTIONS = "text_after_action"
"""Mask of a turn in which the model went on after its action: only the first was executed."""


def react_turns(steps: Sequence[tuple[str, str | None]]) -> tuple[Turn, ...]:
    """(what the model wrote, what it was answered) per step; the first action of a step is the one
    that was executed.
    """
    return tuple(_turn(index, written, answer) for index, (written, answer) in enumerate(steps))


def react_steps(text: str) -> list[tuple[str, str | None]]:
    """The steps of one text in which written and observed lines follow one another."""
    steps: list[tuple[str, str | None]] = []
    at = 0
    while at < len(text):
        observed = _OBSERVATION.search(text, at)
        if observed is None:
            if text[at:].strip():
                steps.append((text[at:].strip(), None))
            break
        following = _WRITTEN.search(text, observed.end())
        end = following.start() if following is not None else len(text)
        steps.append((text[at : observed.start()].strip(), text[observed.end() : end].strip()))
        at = end
    return steps


def _turn(index: int, written: str, answer: str | None) -> Turn:
    written = valid_text(written)
    action = _ACTION.search(written)
    call_id = f"call_{index}_0"
    observations = (
        ()
        if answer is None
        else (Observation(valid_text(answer), call_id=call_id if action else None),)
    )
    if action is None:
        return Turn(index, written, observations=observations)
    line = action["argument"]
    argument, bracket, rest = line.rpartition("]")
    name = action["name"]
    call = ToolCall.received(
        call_id,
        name,
        json.dumps(
            {_ARGUMENT.get(name, "input"): argument if bracket else line}, ensure_ascii=False
        ),
    )
    thought = _THOUGHT.sub("", written[: action.start()].strip()) or None
    after = bool(rest.strip() or written[action.end() :].strip())
    mask = SEVERAL_ACTIONS if after else None
    return Turn(
        index,
        tool_calls=(call,),
        observations=observations,
        thought=thought,
        mask=mask,
        raw=written,
    )
