"""mini-SWE-agent `.traj.json`: `{info, messages, trajectory_format, instance_id?}`.

Text agents write one shell block, which becomes a call of `bash`, and are answered by the user's
role; tool-calling agents have tool
messages; agents on the Responses API have whole response objects among their messages. What answers
the agent is the harness; only interruptions are a person's.
"""

from typing import Any

import msgspec
from msgspec.structs import replace

from synth.importers.actions.reading import read_actions
from synth.importers.actions.written import by_command
from synth.importers.agents.response_items import ResponseItems
from synth.importers.agents.swe_runs import Info, Stats, instance_of, swe_benchmark
from synth.importers.attempt import OPEN_END, count_labels, ends, entry
from synth.importers.conversation import counted, text_of, totals, usage_of
from synth.importers.records import (
    Entry,
    ImportSettings,
    Object,
    Record,
    by_record,
    inside,
    is_object,
)
from synth.schemas import Conversation, Fault, Termination, Usage

ENDED = ends("mini_swe_agent")
"""What an `exit_status` is here. Other statuses are names of exceptions that broke the run; none at
all is a run that was killed.
"""


class _MiniSweAgentRun(msgspec.Struct):
    messages: list[Object]
    info: Info = Info()
    instance_id: str | None = None


def recognises(value: Any) -> bool:
    """The name of the format, or the agent's version, beside messages."""
    if not is_object(value, messages=list):
        return False

    named = str(value.get("trajectory_format")).startswith("mini-swe-agent")
    return named or is_object(value.get("info"), "mini_version")


def _read(record: Record, settings: ImportSettings) -> Entry:
    run = msgspec.convert(record.value, _MiniSweAgentRun)
    config, status = run.info.config, run.info.exit_status
    stats = run.info.model_stats or Stats()
    conversation = _conversation(run.messages, submitted=status == "Submitted")
    end = ENDED.get(status, (Termination.FAULT, Fault.INFRASTRUCTURE)) if status else OPEN_END

    steps = inside(config, "agent.step_limit", int) or 0
    if status == "LimitsExceeded" and not 0 < steps <= stats.api_calls:
        end = Termination.TOKEN_LIMIT, None  # the other limit is on cost

    used, image = totals(conversation.turns), inside(config, "environment.image")

    return entry(
        record,
        "mini_swe_agent",
        conversation,
        benchmark=swe_benchmark(run.instance_id, image, conversation.turns)
        or swe_benchmark(instance_of(record.file_name)),
        marks=count_labels(conversation),
        end=end,
        fault_detail=status,
        model=inside(config, "model.model_name", str),
        sampling=inside(config, "model.model_kwargs", dict) or {},
        totals=replace(used, calls=stats.api_calls or used.calls, cost_usd=stats.instance_cost),
    )


FORMAT = by_record(recognises, _read)


def _conversation(messages: list[Object], *, submitted: bool) -> Conversation:
    """The messages, each of which may be a chat message, a response object or one of its items.
    What comes after the agent first spoke is the harness's, also in the user's role.
    """
    items = ResponseItems(is_harness=lambda text: bool(items.chat.notes))
    chat = items.chat

    for message in messages:
        role, response = message.get("role"), inside(message, "extra.response")
        if message.get("object") == "response":
            role, response = "response", message
        elif role is None and "type" in message:
            items.add(message)
            continue

        items.end()

        text = text_of(message.get("content")) if role != "response" else ""
        if role == "response":
            _take(items, message["output"])
        elif role in ("assistant", "tool"):
            chat.say(role, text or None, **message | {"note": {}})
        elif role != "exit":
            is_person = is_object(message.get("extra"), "interrupt_type")
            (chat.say if is_person else items.heard)(role, text)
        elif submitted and text:
            # the harness notes its last word as a message: what was submitted answers the last
            # action, all else was shown to nobody
            chat.after_answer(text)

        used = _usage(inside(response, "usage", dict), inside(message, "extra.cost"))
        if role in ("assistant", "response") and used is not None and chat.notes:
            chat.notes[-1]["usage"] = used

    read_actions(chat.messages, by_command)
    return chat.conversation()


def _take(items: ResponseItems, output: list[Object]) -> None:
    """Adds the items of a response. Raises `ValueError` for one of a kind that is not known."""
    unknown = [item.get("type") for item in output if not items.add(item)]
    if unknown:
        raise ValueError(f"response item of unknown type {unknown[0]!r}")


def _usage(used: Object | None, cost: Any) -> Usage | None:
    """Tokens as the provider reported them, cost as the agent did."""
    details = inside(used, "prompt_tokens_details") or inside(used, "input_tokens_details")
    counts = {**(used or {}), "cached": counted(details, "cached_tokens")}
    sent, given = "prompt_tokens input_tokens", "completion_tokens output_tokens"
    return usage_of(counts, sent, given, "cached", cost) if used or cost is not None else None
