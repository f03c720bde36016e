"""One rule per failure mode of a single agent; each builds the turn that replaces a clean one:
modes that act on another value, redo earlier work, or end at another time.
"""

from collections.abc import Mapping
from random import Random

from synth.schemas.environment import AgentTurn
from synth.schemas.trajectory import Turn
from synth.synthesizers.failures.mistakes.checking import no_look, no_question, wrong_look
from synth.synthesizers.failures.mistakes.point import (
    InjectionPoint,
    Mistake,
    Rule,
    closing,
    instead,
    with_call,
)
from synth.synthesizers.failures.mistakes.transcript import written
from synth.text.provenance.arguments import Argument

FAR_BACK = 3
"""So many turns ago, an answer is no longer recent."""


def disobedience(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-1.1: writes another entity, amount or option than the task demands; one that was seen, or
    that the tool names.
    """

    choices = site.choices(site.writes(site.turn))
    if not choices:
        return None

    call, argument, value = random.choice(choices)
    what = (
        f"{argument.path} of {call.name} is {written(value)} where the task asks for "
        f"{written(argument.value)}"
    )
    return with_call(site.turn, call, site.changed(call, argument, value), what)


def repetition(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-1.3: repeats an earlier write, most likely the last one."""
    done = [
        (turn, call)
        for turn in site.before
        for call in site.writes(turn)
        if not any(o.error for o in turn.observations if o.call_id in (None, call.call_id))
    ]
    if not done:
        return None

    # among very many writes all are alike: the weights would grow without bound
    odds = [2**at for at in range(len(done))] if len(done) < 20 else None
    turn, call = random.choices(done, odds)[0]
    return instead(
        site.fresh(call),
        f"does {call.name} of turn {turn.index} again",
    )


def forgetting(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-1.4: writes a value that was seen before the latest one; without such a value, asks a
    question of long ago again.
    """

    for call in site.writes(site.turn):
        for argument in site.names(call):
            now = site.heard.rfind(written(argument.value).casefold())
            first = {one: site.heard.find(written(one).casefold()) for one in site.others(argument)}
            older = [value for value, at in first.items() if 0 <= at < now]
            if older:
                value = random.choice(older[:2])
                what = (
                    f"{argument.path} of {call.name} goes back to {written(value)}, the state "
                    f"before {written(argument.value)}"
                )
                return with_call(
                    site.turn,
                    call,
                    site.changed(call, argument, value),
                    what,
                )

    old = [
        turn
        for turn in site.before
        if site.index - turn.index >= FAR_BACK and turn.tool_calls and not site.writes(turn)
    ]
    if not old:
        return None

    turn = random.choice(old)
    return Mistake(
        _again(site, turn),
        f"asks again what turn {turn.index} had been answered",
    )


def too_late(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-1.5: writes once more where the twin ends: the last write on something else, or the same
    again.
    """

    writes = [call for turn in site.before for call in site.writes(turn)]
    if site.turn is not closing(site.twin) or not writes:
        return None

    for call in reversed(writes):
        for argument in site.names(call):
            others = site.others(argument)
            if others:
                value = random.choice(others)
                what = f"{call.name} once more, with {argument.path} {written(value)}"
                return instead(
                    site.changed(call, argument, value),
                    f"does not stop: {what}",
                )

    return instead(
        site.fresh(writes[-1]),
        f"does not stop: {writes[-1].name} once more",
    )


def reset(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-2.1: repeats the first turn."""
    if site.index < 2 or not site.before or site.before[0].index >= site.index - 1:
        return None
    first = site.before[0]
    if not (first.tool_calls or (first.content or "").strip()):
        return None
    return Mistake(_again(site, first), f"begins again with turn {first.index}")


def derailment(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-2.3: acts on something that the goal does not name and the clean run never touches.

    Where the environment lists possible actions, it takes one of those; else a call of the twin on
    an entity that was seen and not used.
    """

    calls = [call for turn in site.twin.turns for call in turn.tool_calls]
    touched = {written(one.value).casefold() for call in calls for one in site.names(call)}
    goal = "\n".join(seen.content for seen in site.twin.opening).casefold()

    def strays(argument: Argument, value: object) -> bool:
        """Whether neither goal nor clean run names a value that is no fixed option."""
        text = written(value).casefold()  # type: ignore[arg-type]
        return not argument.schema.get("enum") and text not in touched and text not in goal

    possible = [
        turn.tool_calls[0]
        for turn in site.affordances
        if len(turn.tool_calls) == 1
        and any(strays(one, one.value) for one in site.names(turn.tool_calls[0]))
    ]
    if not possible:
        readable = [
            call
            for turn in site.twin.turns[: site.index + 1]
            for call in turn.tool_calls
            if call.parse_error is None and not site.talks(call)
        ]
        possible = [
            site.changed(call, argument, value)
            for call, argument, value in site.choices(readable)
            if strays(argument, value)
        ]

    drawn = [call for call in possible if site.changes(call)] or possible
    if not drawn:
        return None
    call = site.fresh(random.choice(drawn))
    return instead(call, f"leaves the goal: {call.name} {call.arguments}")


def mismatch(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-2.6: writes another value than the one that the agent has just named or thought of."""
    last = site.before[-1:]
    words = [text for turn in (site.turn, *last) for text in (turn.thought, turn.content)]
    words += [text for turn in last for text in site.said(turn)]
    said = "\n".join(text or "" for text in words).casefold()

    def named(value: object) -> bool:
        """Whether the agent named a value, or an option spelt with blanks."""
        text = written(value).casefold()  # type: ignore[arg-type]
        return len(text) > 1 and (text in said or text.replace("_", " ") in said)

    choices = [
        (call, argument, value)
        for call, argument, value in site.choices(site.writes(site.turn))
        if named(argument.value) and not named(value)
    ]
    if not choices:
        return None

    call, argument, value = random.choice(choices)
    what = f"{call.name} with {argument.path} {written(value)}"
    found = with_call(
        site.turn,
        call,
        site.changed(call, argument, value),
        f"says {written(argument.value)} and does {what}",
    )
    turn = AgentTurn(site.turn.content, found.turn.tool_calls, site.turn.thought)

    return Mistake(turn, found.what)


def too_early(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-3.1: ends with the twin's own last turn while something is still to be done or
    reported.
    """

    last = closing(site.twin)
    if last is None or last is site.turn:
        return None
    if not any(_writes_or_tells(site, turn) for turn in (site.turn, *site.after[:-1])):
        return None

    return Mistake(
        _again(site, last),
        f"ends {len(site.after)} turns before the work is done",
    )


RULES: Mapping[str, Rule] = {
    "FM-1.1": disobedience,
    "FM-1.3": repetition,
    "FM-1.4": forgetting,
    "FM-1.5": too_late,
    "FM-2.1": reset,
    "FM-2.2": no_question,
    "FM-2.3": derailment,
    "FM-2.6": mismatch,
    "FM-3.1": too_early,
    "FM-3.2": no_look,
    "FM-3.3": wrong_look,
}
"""The rule of each single-agent mode."""


def _again(site: InjectionPoint, turn: Turn) -> AgentTurn:
    """The turn once more, under new call ids."""
    return AgentTurn(
        turn.content,
        tuple(site.fresh(call) for call in turn.tool_calls),
    )


def _writes_or_tells(site: InjectionPoint, turn: Turn) -> bool:
    """Whether a turn changes something or speaks."""
    tells = turn.content is not None or any(site.talks(call) for call in turn.tool_calls)
    return tells or bool(site.writes(turn))
