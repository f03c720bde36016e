"""What a row of a chat tells, by name, so that what a form cannot say and what its reader does not
get back are called the same.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from synth.exporters.forms.columns import plain_text
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
COUNTED = ("prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd")
"""Of what a turn used."""


class RenderedChat(msgspec.Struct, frozen=True):
    """A chat, and what is known of it beside its messages, by the names above; `masked` counts
    assistant messages.

    What was said between turns has a place: before which turn it stands, and the how-manyth of its
    sort it is there.
    """

    messages: list[Message]
    tools: list[Any]
    masked: Mapping[int, str]
    known: Mapping[str, Any]
    behind: int = 0
    """Messages that were left out at the end."""


def facts(told: RenderedChat) -> dict[str, Any]:
    """Everything that a chat tells, by the names above; what there is nothing of is not there."""
    found = {**told.known, **_of_messages(told)}
    found |= {BEHIND: told.behind, SCHEMAS: list(told.tools), MASKS: sorted(told.masked)}
    found[REASONS] = {turn: reason for turn, reason in told.masked.items() if reason}
    return {name: value for name, value in found.items() if value}


def lost(told: RenderedChat, lacks: Iterable[str]) -> tuple[str, ...]:
    """Of the facts that a form has no place for, those that there is anything of."""
    there = facts(told)
    return tuple(name for name in lacks if name in there)


def differing(told: RenderedChat, read: RenderedChat) -> Iterator[str]:
    """Facts that a reader got otherwise than they were told. An answer that belongs to no call may
    have been given one.
    """
    said, got = facts(told), facts(read)
    linked = {at: call for at, call in got.pop(LINKS, {}).items() if at in said.get(LINKS, {})}
    got |= {LINKS: linked} if linked else {}
    return (name for name in {**said, **got} if said.get(name) != got.get(name))


def known_of(trajectory: Trajectory) -> dict[str, Any]:
    """What no message holds."""
    turns = trajectory.turns
    heard = (*trajectory.opening, *(one for turn in turns for one in turn.observations))
    by_policy = {turn.index: turn.sampled_by is SampledBy.POLICY for turn in turns}
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
            turn.index: [getattr(turn.usage, name) for name in COUNTED]
            for turn in turns
            if turn.usage is not None and by_policy[turn.index]
        },
        AUTHORS: {
            at: told
            for at, told in _of_turns(turns, "sampled_by", "injected").items()
            if not by_policy[at] or "injected" in told
        },
        ERRORS: [
            (turn.index, at)
            for turn in turns
            for at, one in enumerate(o for o in turn.observations if o.source is Source.TOOL)
            if one.error
        ],
        HIDDEN: any(one.wording is not None or one.planted is not None for one in heard),
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


def _of_turns(turns: Iterable[Any], *names: str) -> dict[int, Any]:
    found = {turn.index: present({name: getattr(turn, name) for name in names}) for turn in turns}
    return {index: values for index, values in found.items() if values}


def _of_messages(told: RenderedChat) -> dict[str, Any]:
    """By name, then by turn or place."""
    found: defaultdict[str, dict[Any, Any]] = defaultdict(dict)
    gaps: defaultdict[int, str] = defaultdict(str)
    calls = [call for message in told.messages for call in message.get("tool_calls") or ()]
    names = {call.get("id"): call["function"]["name"] for call in calls}
    turn = 0
    for at, message in enumerate(told.messages):
        role, name, content = message["role"], message.get("name"), message.get("content")
        if role == "assistant":
            found[TEXTS][turn] = content or ""
            _of_calls(found, turn, message.get("tool_calls") or ())
            for what, value in ((THOUGHTS, message.get("reasoning_content")), (AGENTS, name)):
                found[what] |= {turn: value} if value else {}
            turn += 1
            continue
        by_tool = role == "tool"
        place, call = (turn, gaps[turn].count("t" if by_tool else "o")), message.get("tool_call_id")
        gaps[turn] += "t" if by_tool else "s" if (first := at == 0 and role == "system") else "o"
        if by_tool:
            found[ANSWERS][place] = content
            found[LINKS] |= {place: call} if call else {}
            found[TOOL_NAMES] |= {place: name} if name and name != names.get(call) else {}
        elif first:
            found[SYSTEM] = {0: content} if content else {}
        else:
            found[HEARD][place] = content
            found[MIDWAY] |= {place: True} if role == "system" else {}
            found[SPEAKERS] |= {place: name} if name and role != "system" else {}
    ordered = {turn: gap.replace("s", "o") for turn, gap in gaps.items()}
    return {**found, ORDER: {turn: gap for turn, gap in ordered.items() if "ot" in gap}}


def _of_calls(found: dict[str, dict[Any, Any]], turn: int, calls: Iterable[Any]) -> None:
    """Arguments that are text but no object are told with the call; of others, how they are
    spelled, where that is otherwise than JSON without white space.
    """
    for place, call in (((turn, at), call) for at, call in enumerate(calls)):
        given = told = call["function"]["arguments"]
        if isinstance(given, str) and argument_error(given) is None:
            told = msgspec.json.decode(given)
            found[SPELLING] |= {place: given} if given != plain_text(told) else {}
        found[CALLS][place] = (call["function"]["name"], told)
        found[CALL_IDS][place] = call.get("id")
