"""Asks a chat model for the next turn."""

from collections.abc import Mapping
from typing import Any

import msgspec
from pydantic import BaseModel, ConfigDict

from synth.boundary import FaultError
from synth.policies.chance import trial_seed
from synth.schemas import (
    Act,
    AgentTurn,
    Authorship,
    ChatModel,
    Completion,
    ConfigError,
    Episode,
    Fault,
    Policy,
    PolicySpec,
    Sampling,
    View,
    content_hash,
    strictly,
    view_messages,
)
from synth.text.calls.found import UNREAD

CHAT = "chat"
_FINISHED = frozenset({None, "stop", "tool_calls", "function_call"})
"""How a reply ends that was neither cut off nor filtered: a half call in it is nobody's limit."""
_SHOWN = 160
_UNREAD = (
    "a call begins in the reply that no form of synth.text.calls reads, and nothing says that it "
    "was cut off; its end"
)
_RECORDED = set(Act.__struct_fields__).intersection(Completion.__struct_fields__)
"""What an act keeps of the completion that it came from, beside the turn."""


class ChatConfig(BaseModel):
    """`send_thoughts`: show the model its past thoughts again; templates of reasoning models drop
    them, so it is off.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    send_thoughts: bool = False


class ChatPolicy:
    """One episode of a model that is shown the view as chat messages; calls with broken arguments
    go on to the world as they are.
    """

    def __init__(self, model: ChatModel, sampling: Sampling, config: ChatConfig) -> None:
        self._model = model
        self._sampling = sampling
        self._config = config

    async def act(self, view: View) -> Act:
        """The model's next turn. Raises `ModelError`, and `FaultError` (parser) where a call in it
        cannot be read, and it holds no other.
        """
        messages = view_messages(
            view.opening, view.turns, thoughts=self._config.send_thoughts, guidance=view.guidance
        )
        completion = await self._model.complete(messages, view.opening.tools, self._sampling)
        unread = UNREAD in completion.repairs and not completion.tool_calls
        if unread and completion.finish_reason in _FINISHED:
            raise FaultError(Fault.PARSER, f"{_UNREAD}: {(completion.content or '')[-_SHOWN:]!r}")
        turn = AgentTurn(completion.content, completion.tool_calls, completion.thought)
        return Act(turn=turn, **{name: getattr(completion, name) for name in _RECORDED})


def chat_policy(
    settings: Mapping[str, Any], *, model_name: str | None, sampling: Mapping[str, Any]
) -> PolicySpec:
    """The policy that asks the episode's chat model; `model_name` is the name by which its work is
    identified.

    It is never taken for deterministic: servers answer one prompt differently at temperature 0 too,
    by the company that it has in a batch.

    A seed in `sampling` is mixed with the episode's: the same one for all would make all trials of
    a task alike. Opening it raises
    `ConfigError` where the episode has no model.
    """
    config = strictly(ChatConfig, dict(settings))
    drawn = msgspec.convert(dict(sampling), Sampling)

    def open_chat(episode: Episode) -> Policy:
        if episode.model is None:
            raise ConfigError(
                "policy chat: it asks a model, and its role has none; name one as `model`"
            )
        return ChatPolicy(episode.model, episode_sampling(drawn, episode), config)

    return PolicySpec(
        name=CHAT,
        authorship=Authorship.MODEL,
        identity={"policy": CHAT, **config.model_dump()},
        open=open_chat,
        model=model_name,
        sampling=msgspec.to_builtins(drawn),
    )


def episode_sampling(sampling: Sampling, episode: Episode) -> Sampling:
    """The sampling with a seed of the trial's own (31 bits: all that some servers take), or as it
    is where it has none.
    """
    if sampling.seed is None:
        return sampling
    drawn = [
        sampling.seed,
        trial_seed(episode),
        *([episode.draw, episode.luck] if episode.draw else []),
    ]
    mixed = int(content_hash(drawn, size=4), 16) & 0x7FFFFFFF
    return msgspec.structs.replace(sampling, seed=mixed)
