"""mini-SWE-agent `.traj.json`: `{info, messages, trajectory_format, instance_id?}`.

Text agents write a shell block and are answered by the user's role; tool-calling agents have tool
messages; agents on the Responses
API have whole response objects among their messages. What answers the agent is the harness; only
interruptions are a person's.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from synth.importers.attempt import attempt
from synth.importers.message_parts import text_of
from synth.importers.records import Entry, Format, Imported, ImportSettings, Record, Rejection, each
from synth.importers.response_items import ResponseItems
from synth.importers.swe_benchmark import swe_benchmark
from synth.importers.turn_notes import (
    Count,
    TurnNote,
    counted,
    from_environment,
    goal_of,
    noted_conversation,
    totals,
    unresolved_mark,
)
from synth.schemas.messages import Conversation
from synth.schemas.outcome import Fault, Termination
from synth.schemas.task import Origin, Task
from synth.schemas.trajectory import Usage

_FORMAT = "mini_swe_agent"

ENDED: Mapping[str, tuple[Termination, Fault | None]] = {
    "Submitted": (Termination.AGENT_STOP, None),
    "LimitsExceeded": (Termination.TURN_LIMIT, None),
    "TimeExceeded": (Termination.TIME_LIMIT, None),
    "ContextWindowExceeded": (Termination.CONTEXT_LIMIT, None),
    "ContextWindowExceededError": (Termination.CONTEXT_LIMIT, None),
    "RepeatedFormatError": (Termination.STUCK, None),
    "UserInterruption": (Termination.UNREPORTED, None),
    "APIError": (Termination.FAULT, Fault.MODEL),
    "APIConnectionError": (Termination.FAULT, Fault.MODEL),
    "AuthenticationError": (Termination.FAULT, Fault.MODEL),
    "BadRequestError": (Termination.FAULT, Fault.MODEL),
    "InternalServerError": (Termination.FAULT, Fault.MODEL),
    "NotFoundError": (Termination.FAULT, Fault.MODEL),
    "PermissionDeniedError": (Termination.FAULT, Fault.MODEL),
    "RateLimitError": (Termination.FAULT, Fault.MODEL),
    "ServiceUnavailableError": (Termination.FAULT, Fault.MODEL),
    "Timeout": (Termination.FAULT, Fault.MODEL),
}
"""What an `exit_status` is here. Other statuses are names of exceptions that broke the run; none at
all is a run that was killed.
"""


class _Config(msgspec.Struct):
    model: dict[str, Any] = {}
    environment: dict[str, Any] = {}
    agent: dict[str, Any] = {}


class _Stats(msgspec.Struct):
    instance_cost: float | None = None
    api_calls: Count = 0


class _About(msgspec.Struct):
    config: _Config | None = None
    model_stats: _Stats | None = None
    exit_status: str | None = None


class _Run(msgspec.Struct):
    messages: list[dict[str, Any]]
    info: _About = msgspec.field(default_factory=_About)
    instance_id: str | None = None


def recognises(value: Any) -> bool:
    """The name of the format, or the agent's version, beside messages."""
    if not isinstance(value, Mapping) or not isinstance(value.get("messages"), list):
        return False
    info = value.get("info")
    return str(value.get("trajectory_format")).startswith("mini-swe-agent") or (
        isinstance(info, Mapping) and "mini_version" in info
    )


def trajectories(
    records: Iterable[Record | Rejection], settings: ImportSettings
) -> Iterator[Entry]:
    """One trajectory per document."""
    yield from each(records, _read)


FORMAT = Format(recognises, trajectories)


