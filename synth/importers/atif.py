"""ATIF v1.x (Agent Trajectory Interchange Format): `{schema_version, agent, steps, ...}`;
sub-agents inside are trajectories too.

A step of the agent is one turn. The format has no place for rewards: every outcome is unknown. Of
`extra` the masks are read that synth
writes there, and its stamps: the benchmark, and the split that a task is held out for.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from synth.importers.attempt import attempt
from synth.importers.message_parts import text_of
from synth.importers.records import Entry, Format, Imported, ImportSettings, Record, Rejection, each
from synth.importers.turn_notes import (
    COPIED_MASK,
    Count,
    TurnNote,
    from_environment,
    goal_of,
    noted_conversation,
    totals,
    unresolved_mark,
)
from synth.schemas.outcome import Termination
from synth.schemas.task import Origin, Task
from synth.schemas.trajectory import TokenId, Usage

OWN = "synth"
"""The key in `extra` below which synth writes what the format has no place for."""
_FORMAT = "atif"
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


def trajectories(
    records: Iterable[Record | Rejection], settings: ImportSettings
) -> Iterator[Entry]:
    """Every document, followed by the sub-agents that it embeds."""
    for record in records:
        if isinstance(record, Rejection):
            yield record
            continue
        version = record.value.get("schema_version") if isinstance(record.value, Mapping) else None
        if isinstance(version, str) and not _VERSION.fullmatch(version):
            yield record.rejected("unsupported_version", f"{version}: ATIF-v1.0 to v1.x are read")
            continue
        waiting = [(record, "main")]
        while waiting:
            part, role = waiting.pop()
            yield from each([part], lambda one, role=role: _read(one, role))  # type: ignore[misc]
            inside = (
                part.value.get("subagent_trajectories") if isinstance(part.value, Mapping) else None
            )
            embedded = inside if isinstance(inside, list) else []
            waiting += [
                (part.part(f"subagent_trajectories/{i}", one), "subagent")
                for i, one in reversed(list(enumerate(embedded)))
            ]


FORMAT = Format(recognises, trajectories)


def _read(record: Record, role: str) -> Entry:
    document = msgspec.convert(record.value, _Document)
    messages: list[dict[str, Any]] = []
    notes: list[TurnNote] = []
    for place, step in enumerate(document.steps, start=1):
        if step.step_id != place:
            raise ValueError(
                f"step {place} has step_id {step.step_id}: steps are numbered from 1 without gaps"
            )
        if step.source == "agent":
            messages.append(_answer(step))
            notes.append(_note(step))
        elif step.source in ("user", "system"):
            messages.append({"role": step.source, "content": text_of(step.message)})
        else:
            raise ValueError(
                f"step {place} has source {step.source!r}: none of system, user, agent"
            )
        messages += _observed(step)
    conversation = noted_conversation(messages, notes)
    if not conversation.turns:
        return record.rejected("no_turns", "no step of the agent")
    env = (
        f"atif/{document.agent.name}" if role == "main" else f"atif/{document.agent.name}/subagent"
    )
    own = _own(document.extra)
    task = Task.identified(
        env=env,
        goal=goal_of(conversation),
        origin=Origin.IMPORT,
        benchmark=own.benchmark,
        split=own.split,
    )
    found = attempt(
        record,
        _FORMAT,
        task,
        conversation,
        termination=Termination.UNREPORTED,
        model=document.agent.model_name,
        tools=tuple(document.agent.tool_definitions or ()),
        totals=_totals(totals(conversation.turns), document.final_metrics),
    )
    return Imported(task, found, marks=unresolved_mark(conversation))


def _answer(step: _Step) -> dict[str, Any]:
    calls = [
        {
            "id": call.tool_call_id,
            "type": "function",
            "function": {"name": call.function_name, "arguments": call.arguments},
        }
        for call in step.tool_calls or ()
    ]
    content = text_of(step.message) or None
    return {
        "role": "assistant",
        "content": content,
        "reasoning_content": step.reasoning_content,
        "tool_calls": calls,
    }


def _observed(step: _Step) -> list[dict[str, Any]]:
    """Results of calls as tool messages (without an id: of the calls that are left, in order);
    those of no call as the environment's.
    """
    results = step.observation.results if step.observation else []
    left = len(step.tool_calls or ()) - sum(result.source_call_id is not None for result in results)
    messages: list[dict[str, Any]] = []
    for result in results:
        handed_over = result.content is None and result.subagent_trajectory_ref is not None
        text = text_of([{"type": "subagent_trajectory"}] if handed_over else result.content)
        if result.source_call_id is None and left <= 0:
            messages.append(from_environment(text))
            continue
        left -= result.source_call_id is None
        messages.append({"role": "tool", "tool_call_id": result.source_call_id, "content": text})
    return messages


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
    counts = (
        metrics.prompt_tokens or 0,
        metrics.completion_tokens or 0,
        metrics.cached_tokens or 0,
    )
    calls = 1 if step.llm_call_count is None else step.llm_call_count
    return TurnNote(
        usage=Usage(*counts, calls, cost),
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
    counts = (
        final.total_prompt_tokens or 0,
        final.total_completion_tokens or 0,
        final.total_cached_tokens or 0,
    )
    return Usage(*counts, 0, final.total_cost_usd)
