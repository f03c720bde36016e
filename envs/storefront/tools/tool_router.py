"""Answers one turn of the agent: its calls in order, then what the customer says."""

from synth.envs.storefront.customer.customer import OUT_OF_PATIENCE
from synth.envs.storefront.customer.script import KIND_OF
from synth.envs.storefront.tools.arguments import MAX_TEXT
from synth.envs.storefront.tools.read import READS
from synth.envs.storefront.tools.schemas import CHECKERS
from synth.envs.storefront.tools.shop import DeskError, Shop
from synth.envs.storefront.tools.talk import TALKS
from synth.envs.storefront.tools.transcript import LONGEST_NAME, MAX_CALLS, decoded
from synth.envs.storefront.tools.write import WRITES
from synth.envs.storefront.world.views import Shown
from synth.envs.storefront.world.world import SESSION
from synth.schemas.canonical import canonical_json, valid_text
from synth.schemas.environment import AgentTurn
from synth.schemas.trajectory import Observation, Source, ToolCall

_OVER = "the conversation has ended"
ENDED = f"conflict: {_OVER}"
_SILENT = "validation: the turn is empty; say something or call a tool"
_TOO_LONG = f"validation: the text is longer than {MAX_TEXT} characters and was not delivered"


def answers(shop: Shop, turn: AgentTurn, taken: AgentTurn) -> tuple[Observation, ...]:
    """Carries a turn out; `taken` is its legible form."""
    if shop.elapsed.memory.ended:
        ended = tuple(tool_answer(call, ENDED, error=True) for call in turn.tool_calls)

        return ended or (Observation(ENDED, Source.ENVIRONMENT, error=True),)

    shop.tick()
    observations: list[Observation] = []
    spoken: list[str | None] = []

    if turn.content is not None and len(turn.content) > MAX_TEXT:
        observations.append(Observation(_TOO_LONG, Source.ENVIRONMENT, error=True))
    elif not turn.tool_calls and not (taken.content and taken.content.strip()):
        observations.append(Observation(_SILENT, Source.ENVIRONMENT, error=True))
    elif not turn.tool_calls:
        spoken.append(shop.customer.heard())

    for at, call in enumerate(turn.tool_calls):
        try:
            if at >= MAX_CALLS:
                raise DeskError(
                    "validation",
                    f"at most {MAX_CALLS} calls are carried out in one turn",
                )

            result = _carried_out(shop, call, taken.tool_calls[at].name, spoken)
            observations.append(tool_answer(call, canonical_json(result).decode(), error=False))
        except DeskError as error:
            observations.append(tool_answer(call, str(error), error=True))

    # after the calls: what they answered was seen before
    spoken.append(shop.customer.interrupts(shop.elapsed.ticks))

    if shop.customer.out_of_patience(shop.elapsed.ticks, pending=shop.pending):
        spoken.append(OUT_OF_PATIENCE)

    if shop.elapsed.memory.ended:
        shop.state.update(*SESSION, ended=True)
        # the shop goes on after the conversation, so that the end does not depend on its length
        shop.run_out()

    return (
        *observations,
        *(Observation(text, Source.USER) for text in spoken if text is not None),
    )


def tool_answer(call: ToolCall, content: str, *, error: bool) -> Observation:
    """An observation that belongs to a call."""
    call_id = valid_text(call.call_id)
    name = valid_text(call.name[:LONGEST_NAME])

    return Observation(content, Source.TOOL, call_id, name, error)


def _carried_out(shop: Shop, call: ToolCall, name: str, spoken: list[str | None]) -> Shown:
    """The result of one call; what the customer says to it is added to `spoken`.

    Raises `DeskError` for a call that is wrong, unlucky, or refused.
    """
    if shop.elapsed.memory.ended:
        raise DeskError("conflict", _OVER)

    check = CHECKERS.get(name)

    if check is None:
        known = ", ".join(sorted(CHECKERS))

        raise DeskError(
            "not_found",
            f"there is no tool {ascii(name)[1:-1]}; tools: {known}",
        )

    if len(call.arguments) > MAX_TEXT:
        raise DeskError(
            "validation",
            f"arguments have more than {MAX_TEXT} characters",
        )

    arguments = decoded(call.arguments)

    if arguments is None or call.parse_error is not None:
        raise DeskError("validation", "arguments are not a JSON object")

    problem = check(arguments, "arguments")

    if problem is not None:
        raise DeskError("validation", problem)

    if name in TALKS:
        # no tool reads what is said in words
        arguments.pop("message", None)
        result, line = TALKS[name](shop, **arguments)
        spoken.append(line)

        return result

    # only what is well-formed can be unlucky
    shop.stumble(name, arguments)

    if name in READS:
        return READS[name](shop, **arguments)

    shop.race(arguments)
    result = WRITES[name](shop, **arguments)

    if name != "add_note":
        # a yes is used up by the next write, whatever it was for
        shop.confirmed(False)

    shop.customer.saw_write(KIND_OF[name])

    return result