def _read(record: Record) -> Entry:
    run = msgspec.convert(record.value, _Run)
    conversation = _conversation(run)
    if not conversation.turns:
        return record.rejected("no_turns", "no answer of the model: no result, not a failure")
    config, stats = run.info.config or _Config(), run.info.model_stats or _Stats()
    termination, fault = _ended(run.info.exit_status, stats, config.agent.get("step_limit"))
    image, model, sampling = (
        config.environment.get("image"),
        config.model.get("model_name"),
        config.model.get("model_kwargs"),
    )
    shown = (o.content for turn in conversation.turns[:5] for o in turn.observations)
    benchmark = swe_benchmark(run.instance_id, image if isinstance(image, str) else None, shown)
    task = Task.identified(
        env=_FORMAT, goal=goal_of(conversation), origin=Origin.IMPORT, benchmark=benchmark
    )
    used = totals(conversation.turns)
    found = attempt(
        record,
        _FORMAT,
        task,
        conversation,
        termination=termination,
        fault=fault,
        fault_detail=run.info.exit_status if fault else None,
        model=model if isinstance(model, str) else None,
        sampling=sampling if isinstance(sampling, Mapping) else {},
        totals=msgspec.structs.replace(
            used, calls=stats.api_calls or used.calls, cost_usd=stats.instance_cost
        ),
    )
    return Imported(task, found, marks=unresolved_mark(conversation))


def _ended(status: str | None, stats: _Stats, step_limit: Any) -> tuple[Termination, Fault | None]:
    if not status:
        return Termination.UNREPORTED, None
    if status == "LimitsExceeded" and not (
        isinstance(step_limit, int) and 0 < step_limit <= stats.api_calls
    ):
        return Termination.TOKEN_LIMIT, None  # the other limit is on cost
    return ENDED.get(status, (Termination.FAULT, Fault.INFRASTRUCTURE))


def _conversation(run: _Run) -> Conversation:
    items = ResponseItems(is_harness=lambda text: bool(items.notes))
    for message in run.messages:
        extra = message["extra"] if isinstance(message.get("extra"), Mapping) else {}
        role = message.get("role")
        if message.get("object") == "response":
            _take_response(items, message)
        elif role == "assistant":
            items.end()
            items.messages.append({**message, "content": text_of(message.get("content")) or None})
            items.notes.append(TurnNote())
        elif role == "tool":
            items.end()
            items.messages.append({**message, "content": text_of(message.get("content"))})
        elif role == "exit":
            _take_end(items, message, run.info.exit_status)
        elif role == "user" and items.notes and "interrupt_type" not in extra:
            items.end()
            items.messages.append(from_environment(text_of(message.get("content"))))
        elif role is None and "type" in message:
            items.add(message)
        else:
            items.end()
            items.messages.append({"role": role, "content": text_of(message.get("content"))})
        if role == "assistant" or message.get("object") == "response":
            _note_usage(items, message, extra)
    return noted_conversation(items.messages, items.notes)


def _take_end(items: ResponseItems, message: Mapping[str, Any], status: str | None) -> None:
    """The harness notes its last word as a message: what was submitted answers the last action, all
    else was shown to nobody.
    """
    items.end()
    text = text_of(message.get("content"))
    if status == "Submitted" and text:
        has_calls = bool(items.messages and items.messages[-1].get("tool_calls"))
        items.messages.append(
            {"role": "tool", "content": text} if has_calls else from_environment(text)
        )


def _take_response(items: ResponseItems, response: Mapping[str, Any]) -> None:
    items.end()
    output = response.get("output")
    if not isinstance(output, list):
        raise ValueError("a response without output")
    for item in output:
        if not items.add(item):
            raise ValueError(f"response item of unknown type {item.get('type')!r}")


def _note_usage(items: ResponseItems, message: Mapping[str, Any], extra: Mapping[str, Any]) -> None:
    """Tokens as the provider reported them, cost as the agent did."""
    response = extra.get("response") if message.get("object") != "response" else message
    usage = response.get("usage") if isinstance(response, Mapping) else None
    details = (
        (usage.get("prompt_tokens_details") or usage.get("input_tokens_details"))
        if isinstance(usage, Mapping)
        else None
    )
    cost = extra.get("cost")
    if not usage and cost is None:
        return
    items.note_usage(
        Usage(
            counted(usage, "prompt_tokens", "input_tokens"),
            counted(usage, "completion_tokens", "output_tokens"),
            counted(details, "cached_tokens"),
            1,
            float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None,
        )
    )
