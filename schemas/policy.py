"""Who decides the next turn, from what the agent may see; and a model in the place of a world's
rule-based user: the world's script says what the user says, the model how it is worded.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec

from synth.schemas.environment import AgentTurn, Env, Opening
from synth.schemas.model import ChatModel, Completion, Message
from synth.schemas.task import Task
from synth.schemas.trajectory import Authorship, Deviation, SampledBy, TokenId, Turn, Usage


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


USER = "user"
"""The role that plays it, for every other role of a flow."""
OPEN_LINE = "(what the user says here is left to the model that plays them)"
"""What a world without words of its own for its user says in their place: no agent is shown it."""


class UserScript(Protocol):
    """What a world knows about wording its user's lines; pure functions, so that a resumed attempt
    asks for the same again.
    """

    @property
    def version(self) -> str:
        """Of the prompt and of the rules of deviation: part of the identity of what is collected
        with them.
        """

    def prompt(self, task: Task, turns: Sequence[Turn], line: str) -> Sequence[Message] | None:
        """Asks for a wording of `line`; the last of `turns` is the one that it answers, with what
        was answered to it so far.

        None where the line is to be said as it stands.
        """

    def deviations(self, line: str, reply: Completion) -> Sequence[Deviation]:
        """Where a reply departs from the line; none where it says what the line says and nothing
        else.
        """


@runtime_checkable
class FreeUserScript(UserScript, Protocol):
    """A script that leaves what is said to the model: the world's own line is `OPEN_LINE`, and the
    user ends the talk.
    """

    def ends(self, words: str) -> bool:
        """Whether the user has ended the talk with these words."""


class User(msgspec.Struct, frozen=True, kw_only=True):
    """The role `user`: a model, how it is sampled, and what to do where `rewordings` further tries
    of a line are turned down as well.

    `unfit`: `script` says the line as it stands, and notes it; `fault` ends the attempt as invalid.
    """

    model: ChatModel
    name: str
    """By which its work is identified: the model's, as a flow names it."""
    script: UserScript
    sampling: Mapping[str, Any] = msgspec.field(default_factory=dict)
    rewordings: int = 2
    unfit: Literal["script", "fault"] = "script"

    def identity(self) -> Mapping[str, Any]:
        """What determines its words: part of the slot."""
        return {
            "model": self.name,
            "sampling": dict(self.sampling),
            "script": self.script.version,
            "rewordings": self.rewordings,
            "unfit": self.unfit,
        }
