"""What an agent saw, did and was worth: trajectory, turn, tool call, observation.

Structs (msgspec), frozen: they are built by the million, and checked for type when they are read back from a file.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

import msgspec

from schemas.check import CheckResult
from schemas.outcome import Fault, Outcome, Termination, contradiction

ToolSchema = dict[str, Any]
"""A tool as the model is shown it: {"type": "function", "function": {"name", "description", "parameters"}}."""
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""How many; bounded so that sums over a run stay within 64 bits."""
TokenId = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
"""A token as a tokenizer numbers it."""


class Source(StrEnum):
    """Who an observation comes from."""

    TOOL = "tool"
    USER = "user"
    ENVIRONMENT = "environment"


class SampledBy(StrEnum):
    """Who wrote a turn."""

    POLICY = "policy"
    CANNED = "canned"
    INJECTED = "injected"
    REPLAYED = "replayed"
    HUMAN = "human"


class Authorship(StrEnum):
    """Who wrote the trajectory's turns, taken together."""

    MODEL = "model"
    SCRIPTED = "scripted"
    HUMAN = "human"
    MIXED = "mixed"


class ToolCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One call; `arguments` is the JSON text exactly as received, `parse_error` says why it is no JSON object."""

    call_id: str
    name: str
    arguments: str
    parse_error: str | None = None

    @classmethod
    def received(cls, call_id: str, name: str, arguments: str) -> "ToolCall":
        """A call as it came in: kept to the byte, its arguments tried as a JSON object."""
        return cls(call_id, name, arguments, argument_error(arguments))

    def parsed(self) -> dict[str, Any]:
        """The arguments as an object. Raises `ValueError` where `parse_error` is set."""
        if self.parse_error is not None:
            raise ValueError(self.parse_error)
        return _ARGUMENTS.decode(self.arguments)


_ARGUMENTS = msgspec.json.Decoder(dict[str, Any])


def argument_error(arguments: str) -> str | None:
    """Why a text is no JSON object, in one line, or None."""
    try:
        _ARGUMENTS.decode(arguments)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        return f"arguments are not a JSON object: {error}"[:200]
    return None


class Observation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the world answered; `error` marks answers that a tool gave as errors."""

    content: str
    source: Source = Source.TOOL
    call_id: str | None = None
    name: str | None = None
    error: bool = False


class Usage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Tokens and money of one or many calls; `cost_usd` is None where no price is known."""

    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    cached_tokens: Count = 0
    calls: Count = 0
    cost_usd: float | None = None

    def __add__(self, other: "Usage") -> "Usage":
        costs = [u.cost_usd for u in (self, other) if u.cost_usd is not None]
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            self.calls + other.calls,
            sum(costs) if costs else None,
        )


class Turn(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One model inference and what the world answered; `mask` None = trainable, else the reason why not."""

    index: int
    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    observations: tuple[Observation, ...] = ()
    thought: str | None = None
    agent: str | None = None
    state_key: str | None = None
    reward: float | None = None
    sampled_by: SampledBy = SampledBy.POLICY
    mask: str | None = None
    injected: str | None = None
    usage: Usage | None = None
    latency_ms: float | None = None
    prompt_token_ids: tuple[TokenId, ...] | None = None
    completion_token_ids: tuple[TokenId, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    repairs: tuple[str, ...] = ()
    raw: str | None = None


class Trajectory(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """One attempt at a task, with lineage. Raises `ValueError` where outcome, termination, fault and reward contradict."""

    trajectory_id: str
    slot_id: str
    attempt: int
    task_id: str
    env: str
    trial: int
    synthesizer: str
    policy: str
    outcome: Outcome
    termination: Termination
    parent_id: str | None = None
    pivot_turn: int | None = None
    model: str | None = None
    weights_id: str | None = None
    sampling: Mapping[str, Any] = msgspec.field(default_factory=dict)
    seed: int = 0
    system_prompt: str | None = None
    tools: tuple[ToolSchema, ...] = ()
    opening: tuple[Observation, ...] = ()
    opening_state_key: str | None = None
    turns: tuple[Turn, ...] = ()
    reward: float | None = None
    fault: Fault | None = None
    fault_detail: str | None = None
    check_result: CheckResult | None = None
    authorship: Authorship = Authorship.MODEL
    gold_informed: bool = False
    totals: Usage = Usage()
    source: str | None = None
    benchmark: str | None = None
    split: str | None = None
    """Its task's, and `held_out` says what that means for exports."""
    created_at: str | None = None
    content_hash: str | None = None
    """Of an imported record's canonical value: exact copies are two trajectories with the same one."""

    @property
    def held_out(self) -> bool:
        """Whether its task is kept for measuring: it has a split, and that is not `train`."""
        return self.split not in (None, "train")

    def __post_init__(self) -> None:
        problem = contradiction(self.outcome, self.termination, self.fault, self.reward)
        if problem is not None:
            raise ValueError(f"trajectory {self.trajectory_id}: {problem}")
