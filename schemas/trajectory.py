"""What an agent saw, did and was worth: trajectory, turn, tool call, observation.

Structs (msgspec), frozen: they are built by the million, and checked for type when they are read
back from a file.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

import msgspec

from synth.schemas.canonical import StrictRecord
from synth.schemas.check import CheckResult
from synth.schemas.outcome import Fault, Outcome, Termination, contradiction

ToolSchema = dict[str, Any]
"""A tool as the model is shown it: {"type": "function", "function": {"name", "description",
"parameters"}}.
"""
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


class ToolCall(StrictRecord, frozen=True):
    """One call; `arguments` is the JSON text exactly as received, `parse_error` says why it is no
    JSON object.
    """

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


class Usage(StrictRecord, frozen=True):
    """Tokens and money of one or many calls; `cost_usd` is None where no price is known, else
    without `unpriced_calls` of the calls.
    """

    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    cached_tokens: Count = 0
    calls: Count = 0
    cost_usd: float | None = None
    unpriced_calls: Count = 0

    @property
    def unpriced(self) -> int:
        """Calls whose price `cost_usd` does not hold."""
        return self.calls if self.cost_usd is None else self.unpriced_calls

    def __add__(self, other: "Usage") -> "Usage":
        costs = [u.cost_usd for u in (self, other) if u.cost_usd is not None]
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            self.calls + other.calls,
            sum(costs) if costs else None,
            self.unpriced + other.unpriced if costs else 0,
        )


class Deviation(StrictRecord, frozen=True):
    """A way in which a model's wording departs from the script of the user that it plays: a short
    stable kind, and what shows it.
    """

    kind: str
    what: str = ""


class TurnedDown(StrictRecord, frozen=True):
    """A wording that no agent was shown, and why."""

    text: str
    deviations: tuple[Deviation, ...]


class Wording(StrictRecord, frozen=True):
    """How a model that plays the user came to say a line: `scripted` is what the world's script
    says, and what checks and replays go by.

    `fell_back`: every wording was turned down, and the scripted words were said as they are.
    """

    scripted: str
    model: str
    turned_down: tuple[TurnedDown, ...] = ()
    fell_back: bool = False
    usage: Usage | None = None
    weights_id: str | None = None


class Planted(StrictRecord, frozen=True):
    """What the world had answered where a fault was planted in its place."""

    content: str
    error: bool = False


class Observation(StrictRecord, frozen=True):
    """What the world answered; `error` marks answers that a tool gave as errors. `wording` and
    `planted` are never shown to an agent.
    """

    content: str
    source: Source = Source.TOOL
    call_id: str | None = None
    name: str | None = None
    error: bool = False
    wording: Wording | None = None
    planted: Planted | None = None

    def as_given(self) -> "Observation":
        """As the world gave it: before a fault was planted, and in its scripted words where a model
        has worded them.
        """
        given = self
        if given.planted is not None:
            given = msgspec.structs.replace(
                given, content=given.planted.content, error=given.planted.error, planted=None
            )
        return (
            given
            if given.wording is None
            else msgspec.structs.replace(given, content=given.wording.scripted, wording=None)
        )


class Turn(StrictRecord, frozen=True):
    """One model inference and what the world answered; `mask` None = trainable, else the reason why
    not.
    """

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


class Trajectory(StrictRecord, frozen=True, kw_only=True):
    """One attempt at a task, with lineage. Raises `ValueError` where outcome, termination, fault
    and reward contradict.
    """

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
    role: str | None = None
    """Of the flow's models, whom it was played by."""
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
    guidance: str | None = None
    """What was whispered from the pivot on; in no message of the transcript, and never exported."""
    totals: Usage = Usage()
    user_model: str | None = None
    """That played the user; what it used, `user_totals`, is no part of the agent's own."""
    user_totals: Usage = Usage()
    source: str | None = None
    benchmark: str | None = None
    split: str | None = None
    """Its task's, and `held_out` says what that means for exports."""
    created_at: str | None = None
    content_hash: str | None = None
    """Of an imported record's canonical value: exact copies are two trajectories with the same one.
    """

    @property
    def held_out(self) -> bool:
        """Whether its task is kept for measuring: it has a split, and that is not `train`."""
        return self.split not in (None, "train")

    @property
    def undecided(self) -> bool:
        """Whether the world's check looked at it and could not tell: neither solved nor failed."""
        check = self.check_result
        return self.outcome is Outcome.UNKNOWN and check is not None and check.passed is None

    def __post_init__(self) -> None:
        problem = contradiction(self.outcome, self.termination, self.fault, self.reward)
        if problem is not None:
            raise ValueError(f"trajectory {self.trajectory_id}: {problem}")
