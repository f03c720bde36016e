"""What a trajectory holds as chat messages in OpenAI's form; `conversation.py` reads them back.

What a model cannot see (rewards, state keys, masks, `Observation.error`, `raw`) has no place in a
message. One assistant message is one turn; what follows it, up to the next assistant message, are
that turn's observations.
"""

from collections.abc import Sequence
from itertools import chain

import msgspec

from synth.schemas.environment import Opening
from synth.schemas.model import Message
from synth.schemas.policy import Guidance
from synth.schemas.trajectory import Observation, SampledBy, Source, Trajectory, Turn

ENVIRONMENT_NAME = "environment"
"""The `name` under which the world itself speaks in the role of the user."""
SYSTEM_NAME = "system"
"""`Observation.name` of a system message in mid-conversation."""
GREETING_MASK = "canned_greeting"
PROVIDER_MASK = "provider_run"
"""Mask of answers whose calls the provider ran: their tools have no schema, and the log holds
neither how the model wrote them nor, as a rule, all that it was told.
"""


def view_messages(
    opening: Opening,
    turns: Sequence[Turn],
    *,
    thoughts: bool = False,
    guidance: Guidance | None = None,
) -> list[Message]:
    """What the model sees next; past thoughts only where `thoughts` is set.

    A greeting comes before the opening's observations. Where the turns begin with the recorded
    greeting (`greeting_turn`), that turn
    stands for the greeting and those observations. Guidance for the first turn goes into the system
    prompt, for a later one it is a
    system message of its own before it (R3L, arXiv 2601.03715).
    """
    at = None if guidance is None else guidance.turn
    if guidance is not None and all(
        turn.sampled_by is SampledBy.CANNED for turn in turns[: guidance.turn]
    ):
        prompt = "\n\n".join(filter(None, (opening.system_prompt, guidance.text)))
        opening, at = msgspec.structs.replace(opening, system_prompt=prompt), None

    messages = _before_turns(opening.system_prompt, opening.observations)
    greeted = greeting_turn(opening)
    if greeted is not None:
        begun = turns and turns[0].sampled_by is SampledBy.CANNED
        messages = _before_turns(opening.system_prompt, ())
        messages.extend(() if begun else turn_messages(greeted))

    parts = [turn_messages(turn, thoughts=thoughts) for turn in turns]
    if guidance is not None and at is not None:
        parts.insert(at, [{"role": "system", "content": guidance.text}])
    return [*messages, *chain.from_iterable(parts)]


def greeting_turn(opening: Opening) -> Turn | None:
    """The turn as which a canned greeting is recorded, with the observations that followed it; None
    where there is no greeting.
    """
    if opening.greeting is None:
        return None
    return Turn(
        index=0,
        content=opening.greeting,
        observations=opening.observations,
        sampled_by=SampledBy.CANNED,
        mask=GREETING_MASK,
    )


def to_messages(trajectory: Trajectory, *, thoughts: bool = True) -> list[Message]:
    """The whole trajectory as messages: system prompt, opening, then each turn with its
    observations.
    """
    messages = _before_turns(trajectory.system_prompt, trajectory.opening)
    parts = (turn_messages(turn, thoughts=thoughts) for turn in trajectory.turns)
    return [*messages, *chain.from_iterable(parts)]


def turn_messages(turn: Turn, *, thoughts: bool = True) -> list[Message]:
    """The assistant message of a turn, and its observations."""
    message: Message = {"role": "assistant", "content": turn.content}
    if turn.agent is not None:
        message["name"] = turn.agent
    if thoughts and turn.thought is not None:
        message["reasoning_content"] = turn.thought
    if turn.tool_calls:
        message["tool_calls"] = [
            {
                "id": call.call_id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in turn.tool_calls
        ]
    return [message, *(observation_message(o) for o in turn.observations)]


def observation_message(observation: Observation) -> Message:
    """One observation as a message: role tool, user, user named "environment", or system in
    mid-conversation.
    """
    content = observation.content
    if observation.source is Source.ENVIRONMENT:
        if observation.name == SYSTEM_NAME:
            return {"role": "system", "content": content}
        return {"role": "user", "name": ENVIRONMENT_NAME, "content": content}
    by_tool = observation.source is Source.TOOL
    call_id = observation.call_id if by_tool else None
    message = {"role": "tool" if by_tool else "user", "content": content}
    more = {"tool_call_id": call_id, "name": observation.name}
    return {**message, **{key: value for key, value in more.items() if value is not None}}


def _before_turns(system_prompt: str | None, observations: Sequence[Observation]) -> list[Message]:
    system = [] if system_prompt is None else [{"role": "system", "content": system_prompt}]
    return [*system, *map(observation_message, observations)]
