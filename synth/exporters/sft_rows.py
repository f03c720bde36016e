"""A trajectory as one row of an SFT data set: its messages, and which of its turns carry loss."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field, field_validator

from schemas.messages import GREETING_MASK, to_messages
from schemas.model import Message
from schemas.outcome import Outcome
from schemas.trajectory import SampledBy, Source, Trajectory, Turn

EVIDENCE = frozenset({"critical_step", "failure_injection"})
"""Synthesizers whose trajectories were played to find out what an act does: they stand behind labels, and are not picked to be learnt."""
Arguments = Literal["json", "dict"]
"""Tool-call arguments as the JSON text that was received, or as an object."""


class SftSettings(BaseModel):
    """What goes into an SFT data set, and in which form. The decision of every filter is honoured.

    `include_evidence`: also continuations that were played to test an act (`EVIDENCE`), many of one state.
    `arguments`: left out, as the form's trainer wants them. `require_tools`: only trajectories with tool schemas, whether they call tools
    or not (without it, rows that call tools whose schemas were not recorded are taken in, and the card says so). `keep_masked`: take in
    rows with turns that must carry no loss, for trainers that read `masked_turns`; TRL trains on every assistant message of a row.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    form: str = "trl"
    outcomes: tuple[Outcome, ...] = (Outcome.SUCCESS,)
    include_scripted: bool = False
    include_evidence: bool = False
    allow_benchmark: bool = False
    allow_held_out: bool = False
    require_tools: bool = False
    keep_masked: bool = False
    arguments: Arguments | None = None
    thoughts: bool = True
    rows_per_shard: int = Field(default=1000, ge=1)

    @field_validator("outcomes")
    @classmethod
    def _no_faults(cls, outcomes: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
        if Outcome.INVALID in outcomes:
            raise ValueError("invalid records are never exported: a fault is no label")
        return outcomes


class SftRow(msgspec.Struct, frozen=True):
    """One trajectory as training data; `trained` and `masked` count assistant messages from 0, as turns are counted."""

    messages: list[Message]
    trajectory: Trajectory
    trained: tuple[int, ...]
    masked: Mapping[int, str]


class SftForm(msgspec.Struct, frozen=True, kw_only=True):
    """How one trainer reads SFT rows: arrow schema, row -> columns, whether its loader gives a JSON value back unchanged, and how to train.

    `training` gives the section of the card that says so, in Markdown, for the folder or repository that the rows are read from.
    """

    name: str
    arguments: Arguments
    schema: Callable[[], Any]
    record: Callable[[SftRow], dict[str, Any]]
    holds: Callable[[Any], bool]
    training: Callable[[str], str]


def sft_row(trajectory: Trajectory, form: SftForm, *, arguments: Arguments | None = None, thoughts: bool = True) -> SftRow:
    """A trajectory as a row: loss on turns that the policy wrote, unless something masks them.

    Arguments that are no object, or one that the trainer's loader would change, stay text as received in a masked turn. What users
    said after the last turn is left out: nothing is trained there, and simulators put their control signals there.
    """
    masked = {i: reason for i, turn in enumerate(trajectory.turns) if (reason := mask_reason(turn, i, trajectory.pivot_turn))}
    messages = to_messages(trajectory, thoughts=thoughts)
    del messages[len(messages) - _said_after(trajectory) :]
    if (arguments or form.arguments) == "dict":
        answers = [message for message in messages if message["role"] == "assistant"]
        for index, (turn, message) in enumerate(zip(trajectory.turns, answers, strict=True)):
            for call, written in zip(turn.tool_calls, message.get("tool_calls", ()), strict=True):
                if call.parse_error is not None:
                    continue
                if form.holds(parsed := call.parsed()):
                    written["function"]["arguments"] = parsed
                else:
                    masked.setdefault(index, "inexact_arguments")
    trained = tuple(i for i in range(len(trajectory.turns)) if i not in masked)
    return SftRow(messages, trajectory, trained, dict(sorted(masked.items())))


def mask_reason(turn: Turn, index: int, pivot_turn: int | None = None) -> str | None:
    """Why a turn carries no loss, or None: its own mask, another author, before the pivot, calls that do not parse, nothing said."""
    if turn.mask is not None:
        return turn.mask
    if turn.sampled_by is not SampledBy.POLICY:
        return GREETING_MASK if turn.sampled_by is SampledBy.CANNED else turn.sampled_by.value
    if turn.injected is not None:
        return "injected"
    if pivot_turn is not None and index < pivot_turn:
        return "before_pivot"
    if any(call.parse_error is not None for call in turn.tool_calls):
        return "parse_error"
    if not turn.content and not turn.tool_calls:
        return "empty"
    return None


def _said_after(trajectory: Trajectory) -> int:
    """How many observations at the very end are a user's."""
    count = 0
    for observation in reversed(trajectory.turns[-1].observations if trajectory.turns else ()):
        if observation.source is not Source.USER:
            break
        count += 1
    return count
