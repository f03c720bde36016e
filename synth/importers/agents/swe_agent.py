"""SWE-agent `.traj`: `{trajectory: [steps], history: [messages], info, environment,
replay_config?}`; retry runs hold `attempts` of these.

The conversation is the history without demonstrations. In text-format files the action stands in
the words: it becomes a call of `bash`, the words stay as `raw`, and what the shell answered in the
role of the user is its answer. Steps give
only what the history lacks: the answer to the last action, and times.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from synth.importers.actions.written import SHELL
from synth.importers.agents.swe_runs import Info, Stats, instance_of, swe_benchmark
from synth.importers.agents.swe_steps import has_steps_alone, with_history
from synth.importers.attempt import OPEN_END, count_labels, ends, entry
from synth.importers.conversation import ConversationBuilder, joined, text_of, tool_call
from synth.importers.records import (
    Entry,
    Found,
    ImportedLabel,
    ImportSettings,
    Object,
    Record,
    by_record,
    each,
    inside,
    is_object,
)
from synth.schemas import Authorship, Conversation, Usage

_PRIMARY = ("main", "primary")
_SUBMITTED_AFTER = re.compile(r"^submitted \((?P<why>[a-z_]+)\)$")

ENDED = ends("swe_agent")
"""What an `exit_status` is here; `submitted (x)` is what x is, and one that is not listed leaves
open how the run ended.
"""


class _HistoryItem(msgspec.Struct):
    role: str
    content: str | list[Any] | None = None
    agent: str | None = None
    is_demo: bool | None = None
    thought: str | None = None
    action: str | None = None
    tool_calls: list[Object] | None = None
    tool_call_ids: list[str] | None = None
    thinking_blocks: list[Object] | None = None


class _TrajectoryStep(msgspec.Struct, frozen=True):
    action: str | None = None
    observation: str | None = None
    thought: str | None = None
    execution_time: float | None = None


class _SweAgentRun(msgspec.Struct):
    history: list[_HistoryItem]
    trajectory: list[_TrajectoryStep] | None = None
    info: Info = Info()
    replay_config: Any = None
    instance_id: str | None = None


def recognises(value: Any) -> bool:
    """A history whose messages name their agent, steps alone, or the attempts of a retry run."""
    if is_object(value, attempts=list):
        return any(recognises(one) for one in value["attempts"] if not is_object(one, "attempts"))

    if has_steps_alone(value):
        return True
    if not is_object(value, history=list) or "mistake_agent" in value:
        return False

    if is_object(value, trajectory=list, info=dict):
        return True

    messages = value["history"]
    return bool(messages) and all(is_object(one, "role", "agent") for one in messages)


def _attempts(record: Record, settings: ImportSettings) -> Found:
    """One trajectory per document; of a retry run, one per attempt (its top level repeats the best
    one).
    """
    whole = record.value
    if not is_object(whole, attempts=list):
        return _read(record, 0)

    shared = {key: whole[key] for key in ("replay_config", "instance_id") if key in whole}
    runs = [shared | one if isinstance(one, dict) else one for one in whole["attempts"]]

    return (
        found
        for trial, part in enumerate(record.parts("attempts", runs))
        for found in each([part], partial(_read, trial=trial))
    )


FORMAT = by_record(recognises, _attempts)


def _read(record: Record, trial: int) -> Entry:
    alone = has_steps_alone(record.value)
    run = msgspec.convert(with_history(record.value) if alone else record.value, _SweAgentRun)
    said = [message for message in run.history if not message.is_demo]
    steps = _steps_of(said, run.trajectory or [])
    # the history does not hold what the shell answered to the last action: the steps do
    conversation = _conversation(said, steps[-1] if steps else None)
    stats, status = run.info.model_stats or Stats(), run.info.exit_status or ""
    after = _SUBMITTED_AFTER.match(status)
    counts = count_labels(
        conversation,
        steps_outside_history=len(run.trajectory or ()) - sum(step is not None for step in steps),
        demonstrations_left_out=len(run.history) - len(said),
    )

    return entry(
        record,
        "swe_agent",
        conversation,
        marks=(*_times(steps), *counts),
        no_turns="no message of the agent's own: no result, not a failure",
        trial=trial,
        end=ENDED.get(after["why"] if after else status, OPEN_END),
        fault_detail=status,
        totals=Usage(
            stats.tokens_sent, stats.tokens_received, 0, stats.api_calls, stats.instance_cost
        ),
        **_stated(run, conversation, instance_of(record.file_name)),
    )


def _times(steps: Sequence[_TrajectoryStep | None]) -> Iterator[ImportedLabel]:
    """How long the shell took, by turns."""
    for turn, step in enumerate(steps):
        if step and step.execution_time:
            yield ImportedLabel("execution_time_s", step.execution_time, turn)


def _stated(run: _SweAgentRun, conversation: Conversation, called: str | None) -> Object:
    """What `replay_config` says of the run, as an object or as the JSON text of one; whatever else
    it is says nothing. `called`: the instance that its file is named after.
    """
    config = run.replay_config
    if isinstance(config, str) and config:
        config = json.loads(config)

    name = inside(config, "agent.model.name", str)
    problem = inside(config, "problem_statement.id", str) or run.instance_id
    image = inside(config, "env.deployment.image")
    sampling = {key: inside(config, f"agent.model.{key}") for key in ("temperature", "top_p")}

    return {
        "goal": inside(config, "problem_statement.text", str) or None,
        "benchmark": swe_benchmark(problem, image, conversation.turns) or swe_benchmark(called),
        "names": (problem,),
        "model": None if name == "replay" else name,
        "sampling": {
            key: value for key, value in sampling.items() if isinstance(value, int | float)
        },
        "authorship": Authorship.HUMAN if name in ("human", "human_thought") else Authorship.MODEL,
    }


def _conversation(said: Sequence[_HistoryItem], last: _TrajectoryStep | None) -> Conversation:
    """The history as a conversation. In text-format files the first user message is the task, and
    all later ones are the shell's.
    """
    chat = ConversationBuilder()
    heard = False

    for message in said:
        content = message.content or ""
        if message.role == "assistant":
            blocks = message.thinking_blocks or []
            thoughts = (str(block["thinking"]) for block in blocks if block.get("thinking"))
            calls, words, raw = _act(message, content)
            chat.answer(
                words,
                thought=joined(*thoughts),
                calls=calls,
                agent=None if message.agent in _PRIMARY else message.agent,
                raw=({"text": raw} if raw else {}) | {"thinking_blocks": blocks} if blocks else raw,
            )
        elif message.role == "tool":
            for call_id in message.tool_call_ids or (None,):
                chat.result(content, call_id)
        elif message.role == "user" and heard:
            chat.after_answer(text_of(content))
        else:
            chat.say(message.role, content)
            heard = heard or message.role == "user"

    if said and said[-1].role == "assistant" and last is not None and last.observation:
        chat.after_answer(last.observation)
    return chat.conversation()


def _act(message: _HistoryItem, content: Any) -> tuple[Sequence[Object], Any, Any]:
    """The calls of an answer, its words, and the text as written, where the action stands in it."""
    action = message.action if isinstance(content, str) else None
    if message.tool_calls or not (action and action.strip()):
        return message.tool_calls or (), content, None
    thought = (message.thought or "").strip()
    return [tool_call(None, SHELL, {"command": action})], thought or None, content


def _steps_of(
    said: Sequence[_HistoryItem], steps: Sequence[_TrajectoryStep]
) -> list[_TrajectoryStep | None]:
    """For every message of the agent the step that it became: the next one with its thought and
    action.
    """
    found: list[_TrajectoryStep | None] = []
    left = list(steps)

    for message in said:
        if message.role == "assistant":
            same = (
                place
                for place, step in enumerate(left)
                if (step.thought, step.action) == (message.thought, message.action)
            )
            place = next(same, None)
            found.append(None if place is None else left[place])
            del left[: 0 if place is None else place + 1]

    return found
