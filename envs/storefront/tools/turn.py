"""One turn of the agent, answered: its calls in order, then what the customer says."""

from collections.abc import Mapping
from typing import Any

from synth.envs.storefront.customer.customer import OUT_OF_PATIENCE
from synth.envs.storefront.customer.script import KINDS, Kind
from synth.envs.storefront.tools.arguments import MAX_TEXT
from synth.envs.storefront.tools.desk import Desk, DeskError
from synth.envs.storefront.tools.read import READS
from synth.envs.storefront.tools.schemas import CHECKERS
from synth.envs.storefront.tools.talk import TALKS, pending
from synth.envs.storefront.tools.transcript import LONGEST_NAME, MAX_CALLS, decoded
from synth.envs.storefront.tools.write import WRITES
from synth.envs.storefront.world.world import SESSION
from synth.schemas.canonical import canonical_json, valid_text
from synth.schemas.environment import AgentTurn
from synth.schemas.trajectory import Observation, Source, ToolCall

ENDED = "conflict: the conversation has ended"
_SILENT = "validation: the turn is empty; say something or call a tool"
_TOO_LONG = f"validation: the text is longer than {MAX_TEXT} characters and was not delivered"
_TOO_MANY = f"validation: at most {MAX_CALLS} calls are carried out in one turn"
_RECEIPTS: Mapping[str, Kind] = {row["receipt"]: kind for kind, row in KINDS.items()}


def answers(desk: Desk, turn: AgentTurn, taken: AgentTurn) -> tuple[Observation, ...]:
    """Carries a turn out; `taken` is its legible form."""
    observations: list[Observation] = []
    spoken: list[str] = []
    if turn.content is not None and len(turn.content) > MAX_TEXT:
        observations.append(Observation(_TOO_LONG, Source.ENVIRONMENT, error=True))
    elif not turn.tool_calls and not (taken.content and taken.content.strip()):
        observations.append(Observation(_SILENT, Source.ENVIRONMENT, error=True))
    elif not turn.tool_calls and taken.content:
        spoken.append(desk.customer.heard())
    for at, call in enumerate(turn.tool_calls):
        if at >= MAX_CALLS:
            content, error = _TOO_MANY, True
        elif desk.customer.memory.ended:
            content, error = ENDED, True
        else:
            content, error = _carried_out(desk, call, taken.tool_calls[at], spoken)
        observations.append(tool_answer(call, content, error))
    changed = desk.customer.interrupts(desk.clock.ticks)
    if changed is not None:
        spoken.append(changed)
    if desk.customer.out_of_patience(desk.clock.ticks, pending=pending(desk)):
        spoken.append(OUT_OF_PATIENCE)
    if desk.customer.memory.ended:
        desk.state.update(*SESSION, ended=True)
        desk.run_out()
    observations += [Observation(text, Source.USER) for text in spoken]
    return tuple(observations)


def tool_answer(call: ToolCall, content: str, error: bool) -> Observation:
    """An observation that belongs to a call."""
    return Observation(
        content, Source.TOOL, valid_text(call.call_id), valid_text(call.name[:LONGEST_NAME]), error
    )


def _carried_out(
    desk: Desk, received: ToolCall, call: ToolCall, spoken: list[str]
) -> tuple[str, bool]:
    """The text of one call's observation, and whether it is an error."""
    name = call.name
    check = CHECKERS.get(name)
    if check is None:
        return (
            f"not_found: there is no tool {ascii(name)[1:-1]}; tools: "
            f"{', '.join(sorted(CHECKERS))}",
            True,
        )
    if len(received.arguments) > MAX_TEXT:
        return f"validation: arguments have more than {MAX_TEXT} characters", True
    arguments: dict[str, Any] | None = decoded(received.arguments)
    if arguments is None or received.parse_error is not None:
        return "validation: arguments are not a JSON object", True
    problem = check(arguments, "arguments")
    if problem is not None:
        return f"validation: {problem}", True
    try:
        return canonical_json(_run(desk, name, arguments, spoken)).decode(), False
    except DeskError as error:
        return str(error), True


def _run(desk: Desk, name: str, arguments: dict[str, Any], spoken: list[str]) -> dict[str, Any]:
    if name not in TALKS:
        desk.stumble(name, arguments)
    if name in READS:
        return READS[name](desk, arguments)
    if name in WRITES:
        desk.race(arguments)
        result = WRITES[name](desk, arguments)
        if name != "add_note":
            desk.confirmed(False)
        desk.customer.saw_write(_RECEIPTS[name])
        return result
    result, utterance = TALKS[name](desk, arguments)
    if utterance is not None:
        spoken.append(utterance)
    return result
