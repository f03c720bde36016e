"""ATIF v1.x (Agent Trajectory Interchange Format): `{schema_version, agent, steps, ...}`;
sub-agents inside are trajectories too.

A step of the agent is one turn. The format has no place for rewards: the outcome is unknown, but in
files of synth. Of `extra` only that is read which synth writes there: masks and verdicts, the
benchmark, and the split that a task is held out for.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec

from synth.importers.attempt import count_labels, entry, stated_end
from synth.importers.conversation import (
    COPIED_MASK,
    ConversationBuilder,
    Count,
    counted,
    tool_call,
    totals,
)
from synth.importers.records import Entry, ImportSettings, Object, Record, by_record, each, inside
from synth.schemas import Conversation, TokenId, Usage

OWN = "synth"
"""The key in `extra` below which synth writes what the format has no place for."""
_VERSION = re.compile(r"ATIF-v1\.\d+")


class _Own(msgspec.Struct):
    """Of what synth writes under its own key in `extra`: why a step carries no loss, what keeps a
    document out of exports, what came of it.
    """

    mask: str | None = None
    benchmark: str | None = None
    split: str | None = None
    outcome: str | None = None
    reward: float | None = None


class _Agent(msgspec.Struct):
    name: str
    model_name: str | None = None
    tool_definitions: tuple[Object, ...] | None = None


class _Call(msgspec.Struct):
    tool_call_id: str
    function_name: str
    arguments: Object


class _Result(msgspec.Struct):
    source_call_id: str | None = None
    content: Any = None
    subagent_trajectory_ref: Any = None


class _Observation(msgspec.Struct):
    results: list[_Result] = []


class _Metrics(msgspec.Struct):
    """`cost_usd` is upstream's name, `cost` that of other writers."""

    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    cached_tokens: Count | None = None
    cost_usd: float | None = None
    cost: float | None = None
    prompt_token_ids: tuple[TokenId, ...] | None = None
    completion_token_ids: tuple[TokenId, ...] | None = None
    logprobs: tuple[float, ...] | None = None


class _Step(msgspec.Struct):
    step_id: int
    source: str
    message: Any = None
    reasoning_content: str | None = None
    tool_calls: list[_Call] | None = None
    observation: _Observation | None = None
    metrics: _Metrics | None = None
    llm_call_count: Count | None = None
    is_copied_context: bool | None = None
    extra: Any = None


class _Document(msgspec.Struct):
    agent: _Agent
    steps: list[_Step]
    final_metrics: Object | None = None
    extra: Any = None


def recognises(value: Any) -> bool:
    """A `schema_version` that begins with ATIF."""
    return str(inside(value, "schema_version")).startswith("ATIF-")


def _documents(record: Record, settings: ImportSettings) -> Iterator[Entry]:
    """A document, followed by the sub-agents that it embeds."""
    version = inside(record.value, "schema_version", str)
    if version is not None and not _VERSION.fullmatch(version):
        yield record.rejected("unsupported_version", f"{version}: ATIF-v1.0 to v1.x are read")
        return

    # a stack and no recursion: how deep a file nests them is its affair
    waiting = [(record, "")]

    while waiting:
        part, role = waiting.pop()
        yield from each([part], partial(_read, role=role))
        embedded = inside(part.value, "subagent_trajectories", list) or []
        parts = [(one, "/subagent") for one in part.parts("subagent_trajectories", embedded)]
        waiting += reversed(parts)


FORMAT = by_record(recognises, _documents)


def _read(record: Record, role: str) -> Entry:
    document = msgspec.convert(record.value, _Document)
    chat = ConversationBuilder()

    for place, step in enumerate(document.steps, start=1):
        if step.step_id != place:
            told = f"step {place} has step_id {step.step_id}"
            raise ValueError(f"{told}: steps are numbered from 1 without gaps")

        if step.source not in ("user", "system", "agent"):
            told = f"step {place} has source {step.source!r}"
            raise ValueError(f"{told}: none of system, user, agent")

        _take(chat, step)

    conversation, own = chat.conversation(), _own(document.extra)

    return entry(
        record,
        "atif",
        conversation,
        env=f"atif/{document.agent.name}{role}",
        benchmark=own.benchmark,
        split=own.split,
        passed={"success": True, "failure": False}.get(own.outcome or ""),
        reward=own.reward,
        end=stated_end(own.outcome),
        marks=count_labels(conversation),
        no_turns="no step of the agent",
        model=document.agent.model_name,
        tools=document.agent.tool_definitions or (),
        totals=_used(conversation, document.final_metrics),
    )


def _used(conversation: Conversation, final: Object | None) -> Usage:
    """The tokens of all steps; what the document says of the whole where no step has metrics."""
    used = totals(conversation.turns)
    if used != Usage():
        return used
    prompt, completion, cached = (
        counted(final, f"total_{name}_tokens") for name in ("prompt", "completion", "cached")
    )
    return Usage(prompt, completion, cached, 0, inside(final, "total_cost_usd", float))


def _take(chat: ConversationBuilder, step: _Step) -> None:
    """Adds what was said, then the results of its calls (without an id: of the calls that are left,
    in order); those of no call are the environment's.
    """
    calls = [
        tool_call(call.tool_call_id, call.function_name, call.arguments)
        for call in step.tool_calls or ()
    ]
    if step.source == "agent":
        thought, note = step.reasoning_content, _note(step)
        chat.answer(step.message or None, thought=thought, calls=calls, **note)
    else:
        chat.say(step.source, step.message)

    results = step.observation.results if step.observation else []
    left = len(calls) - sum(result.source_call_id is not None for result in results)

    for result in results:
        handed_over = result.content is None and result.subagent_trajectory_ref is not None
        told = [{"type": "subagent_trajectory"}] if handed_over else result.content
        if result.source_call_id is None and left <= 0:
            chat.harness(told)
            continue

        left -= result.source_call_id is None
        chat.result(told, result.source_call_id)


def _note(step: _Step) -> Object:
    """Usage and token ids of a step; one that is not one inference of this run carries no loss."""
    if step.is_copied_context:
        return {"mask": COPIED_MASK}

    calls, metrics = step.llm_call_count, step.metrics
    mask = _own(step.extra).mask
    if calls not in (None, 1):
        mask = "several_model_calls" if calls else "no_model_call"

    if metrics is None:
        return {"mask": mask}

    return {
        "mask": mask,
        "usage": Usage(
            metrics.prompt_tokens or 0,
            metrics.completion_tokens or 0,
            metrics.cached_tokens or 0,
            1 if calls is None else calls,
            metrics.cost if metrics.cost_usd is None else metrics.cost_usd,
        ),
        "prompt_token_ids": metrics.prompt_token_ids,
        "completion_token_ids": metrics.completion_token_ids,
        "logprobs": metrics.logprobs,
    }


def _own(extra: Any) -> _Own:
    """What synth wrote in an `extra`; nothing in those of other writers."""
    return msgspec.convert(inside(extra, OWN, dict) or {}, _Own)
