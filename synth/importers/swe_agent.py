"""SWE-agent `.traj`: `{trajectory: [steps], history: [messages], info, environment,
replay_config?}`; retry runs hold `attempts` of these.

The conversation is the history without demonstrations. Text-format files have no tool calls: the
action stands in the words, and what
the shell answered comes in the role of the user. Steps give only what the history lacks: the answer
to the last action, and times.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from synth.importers.attempt import attempt
from synth.importers.message_parts import text_of
from synth.importers.records import (
    Entry,
    Format,
    Imported,
    ImportSettings,
    Mark,
    Record,
    Rejection,
    each,
)
from synth.importers.swe_benchmark import swe_benchmark
from synth.importers.turn_notes import (
    Count,
    TurnNote,
    from_environment,
    goal_of,
    noted_conversation,
    unresolved_mark,
)
from synth.schemas.outcome import Fault, Termination
from synth.schemas.task import Origin, Task
from synth.schemas.trajectory import Authorship, Usage

_FORMAT = "swe_agent"
_PRIMARY = ("main", "primary")
_TURNS_ASKED = 5  # the working directory stands under every answer of the shell
_SUBMITTED_AFTER = re.compile(r"^submitted \((?P<why>[a-z_]+)\)$")

ENDED: Mapping[str, tuple[Termination, Fault | None]] = {
    "submitted": (Termination.AGENT_STOP, None),
    "exit_command": (Termination.AGENT_STOP, None),
    "exit_forfeit": (Termination.AGENT_STOP, None),
    "exit_cost": (Termination.TOKEN_LIMIT, None),
    "exit_context": (Termination.CONTEXT_LIMIT, None),
    "exit_total_execution_time": (Termination.TIME_LIMIT, None),
    "exit_command_timeout": (Termination.TIME_LIMIT, None),
    "exit_format": (Termination.STUCK, None),
    "exit_api": (Termination.FAULT, Fault.MODEL),
    "exit_environment_error": (Termination.FAULT, Fault.ENVIRONMENT),
    "exit_error": (Termination.FAULT, Fault.INFRASTRUCTURE),
    "early_exit": (Termination.FAULT, Fault.INFRASTRUCTURE),
}
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
    image: str = ""


def recognises(value: Any) -> bool:
    """A history whose messages name their agent, or the attempts of a retry run."""
    if not isinstance(value, Mapping):
        return False
    if isinstance(value.get("attempts"), list):
        return any(
            recognises(one)
            for one in value["attempts"]
            if isinstance(one, Mapping) and "attempts" not in one
        )
    history = value.get("history")
    if not isinstance(history, list) or "mistake_agent" in value:
        return False
    if isinstance(value.get("trajectory"), list) and isinstance(value.get("info"), Mapping):
        return True
    return bool(history) and all(
        isinstance(message, Mapping) and "role" in message and "agent" in message
        for message in history
    )


def trajectories(
    records: Iterable[Record | Rejection], settings: ImportSettings
) -> Iterator[Entry]:
    """One trajectory per document; of a retry run, one per attempt (its top level repeats the best
    one).
    """
    for record in records:
        if (
            isinstance(record, Record)
            and isinstance(record.value, Mapping)
            and isinstance(record.value.get("attempts"), list)
        ):
            whole = record.value
            shared = {key: whole[key] for key in ("replay_config", "instance_id") if key in whole}
            for index, one in enumerate(whole["attempts"]):
                part = record.part(
                    f"attempts/{index}", {**shared, **one} if isinstance(one, Mapping) else one
                )
                yield from each([part], lambda part, index=index: _read(part, index))  # type: ignore[misc]
        else:
            yield from each([record], lambda one: _read(one, 0))


FORMAT = Format(recognises, trajectories)


def _read(record: Record, trial: int) -> Entry:
    run = msgspec.convert(record.value, _Run)
    config = _config(run.replay_config)
    said = [message for message in run.history if not message.is_demo]
    steps = _steps_of(said, run.trajectory or [])
    conversation = noted_conversation(*_messages(said, steps))
    if not conversation.turns:
        return record.rejected(
            "no_turns", "no message of the agent's own: no result, not a failure"
        )
    stats = run.info.model_stats
    termination, fault = _ended(run.info.exit_status)
    shown = (o.content for turn in conversation.turns[:_TURNS_ASKED] for o in turn.observations)
    benchmark = swe_benchmark(config.problem or run.instance_id, config.image, shown)
    task = Task.identified(
        env=_FORMAT,
        goal=config.text or goal_of(conversation),
        origin=Origin.IMPORT,
        benchmark=benchmark,
    )
    found = attempt(
        record,
        _FORMAT,
        task,
        conversation,
        trial=trial,
        termination=termination,
        fault=fault,
        fault_detail=run.info.exit_status if fault else None,
        model=config.model,
        sampling=config.sampling,
        authorship=Authorship.HUMAN
        if config.model in ("human", "human_thought")
        else Authorship.MODEL,
        totals=Usage()
        if stats is None
        else Usage(
            stats.tokens_sent, stats.tokens_received, 0, stats.api_calls, stats.instance_cost
        ),
    )
    return Imported(task, found, marks=_marks(said, steps, run) + unresolved_mark(conversation))


def _ended(status: str | None) -> tuple[Termination, Fault | None]:
    after = _SUBMITTED_AFTER.match(status or "")
    return ENDED.get(after["why"] if after else status or "", (Termination.UNREPORTED, None))


def _messages(
    said: Sequence[_Message], steps: Sequence[_Step | None]
) -> tuple[list[dict[str, Any]], list[TurnNote]]:
    """The history in OpenAI's form. In text-format files the first user message is the task, and
    all later ones are the shell's.
    """
    messages: list[dict[str, Any]] = []
    notes: list[TurnNote] = []
    heard = False
    for message in said:
        content = text_of(message.content)
        if message.role == "assistant":
            thought = "\n".join(
                str(block["thinking"])
                for block in message.thinking_blocks or ()
                if block.get("thinking")
            )
            answer = {
                "role": "assistant",
                "content": content,
                "reasoning_content": thought or None,
                "tool_calls": message.tool_calls,
            }
            messages.append(answer)
            raw = (
                json.dumps({"thinking_blocks": message.thinking_blocks}, ensure_ascii=False)
                if message.thinking_blocks
                else None
            )
            notes.append(
                TurnNote(raw=raw, agent=None if message.agent in _PRIMARY else message.agent)
            )
        elif message.role == "tool":
            ids: Sequence[str | None] = message.tool_call_ids or (None,)
            messages += [
                {"role": "tool", "tool_call_id": call_id, "content": content} for call_id in ids
            ]
        elif message.role == "user" and heard:
            messages.append(from_environment(content))
        else:
            messages.append({"role": message.role, "content": content})
            heard = heard or message.role == "user"
    last = steps[-1] if steps else None
    if messages and messages[-1]["role"] == "assistant" and last is not None and last.observation:
        calls = messages[-1].get("tool_calls")
        messages.append(
            {"role": "tool", "content": last.observation}
            if calls
            else from_environment(last.observation)
        )
    return messages, notes


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


def _marks(said: Sequence[_Message], steps: Sequence[_Step | None], run: _Run) -> tuple[Mark, ...]:
    times = [
        Mark("execution_time_s", step.execution_time, turn)
        for turn, step in enumerate(steps)
        if step and step.execution_time
    ]
    outside = len(run.trajectory or ()) - sum(step is not None for step in steps)
    demos = len(run.history) - len(said)
    counts = {"steps_outside_history": outside, "demonstrations_left_out": demos}
    return (*times, *(Mark(name, float(count)) for name, count in counts.items() if count))


def _config(config: Any) -> _Config:
    """`replay_config` as an object or as the JSON text of one; whatever else it is says nothing."""
    if isinstance(config, str) and config:
        config = json.loads(config)
    model = _inside(config, "agent", "model")
    name, image = _inside(model, "name"), _inside(config, "env", "deployment", "image")
    problem, text = (
        _inside(config, "problem_statement", "id"),
        _inside(config, "problem_statement", "text"),
    )
    return _Config(
        model=name if isinstance(name, str) and name != "replay" else None,
        sampling={
            key: model[key]
            for key in ("temperature", "top_p")
            if isinstance(model.get(key), int | float)
        }
        if isinstance(model, Mapping)
        else {},
        problem=problem if isinstance(problem, str) else None,
        text=text if isinstance(text, str) and text else None,
        image=image if isinstance(image, str) else "",
    )


def _inside(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
