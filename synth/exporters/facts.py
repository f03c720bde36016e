"""What a row of a chat tells, by name, so that what a form cannot say and what its reader does not
get back are called the same.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from synth.exporters.json_columns import plain_text
from synth.schemas.model import Message
from synth.schemas.trajectory import SampledBy, Source, Trajectory, argument_error

SYSTEM = "the system prompt"
SCHEMAS = "tool schemas"
TEXTS = "texts"
THOUGHTS = "thoughts"
AGENTS = "names of agents"
CALLS = "calls and their arguments"
CALL_IDS = "ids of calls"
SPELLING = "the exact text of arguments (white space, order of escapes)"
ANSWERS = "answers of tools"
LINKS = "which call an answer belongs to"
TOOL_NAMES = "names of tools that no call of theirs gives"
HEARD = "what users and the world said"
MIDWAY = "which of that are system messages in mid-conversation"
SPEAKERS = "names of users and of the world"
ORDER = "the order of what others said before a tool answered"
BEHIND = "what stands behind the last turn with loss"
MASKS = "which turns carry no loss"
REASONS = "why turns carry no loss"
ORIGIN = "where a row comes from (trajectory, task, policy, outcome)"
KEPT_OUT = "the benchmark that it is an attempt at, the split that it is held out for"
REWARD = "the reward"
CHECK = "what the check found, sampling settings, weights"
TURN_VALUES = "rewards and states of turns"
TOKENS = "tokens as they were sampled"
USAGE = "what turns used and cost"
AUTHORS = "who wrote a turn, where it was not the policy"
ERRORS = "which answers are errors"
HIDDEN = "what stood where faults were planted, and the script behind worded lines"
RAW = "raw replies, repairs and latencies"
EVIDENCE = "what a label stands on (counts of continuations, methods, policies)"
LABEL = "the mistake: its turn and agent"

LINEAGE = (
    *(
        "trajectory_id",
        "task_id",
        "env",
        "trial",
        "synthesizer",
        "parent_id",
        "pivot_turn",
        "policy",
        "model",
        "outcome",
        "termination",
    ),
    *("authorship", "gold_informed", "benchmark", "split"),
)
Place = tuple[int, int]
"""Of what was said between turns: before which turn it stands, and the how-manyth of its sort it is
there.
"""


class RenderedChat(msgspec.Struct, frozen=True):
    """A chat, and what is known of it beside its messages, by the names above; `masked` counts
    assistant messages.
    """

    messages: list[Message]
    tools: list[Any]
    masked: Mapping[int, str]
    known: Mapping[str, Any]
    behind: int = 0
    """Messages that were left out at the end."""


def lost(told: RenderedChat, lacks: Iterable[str]) -> tuple[str, ...]:
    """Of the facts that a form has no place for, those that there is anything of."""
    return tuple(name for name in lacks if fact(told, name))


def differing(told: RenderedChat, read: RenderedChat) -> Iterator[str]:
    """Facts that a reader got otherwise than they were told. An answer that belongs to no call may
    have been given one.
    """
    for name in (*_OF_MESSAGES, *_OF_TRAJECTORIES):
        said, got = fact(told, name), fact(read, name)
        if name == LINKS:
            got = {place: call for place, call in got.items() if place in said}
        if said != got:
            yield name


def fact(told: RenderedChat, name: str) -> Any:
    """What is told under a name; empty where there is nothing."""
    of_messages = _OF_MESSAGES.get(name)
    return told.known.get(name) or None if of_messages is None else of_messages(told)


def known_of(trajectory: Trajectory) -> dict[str, Any]:
    """What no message holds."""
    turns = trajectory.turns
    used = {
        turn.index: turn.usage
        for turn in turns
        if turn.usage is not None and turn.sampled_by is SampledBy.POLICY
    }
    hidden = any(
        o.wording is not None or o.planted is not None
        for o in (*trajectory.opening, *(o for t in turns for o in t.observations))
    )
    return {
        ORIGIN: present({name: getattr(trajectory, name) for name in LINEAGE}),
        KEPT_OUT: kept_out(trajectory),
        REWARD: present({"reward": trajectory.reward}),
        CHECK: present(
            {
                "check_result": trajectory.check_result,
                "weights_id": trajectory.weights_id,
                "sampling": trajectory.sampling or None,
            }
        ),
        TURN_VALUES: _of_turns(turns, "reward", "state_key"),
        TOKENS: _of_turns(turns, "prompt_token_ids", "completion_token_ids", "logprobs"),
        USAGE: {
            at: [use.prompt_tokens, use.completion_tokens, use.cached_tokens, use.cost_usd]
            for at, use in used.items()
        },
        AUTHORS: {
            turn.index: present({"sampled_by": turn.sampled_by, "injected": turn.injected})
            for turn in turns
            if turn.sampled_by is not SampledBy.POLICY or turn.injected is not None
        },
        ERRORS: errors(trajectory),
        HIDDEN: hidden,
        RAW: any(
            turn.raw is not None or turn.repairs or turn.latency_ms is not None for turn in turns
        ),
    }


def kept_out(trajectory: Trajectory) -> dict[str, Any]:
    """Why exports leave a row out unless they are told otherwise, by the keys under which our
    importers look for it.
    """
    return present(
        {
            "benchmark": trajectory.benchmark,
            "split": trajectory.split if trajectory.held_out else None,
        }
    )


def present(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are there, as JSON has them."""
    found: dict[str, Any] = msgspec.json.decode(
        msgspec.json.encode({name: value for name, value in values.items() if value is not None})
    )
    return found


