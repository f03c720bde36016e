"""Modes that redo what was done or return to what was: FM-1.3, FM-1.4, FM-2.1."""

from random import Random

from synth.schemas.environment import AgentTurn
from synth.schemas.trajectory import ToolCall, Turn
from synth.synthesizers.failures.mistake import Mistake, instead, with_call
from synth.synthesizers.failures.site import InjectionPoint, written

FAR_BACK = 3
"""Turns after which an answer counts as no longer recent."""


def repetition(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-1.3: does a write of before once more, the last the likeliest."""
    done = [
        (turn, call)
        for turn in site.before
        for call in site.writes(turn)
        if not _refused(turn, call)
    ]
    if not done:
        return None
    turn, call = random.choices(
        done, [2**at for at in range(len(done))] if len(done) < 20 else None
    )[0]
    return instead(site.fresh(call), f"does {call.name} of turn {turn.index} again")


def forgetting(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-1.4: a write takes a value that was there before the one that came up last; without one, a
    question of long ago is asked again.
    """
    for call in site.writes(site.turn):
        for argument in site.names(call):
            older = [
                value
                for value in site.others(argument)
                if _stood_before(site, value, argument.value)
            ]
            if older:
                value = random.choice(older[:2])
                what = (
                    f"{argument.path} of {call.name} goes back to {written(value)}, the state "
                    f"before {written(argument.value)}"
                )
                return with_call(site.turn, call, site.changed(call, argument, value), what)
    old = [
        turn
        for turn in site.before
        if site.index - turn.index >= FAR_BACK and turn.tool_calls and not site.writes(turn)
    ]
    if not old:
        return None
    turn = random.choice(old)
    return Mistake(_again(site, turn), f"asks again what turn {turn.index} had been answered")


def reset(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-2.1: begins again with the first turn."""
    if site.index < 2 or not site.before or site.before[0].index >= site.index - 1:
        return None
    first = site.before[0]
    if not (first.tool_calls or (first.content or "").strip()):
        return None
    return Mistake(_again(site, first), f"begins again with turn {first.index}")


def _again(site: InjectionPoint, turn: Turn) -> AgentTurn:
    return AgentTurn(turn.content, tuple(site.fresh(call) for call in turn.tool_calls))


def _refused(turn: Turn, call: ToolCall) -> bool:
    return any(o.error for o in turn.observations if o.call_id in (None, call.call_id))


def _stood_before(site: InjectionPoint, value: object, now: object) -> bool:
    """Whether a value came up in what was shown earlier than another one did."""
    first = site.heard.find(written(value).casefold())  # type: ignore[arg-type]
    last = site.heard.rfind(written(now).casefold())  # type: ignore[arg-type]
    return 0 <= first < last
