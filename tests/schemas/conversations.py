"""Conversations as they are read."""

import json
from typing import Any

from hypothesis import strategies as st

from synth.schemas.model import Message
from synth.schemas.outcome import Outcome, Termination
from synth.schemas.text.conversation import Conversation, from_messages
from synth.schemas.trajectory import Observation, Source, ToolCall, Trajectory, Turn

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


name = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(
    lambda n: n not in ("environment", "system")
)


arguments = st.one_of(
    text,
    st.dictionaries(
        text, st.one_of(st.integers(), text, st.none(), st.lists(st.integers())), max_size=3
    ).map(json.dumps),
)


@st.composite
def turns(draw: st.DrawFn) -> tuple[Turn, ...]:
    """Turns with linked and unlinked results, users and the world between them."""
    drawn = []
    for index in range(draw(st.integers(0, 4))):
        calls = tuple(
            ToolCall.received(draw(name), draw(name), draw(arguments))
            for _ in range(draw(st.integers(0, 3)))
        )
        results = [
            Observation(draw(text), Source.TOOL, c.call_id, draw(st.none() | name))
            for c in calls
            if draw(st.booleans())
        ]
        others = draw(st.lists(loose_observation, max_size=2))
        drawn.append(
            Turn(
                index=index,
                content=draw(st.none() | text),
                tool_calls=calls,
                observations=tuple(draw(st.permutations(results + others))),
                thought=draw(st.none() | text),
                agent=draw(st.none() | name),
            )
        )
    return tuple(drawn)


loose_observation = st.one_of(
    st.builds(Observation, text, st.just(Source.USER), name=st.none() | name),
    st.builds(Observation, text, st.just(Source.ENVIRONMENT), name=st.none() | st.just("system")),
    st.builds(Observation, text, st.just(Source.TOOL), call_id=name, name=st.none() | name),
)


def trajectory(
    system_prompt: str | None = None,
    opening: tuple[Observation, ...] = (),
    turns: tuple[Turn, ...] = (),
    **fields: Any,
) -> Trajectory:
    """A trajectory of which only the visible parts matter."""
    return Trajectory(
        **{
            "trajectory_id": "t",
            "slot_id": "s",
            "attempt": 0,
            "task_id": "k",
            "env": "e",
            "trial": 0,
            "synthesizer": "rollout",
            "policy": "p",
            "outcome": Outcome.UNKNOWN,
            "termination": Termination.UNREPORTED,
            "system_prompt": system_prompt,
            "opening": opening,
            "turns": turns,
            **fields,
        }
    )


def read_one(*messages: Message) -> Conversation:
    return from_messages(messages)