def errors(trajectory: Trajectory) -> list[Place]:
    """Which answers of tools are errors: (turn, which of its answers)."""
    answers = {
        turn.index: [o for o in turn.observations if o.source is Source.TOOL]
        for turn in trajectory.turns
    }
    return [
        (turn, at)
        for turn, found in answers.items()
        for at, observation in enumerate(found)
        if observation.error
    ]


def _of_turns(turns: Iterable[Any], *names: str) -> dict[int, Any]:
    found = {turn.index: present({name: getattr(turn, name) for name in names}) for turn in turns}
    return {index: values for index, values in found.items() if values}


def _system(told: RenderedChat) -> str | None:
    return (
        told.messages[0]["content"]
        if told.messages and told.messages[0]["role"] == "system"
        else None
    )


def _answers(told: RenderedChat) -> list[Message]:
    return [message for message in told.messages if message["role"] == "assistant"]


def _between(told: RenderedChat, *, tools: bool) -> dict[Place, Message]:
    """What tools said, or what others did, by place; the system prompt aside."""
    found: dict[Place, Message] = {}
    turn = count = 0
    for at, message in enumerate(told.messages):
        if message["role"] == "assistant":
            turn, count = turn + 1, 0
        elif (message["role"] == "tool") is tools and not (at == 0 and message["role"] == "system"):
            found[turn, count] = message
            count += 1
    return found


def _calls(told: RenderedChat) -> Iterator[tuple[Place, Any]]:
    for turn, message in enumerate(_answers(told)):
        yield from (((turn, at), call) for at, call in enumerate(message.get("tool_calls") or ()))


def _arguments(call: Any) -> Any:
    written = call["function"]["arguments"]
    return (
        msgspec.json.decode(written)
        if isinstance(written, str) and argument_error(written) is None
        else written
    )


def _spelling(told: RenderedChat) -> dict[Place, str]:
    """Arguments that are spelled otherwise than JSON without white space is; text that is no object
    is told with the call.
    """
    texts = {
        place: call["function"]["arguments"]
        for place, call in _calls(told)
        if isinstance(call["function"]["arguments"], str)
    }
    objects = {place: text for place, text in texts.items() if argument_error(text) is None}
    return {
        place: text
        for place, text in objects.items()
        if text != plain_text(msgspec.json.decode(text))
    }


def _tool_names(told: RenderedChat) -> dict[Place, str]:
    names = {call.get("id"): call["function"]["name"] for _, call in _calls(told)}
    answers = _between(told, tools=True).items()
    return {
        place: m["name"]
        for place, m in answers
        if m.get("name") and m["name"] != names.get(m.get("tool_call_id"))
    }


def _speakers(told: RenderedChat) -> dict[Place, str]:
    return {
        place: m["name"]
        for place, m in _between(told, tools=False).items()
        if m.get("name") and m["role"] != "system"
    }


def _order(told: RenderedChat) -> dict[int, str]:
    gaps: dict[int, str] = {}
    turn = 0
    for message in told.messages:
        if message["role"] == "assistant":
            turn += 1
        else:
            gaps[turn] = gaps.get(turn, "") + ("t" if message["role"] == "tool" else "o")
    return {turn: gap for turn, gap in gaps.items() if "ot" in gap}


_OF_MESSAGES: Mapping[str, Callable[[RenderedChat], Any]] = {
    SYSTEM: _system,
    SCHEMAS: lambda told: list(told.tools),
    TEXTS: lambda told: [message.get("content") or "" for message in _answers(told)],
    THOUGHTS: lambda told: {
        at: m["reasoning_content"]
        for at, m in enumerate(_answers(told))
        if m.get("reasoning_content")
    },
    AGENTS: lambda told: {at: m["name"] for at, m in enumerate(_answers(told)) if m.get("name")},
    CALLS: lambda told: {
        place: (call["function"]["name"], _arguments(call)) for place, call in _calls(told)
    },
    CALL_IDS: lambda told: {place: call.get("id") for place, call in _calls(told)},
    SPELLING: _spelling,
    ANSWERS: lambda told: {place: m["content"] for place, m in _between(told, tools=True).items()},
    LINKS: lambda told: {
        place: m["tool_call_id"]
        for place, m in _between(told, tools=True).items()
        if m.get("tool_call_id")
    },
    TOOL_NAMES: _tool_names,
    HEARD: lambda told: {place: m["content"] for place, m in _between(told, tools=False).items()},
    MIDWAY: lambda told: [
        place for place, m in _between(told, tools=False).items() if m["role"] == "system"
    ],
    SPEAKERS: _speakers,
    ORDER: _order,
    BEHIND: lambda told: told.behind,
    MASKS: lambda told: sorted(told.masked),
    REASONS: lambda told: {turn: reason for turn, reason in told.masked.items() if reason},
}
_OF_TRAJECTORIES = (
    ORIGIN,
    KEPT_OUT,
    REWARD,
    CHECK,
    TURN_VALUES,
    TOKENS,
    USAGE,
    AUTHORS,
    ERRORS,
    HIDDEN,
    RAW,
    LABEL,
)
