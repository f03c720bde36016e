"""ATIF v1.x (Agent Trajectory Interchange Format): `{schema_version, agent, steps, ...}`;
sub-agents inside are trajectories too.

A step of the agent is one turn. The format has no place for rewards: every outcome is unknown. Of
`extra` the masks are read that synth writes there, and its stamps: the benchmark, and the split
that a task is held out for.
"""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import msgspec

from synth.importers.attempt import entry, import_task, unresolved
from synth.importers.conversation import (
    COPIED_MASK,
    ConversationBuilder,
    Count,
    TurnNote,
    goal_of,
    text_of,
    tool_call,
    totals,
)
from synth.importers.records import Entry, ImportSettings, Record, by_record, each
from synth.schemas.trajectory import TokenId, Usage

OWN = "synth"
"""The key in `extra` below which synth writes what the format has no place for."""
_VERSION = re.compile(r"ATIF-v1\.\d+")


class _Own(msgspec.Struct):
    """Of what synth writes under its own key in `extra`: why a step carries no loss, what keeps a
    document out of exports.
    """

    mask: str | None = None
    benchmark: str | None = None
    split: str | None = None


class _Agent(msgspec.Struct):
    name: str
    version: str | None = None
    model_name: str | None = None
    tool_definitions: list[dict[str, Any]] | None = None


class _Call(msgspec.Struct):
    tool_call_id: str
    function_name: str
    arguments: dict[str, Any]


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


class _FinalMetrics(msgspec.Struct):
    total_prompt_tokens: Count | None = None
    total_completion_tokens: Count | None = None
    total_cached_tokens: Count | None = None
    total_cost_usd: float | None = None


class _Document(msgspec.Struct):
    agent: _Agent
    steps: list[_Step]
    schema_version: str | None = None
    final_metrics: _FinalMetrics | None = None
    extra: Any = None


def recognises(value: Any) -> bool:
    """A `schema_version` that begins with ATIF."""
    return isinstance(value, Mapping) and str(value.get("schema_version")).startswith("ATIF-")


def _documents(record: Record, settings: ImportSettings) -> Iterator[Entry]:
    """A document, followed by the sub-agents that it embeds."""
    version = record.value.get("schema_version") if isinstance(record.value, Mapping) else None
    if isinstance(version, str) and not _VERSION.fullmatch(version):
        yield record.rejected("unsupported_version", f"{version}: ATIF-v1.0 to v1.x are read")
        return
    waiting = [(record, "")]
    while waiting:
        part, role = waiting.pop()
        yield from each([part], partial(_read, role=role))
        inside = (
            part.value.get("subagent_trajectories") if isinstance(part.value, Mapping) else None
        )
        embedded = inside if isinstance(inside, list) else []
        waiting += [
            (part.part(f"subagent_trajectories/{i}", one), "/subagent")
            for i, one in reversed(list(enumerate(embedded)))
        ]


def _read(record: Record, role: str) -> Entry:
    document = msgspec.convert(record.value, _Document)
    chat = ConversationBuilder()
    for place, step in enumerate(document.steps, start=1):
        if step.step_id != place:
            raise ValueError(
                f"step {place} has step_id {step.step_id}: steps are numbered from 1 without gaps"
            )
        if step.source == "agent":
            calls = [
                tool_call(call.tool_call_id, call.function_name, call.arguments)
                for call in step.tool_calls or ()
            ]
            text, thought = text_of(step.message) or None, step.reasoning_content
            chat.answer(text, thought=thought, calls=calls, note=_note(step))
        elif step.source in ("user", "system"):
            chat.say(step.source, text_of(step.message))
        else:
            raise ValueError(
                f"step {place} has source {step.source!r}: none of system, user, agent"
            )
        _observe(chat, step)
    conversation = chat.conversation()
    own = _own(document.extra)
    return entry(
        record,
        "atif",
        conversation,
        import_task(
            f"atif/{document.agent.name}{role}",
            goal_of(conversation),
            benchmark=own.benchmark,
            split=own.split,
        ),
        marks=unresolved(conversation),
        no_turns="no step of the agent",
        model=document.agent.model_name,
        tools=tuple(document.agent.tool_definitions or ()),
        totals=_totals(totals(conversation.turns), document.final_metrics),
    )


def _observe(chat: ConversationBuilder, step: _Step) -> None:
    """Results of calls as tool messages (without an id: of the calls that are left, in order);
    those of no call as the environment's.
    """
    results = step.observation.results if step.observation else []
    left = len(step.tool_calls or ()) - sum(result.source_call_id is not None for result in results)
    for result in results:
        handed_over = result.content is None and result.subagent_trajectory_ref is not None
        text = text_of([{"type": "subagent_trajectory"}] if handed_over else result.content)
        if result.source_call_id is None and left <= 0:
            chat.harness(text)
            continue
        left -= result.source_call_id is None
        chat.result(text, result.source_call_id)


def _note(step: _Step) -> TurnNote:
    """Steps that are not one inference of this run carry no loss."""
    mask = COPIED_MASK if step.is_copied_context else None
    if mask is None and step.llm_call_count is not None and step.llm_call_count != 1:
        mask = "no_model_call" if step.llm_call_count == 0 else "several_model_calls"
    mask = mask or _own(step.extra).mask
    metrics = step.metrics
    if metrics is None or step.is_copied_context:
        return TurnNote(mask=mask)
    cost = metrics.cost_usd if metrics.cost_usd is not None else metrics.cost
    calls = 1 if step.llm_call_count is None else step.llm_call_count
    return TurnNote(
        usage=Usage(
            metrics.prompt_tokens or 0,
            metrics.completion_tokens or 0,
            metrics.cached_tokens or 0,
            calls,
            cost,
        ),
        mask=mask,
        prompt_token_ids=metrics.prompt_token_ids,
        completion_token_ids=metrics.completion_token_ids,
        logprobs=metrics.logprobs,
    )


def _own(extra: Any) -> _Own:
    """What synth wrote in an `extra`; nothing in those of other writers."""
    own = extra.get(OWN) if isinstance(extra, Mapping) else None
    return msgspec.convert(own if isinstance(own, Mapping) else {}, _Own)


def _totals(summed: Usage, final: _FinalMetrics | None) -> Usage:
    """What the steps add up to; the stated totals where no step has metrics."""
    if summed != Usage() or final is None:
        return summed
    return Usage(
        final.total_prompt_tokens or 0,
        final.total_completion_tokens or 0,
        final.total_cached_tokens or 0,
        0,
        final.total_cost_usd,
    )


FORMAT = by_record(recognises, _documents)
