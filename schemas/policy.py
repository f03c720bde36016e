"""Who decides the next turn, from what the agent may see."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from synth.schemas.environment import AgentTurn, Env, Opening
from synth.schemas.model import ChatModel
from synth.schemas.trajectory import Authorship, SampledBy, TokenId, Turn, Usage


class Guidance(msgspec.Struct, frozen=True):
    """What a reflection on an earlier attempt advises, whispered before turn `turn`; no transcript
    holds it.
    """

    text: str
    turn: int


class View(msgspec.Struct, frozen=True):
    """All that the agent may see: the opening, its turns so far, and guidance where a retry is
    guided.
    """

    opening: Opening
    turns: tuple[Turn, ...]
    guidance: Guidance | None = None


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """A decided turn, with the record of how it came about."""

    turn: AgentTurn
    sampled_by: SampledBy = SampledBy.POLICY
    usage: Usage | None = None
    latency_ms: float | None = None
    weights_id: str | None = None
    prompt_token_ids: tuple[TokenId, ...] | None = None
    completion_token_ids: tuple[TokenId, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    repairs: tuple[str, ...] = ()
    finish_reason: str | None = None
    raw: str | None = None


class Policy(Protocol):
    """One episode's decisions."""

    async def act(self, view: View) -> Act: ...


class Episode(msgspec.Struct, frozen=True):
    """What a policy may know about the episode it is opened for; `env` serves planners and
    affordances, never gold.

    `draw` numbers continuations of one trial from one state: each has draws of its own, and the
    trial's persistent misconception. They draw by `luck` as well, which differs from state to state
    and from act to act, so that what happens after one act says nothing of another.
    """

    env: Env
    model: ChatModel | None
    trial: int
    seed: int
    draw: int = 0
    luck: str = ""


class PolicySpec(msgspec.Struct, frozen=True, kw_only=True):
    """A policy by name: what identifies its work (part of the slot), and how one episode's policy
    is opened.

    `deterministic`: within a trial it always does the same at the same state, whatever the draw.
    """

    name: str
    authorship: Authorship
    identity: Mapping[str, Any]
    open: Callable[[Episode], Policy]
    model: str | None = None
    sampling: Mapping[str, Any] = msgspec.field(default_factory=dict)
    deterministic: bool = False
