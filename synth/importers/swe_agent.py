"""SWE-agent `.traj`: `{trajectory: [steps], history: [messages], info, environment,
replay_config?}`; retry runs hold `attempts` of these.

The conversation is the history without demonstrations. Text-format files have no tool calls: the
action stands in the words, and what the shell answered comes in the role of the user. Steps give
only what the history lacks: the answer to the last action, and times.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from synth.importers.attempt import OPEN_END, End, ends, entry, import_task, unresolved
from synth.importers.conversation import (
    ConversationBuilder,
    Count,
    TurnNote,
    goal_of,
    joined,
    text_of,
)
from synth.importers.records import (
    Entry,
    ImportedLabel,
    ImportSettings,
    Record,
    by_record,
    each,
    is_object,
)
from synth.importers.swe_benchmark import swe_benchmark
from synth.schemas.messages import Conversation
from synth.schemas.trajectory import Authorship, Usage

_PRIMARY = ("main", "primary")
_SUBMITTED_AFTER = re.compile(r"^submitted \((?P<why>[a-z_]+)\)$")

ENDED = ends(
    {
        "agent_stop": "submitted exit_command exit_forfeit",
        "token_limit": "exit_cost",
        "context_limit": "exit_context",
        "time_limit": "exit_total_execution_time exit_command_timeout",
        "stuck": "exit_format",
        "fault model": "exit_api",
        "fault environment": "exit_environment_error",
        "fault infrastructure": "exit_error early_exit",
    }
)
"""What an `exit_status` is here; `submitted (x)` is what x is, and one that is not listed leaves
open how the run ended.
"""


class _Message(msgspec.Struct):
    role: str
    content: Any = None
    agent: str | None = None
    is_demo: bool | None = None
    thought: str | None = None
    action: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_ids: list[str] | None = None
    thinking_blocks: list[dict[str, Any]] | None = None


class _Step(msgspec.Struct):
    action: str | None = None
    observation: str | None = None
    thought: str | None = None
    execution_time: float | None = None


class _Stats(msgspec.Struct):
    instance_cost: float | None = None
    tokens_sent: Count = 0
    tokens_received: Count = 0
    api_calls: Count = 0


class _About(msgspec.Struct):
    exit_status: str | None = None
    model_stats: _Stats | None = None


class _Run(msgspec.Struct):
    history: list[_Message]
    trajectory: list[_Step] | None = None
    info: _About = msgspec.field(default_factory=_About)
    replay_config: Any = None
    instance_id: str | None = None


class _Config(msgspec.Struct, frozen=True):
    """What `replay_config` says of the run."""

    model: str | None = None
    sampling: Mapping[str, Any] = {}
    problem: str | None = None
    text: str | None = None
    image: Any = None


def recognises(value: Any) -> bool:
    """A history whose messages name their agent, or the attempts of a retry run."""
    if is_object(value, attempts=list):
        return any(recognises(one) for one in value["attempts"] if not is_object(one, "attempts"))
    if not is_object(value, history=list) or "mistake_agent" in value:
        return False
    if is_object(value, trajectory=list, info=dict):
        return True
    messages = value["history"]
    return bool(messages) and all(is_object(one, "role", "agent") for one in messages)


def _attempts(record: Record, settings: ImportSettings) -> Entry | Iterator[Entry]:
    """One trajectory per document; of a retry run, one per attempt (its top level repeats the best
    one).
    """
    whole = record.value
    if not is_object(whole, attempts=list):
        return _read(record, 0)
    shared = {key: whole[key] for key in ("replay_config", "instance_id") if key in whole}
    return (
        found
        for index, one in enumerate(whole["attempts"])
        for found in each(
            [
                record.part(
                    f"attempts/{index}", {**shared, **one} if isinstance(one, Mapping) else one
                )
            ],
            partial(_read, trial=index),
        )
    )


def _read(record: Record, trial: int) -> Entry:
    run = msgspec.convert(record.value, _Run)
    config = _config(run.replay_config)
    said = [message for message in run.history if not message.is_demo]
    steps = _steps_of(said, run.trajectory or [])
    conversation = _conversation(said, steps)
    stats = run.info.model_stats or _Stats()
    termination, fault = _ended(run.info.exit_status)
    problem = config.problem or run.instance_id
    task = import_task(
        "swe_agent",
        config.text or goal_of(conversation),
        benchmark=swe_benchmark(problem, config.image, conversation.turns),
    )
    return entry(
        record,
        "swe_agent",
        conversation,
        task,
        marks=_labels(said, steps, run) + unresolved(conversation),
        no_turns="no message of the agent's own: no result, not a failure",
        trial=trial,
        termination=termination,
        fault=fault,
        fault_detail=run.info.exit_status if fault else None,
        model=config.model,
        sampling=config.sampling,
        authorship=Authorship.HUMAN
        if config.model in ("human", "human_thought")
        else Authorship.MODEL,
        totals=Usage(
            stats.tokens_sent, stats.tokens_received, 0, stats.api_calls, stats.instance_cost
        ),
    )


def _ended(status: str | None) -> End:
    after = _SUBMITTED_AFTER.match(status or "")
    return ENDED.get(after["why"] if after else status or "", OPEN_END)


def _conversation(said: Sequence[_Message], steps: Sequence[_Step | None]) -> Conversation:
    """The history as a conversation. In text-format files the first user message is the task, and
    all later ones are the shell's.
    """
    chat = ConversationBuilder()
    heard = False
    for message in said:
        content = text_of(message.content)
        if message.role == "assistant":
            blocks = message.thinking_blocks or []
            note = TurnNote(agent=None if message.agent in _PRIMARY else message.agent)
            if blocks:
                note.raw = json.dumps({"thinking_blocks": blocks}, ensure_ascii=False)
            thoughts = (str(block["thinking"]) for block in blocks if block.get("thinking"))
            calls = message.tool_calls or ()
            chat.answer(content, thought=joined(*thoughts), calls=calls, note=note)
        elif message.role == "tool":
            for call_id in message.tool_call_ids or (None,):
                chat.result(content, call_id)
        elif message.role == "user" and heard:
            chat.harness(content)
        else:
            chat.say(message.role, content)
            heard = heard or message.role == "user"
    last = steps[-1] if steps else None
    answered_last = bool(chat.messages) and chat.messages[-1]["role"] == "assistant"
    if answered_last and last is not None and last.observation:
        chat.after_answer(last.observation)
    return chat.conversation()


def _steps_of(said: Sequence[_Message], steps: Sequence[_Step]) -> list[_Step | None]:
    """For every message of the agent the step that it became: the next one with its thought and
    action.
    """
    found: list[_Step | None] = []
    at = 0
    for message in said:
        if message.role != "assistant":
            continue
        same = (
            i
            for i in range(at, len(steps))
            if (steps[i].thought, steps[i].action) == (message.thought, message.action)
        )
        index = next(same, None)
        found.append(None if index is None else steps[index])
        at = at if index is None else index + 1
    return found


def _labels(
    said: Sequence[_Message], steps: Sequence[_Step | None], run: _Run
) -> tuple[ImportedLabel, ...]:
    times = [
        ImportedLabel("execution_time_s", step.execution_time, turn)
        for turn, step in enumerate(steps)
        if step and step.execution_time
    ]
    outside = len(run.trajectory or ()) - sum(step is not None for step in steps)
    demos = len(run.history) - len(said)
    counts = {"steps_outside_history": outside, "demonstrations_left_out": demos}
    return (*times, *(ImportedLabel(name, float(n)) for name, n in counts.items() if n))


def _config(config: Any) -> _Config:
    """`replay_config` as an object or as the JSON text of one; whatever else it is says nothing."""
    if isinstance(config, str) and config:
        config = json.loads(config)
    model = _inside(config, "agent", "model")
    stated = model if isinstance(model, Mapping) else {}
    name = _text(stated.get("name"))
    return _Config(
        model=None if name == "replay" else name,
        sampling={
            key: stated[key]
            for key in ("temperature", "top_p")
            if isinstance(stated.get(key), int | float)
        },
        problem=_text(_inside(config, "problem_statement", "id")),
        text=_text(_inside(config, "problem_statement", "text")) or None,
        image=_inside(config, "env", "deployment", "image"),
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _inside(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


FORMAT = by_record(recognises, _attempts)
