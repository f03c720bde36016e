"""mini-SWE-agent `.traj.json`: `{info, messages, trajectory_format, instance_id?}`.

Text agents write a shell block and are answered by the user's role; tool-calling agents have tool
messages; agents on the Responses API have whole response objects among their messages. What answers
the agent is the harness; only interruptions are a person's.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from synth.importers.attempt import OPEN_END, End, ends, entry, import_task, unresolved
from synth.importers.conversation import Count, TurnNote, counted, goal_of, text_of, totals
from synth.importers.records import Entry, ImportSettings, Record, by_record, is_object
from synth.importers.response_items import ResponseItems
from synth.importers.swe_benchmark import swe_benchmark
from synth.schemas.messages import Conversation
from synth.schemas.outcome import Fault, Termination
from synth.schemas.trajectory import Usage

ENDED = ends(
    {
        "agent_stop": "Submitted",
        "turn_limit": "LimitsExceeded",
        "time_limit": "TimeExceeded",
        "context_limit": "ContextWindowExceeded ContextWindowExceededError",
        "stuck": "RepeatedFormatError",
        "unreported": "UserInterruption",
        "fault model": "APIError APIConnectionError AuthenticationError BadRequestError "
        "InternalServerError NotFoundError PermissionDeniedError RateLimitError "
        "ServiceUnavailableError Timeout",
    }
)
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
    if not is_object(value, messages=list):
        return False
    named = str(value.get("trajectory_format")).startswith("mini-swe-agent")
    return named or is_object(value.get("info"), "mini_version")


def _read(record: Record, settings: ImportSettings) -> Entry:
    run = msgspec.convert(record.value, _Run)
    conversation = _conversation(run)
    config, stats = run.info.config or _Config(), run.info.model_stats or _Stats()
    termination, fault = _ended(run.info.exit_status, stats, config.agent.get("step_limit"))
    model, sampling = config.model.get("model_name"), config.model.get("model_kwargs")
    used = totals(conversation.turns)
    benchmark = swe_benchmark(run.instance_id, config.environment.get("image"), conversation.turns)
    return entry(
        record,
        "mini_swe_agent",
        conversation,
        import_task("mini_swe_agent", goal_of(conversation), benchmark=benchmark),
        marks=unresolved(conversation),
        termination=termination,
        fault=fault,
        fault_detail=run.info.exit_status if fault else None,
        model=model if isinstance(model, str) else None,
        sampling=sampling if isinstance(sampling, Mapping) else {},
        totals=replace(used, calls=stats.api_calls or used.calls, cost_usd=stats.instance_cost),
    )


def _ended(status: str | None, stats: _Stats, step_limit: Any) -> End:
    if not status:
        return OPEN_END
    if status == "LimitsExceeded" and not (
        isinstance(step_limit, int) and 0 < step_limit <= stats.api_calls
    ):
        return Termination.TOKEN_LIMIT, None  # the other limit is on cost
    return ENDED.get(status, (Termination.FAULT, Fault.INFRASTRUCTURE))


def _conversation(run: _Run) -> Conversation:
    items = ResponseItems(is_harness=lambda text: bool(items.chat.notes))
    chat = items.chat
    for message in run.messages:
        extra = message["extra"] if isinstance(message.get("extra"), Mapping) else {}
        role = message.get("role")
        if message.get("object") == "response":
            _take_response(items, message)
        elif role is None and "type" in message:
            items.add(message)
            continue
        else:
            items.end()
            text = text_of(message.get("content"))
            if role == "assistant":
                chat.messages.append({**message, "content": text or None})
                chat.notes.append(TurnNote())
            elif role == "tool":
                chat.messages.append({**message, "content": text})
            elif role == "exit":
                # the harness notes its last word as a message: what was submitted answers the last
                # action, all else was shown to nobody
                if run.info.exit_status == "Submitted" and text:
                    chat.after_answer(text)
            elif "interrupt_type" in extra:
                chat.say(role, text)
            else:
                items.heard(role, text)
        if role == "assistant" or message.get("object") == "response":
            _note_usage(items, message, extra)
    return chat.conversation()


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


FORMAT = by_record(recognises, _read)
