"""What a row of a chat tells, by name, so that what a form cannot say and what its reader does not
get back are called the same.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from synth.exporters.exact_json import plain_text
from synth.schemas import Message, SampledBy, Source, Trajectory, Turn, argument_error

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
    *("trajectory_id", "task_id", "env", "trial", "synthesizer", "parent_id", "pivot_turn"),
    *("policy", "model", "outcome", "termination", "authorship", "gold_informed"),
    *("benchmark", "split"),
)
OF_TRAJECTORY: Mapping[str, Sequence[str]] = {
    ORIGIN: LINEAGE,
    REWARD: ("reward",),
    CHECK: ("check_result", "weights_id", "sampling"),
}
OF_TURNS: Mapping[str, Sequence[str]] = {
    TURN_VALUES: ("reward", "state_key"),
    TOKENS: ("prompt_token_ids", "completion_token_ids", "logprobs"),
    AUTHORS: ("sampled_by", "injected"),
}
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


def rendered(
    trajectory: Trajectory, messages: list[Message], masked: Mapping[int, str], behind: int = 0
) -> RenderedChat:
    """The messages of a trajectory, with all that no message holds."""
    known = known_of(trajectory)
    return RenderedChat(messages, list(trajectory.tools), masked, known, behind)


def facts(told: RenderedChat) -> dict[str, Any]:
    """Everything that a chat tells, by the names above; what there is nothing of is not there."""
    found: defaultdict[str, Any] = defaultdict(dict, told.known)

    for name, place, value in _of_messages(told):
        if value is not None:
            found[name][place] = value

    found |= {BEHIND: told.behind, SCHEMAS: list(told.tools), MASKS: sorted(told.masked)}
    found[REASONS] = {turn: reason for turn, reason in told.masked.items() if reason}

    return {name: value for name, value in found.items() if value}


def differing(told: RenderedChat, read: RenderedChat) -> Iterator[str]:
    """Facts that a reader got otherwise than they were told. An answer that belongs to no call may
    have been given one.
    """
    said, got = facts(told), facts(read)
    # importers link answers by their order, where no id says whose they are
    linked = {at: call for at, call in got.pop(LINKS, {}).items() if at in said.get(LINKS, {})}
    got |= {LINKS: linked} if linked else {}
    return (name for name in {**said, **got} if said.get(name) != got.get(name))


def known_of(trajectory: Trajectory) -> dict[str, Any]:
    """What no message holds."""
    turns = trajectory.turns
    heard = (*trajectory.opening, *(one for turn in turns for one in turn.observations))
    return {
        **{name: of(trajectory, fields) for name, fields in OF_TRAJECTORY.items()},
        **_by_turn(turns),
        KEPT_OUT: kept_out(trajectory),
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


def _by_turn(turns: Sequence[Turn]) -> dict[str, dict[int, Any]]:
    """What turns say of themselves."""
    found: dict[str, dict[int, Any]] = {
        name: {turn.index: own for turn in turns if (own := of(turn, fields))}
        for name, fields in OF_TURNS.items()
    }
    # a turn of the policy, with nothing injected, needs no author
    by_policy = {"sampled_by": SampledBy.POLICY.value}
    found[AUTHORS] = {at: by for at, by in found[AUTHORS].items() if by != by_policy}
    found[USAGE] = {
        turn.index: [getattr(turn.usage, name) for name in COUNTED]
        for turn in turns
        if turn.usage is not None and turn.sampled_by is SampledBy.POLICY
    }
    return found


def kept_out(trajectory: Trajectory) -> dict[str, Any]:
    """Why exports leave a row out unless they are told otherwise, by the keys under which our
    importers look for it.
    """
    return of(trajectory, ("benchmark", "split") if trajectory.held_out else ("benchmark",))


def of(source: Any, names: Iterable[str]) -> dict[str, Any]:
    """The fields of a struct or a mapping that say something, as JSON has them."""
    found = {
        name: source.get(name) if isinstance(source, Mapping) else getattr(source, name)
        for name in names
    }
    return present({name: None if value == {} else value for name, value in found.items()})


def present(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are there, as JSON has them."""
    found: dict[str, Any] = msgspec.json.decode(
        msgspec.json.encode({name: value for name, value in values.items() if value is not None})
    )
    return found


def _of_messages(told: RenderedChat) -> Iterator[tuple[str, Any, Any]]:
    """(name, turn or place, value) of each fact; a value None says nothing."""
    gaps: defaultdict[int, str] = defaultdict(str)
    calls = [call for message in told.messages for call in message.get("tool_calls") or ()]
    # a tool that its call names needs no name at its answer
    names = {call.get("id"): call["function"]["name"] for call in calls}
    turn = 0

    for at, message in enumerate(told.messages):
        role = message["role"]
        if role == "assistant":
            yield from _of_turn(turn, message)
            turn += 1
        elif at == 0 and role == "system":
            gaps[turn] += "s"
            yield SYSTEM, 0, message.get("content") or None
        else:
            sort = "t" if role == "tool" else "o"
            place = (turn, gaps[turn].count(sort))
            gaps[turn] += sort
            yield from _of_heard(place, message, names)

    for turn, gap in gaps.items():
        ordered = gap.replace("s", "o")
        yield ORDER, turn, ordered if "ot" in ordered else None


def _of_heard(
    place: tuple[int, int], message: Message, names: Mapping[Any, str]
) -> Iterator[tuple[str, Any, Any]]:
    """What a tool answered, or somebody else said; `names`: of tools by the ids of their calls."""
    role, content, name = message["role"], message.get("content"), message.get("name") or None
    if role == "tool":
        call = message.get("tool_call_id") or None
        yield ANSWERS, place, content
        yield LINKS, place, call
        yield TOOL_NAMES, place, None if name == names.get(call) else name
    else:
        midway = role == "system"
        yield HEARD, place, content
        yield MIDWAY, place, midway or None
        yield SPEAKERS, place, None if midway else name


def _of_turn(turn: int, message: Message) -> Iterator[tuple[str, Any, Any]]:
    """Arguments that are text but no object are told with the call; of others, how they are
    spelled, where that is otherwise than JSON without white space.
    """
    yield TEXTS, turn, message.get("content") or ""
    yield THOUGHTS, turn, message.get("reasoning_content") or None
    yield AGENTS, turn, message.get("name") or None

    for at, call in enumerate(message.get("tool_calls") or ()):
        given = told = call["function"]["arguments"]

        if isinstance(given, str) and argument_error(given) is None:
            told = msgspec.json.decode(given)
            yield SPELLING, (turn, at), None if given == plain_text(told) else given

        yield CALLS, (turn, at), (call["function"]["name"], told)
        yield CALL_IDS, (turn, at), call.get("id")
