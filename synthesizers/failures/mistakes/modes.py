"""One rule per failure mode of a single agent; each builds the turn that replaces a clean one:
modes that act on another value, redo earlier work, or end at another time.
"""

from collections.abc import Mapping
from random import Random

from synth.schemas import AgentTurn, Turn
from synth.synthesizers.failures.mistakes.checking import no_look, no_question, wrong_look
from synth.synthesizers.failures.mistakes.point import InjectionPoint, Mistake, Rule, closing
from synth.synthesizers.failures.mistakes.transcript import written
from synth.text.provenance.arguments import Argument

FAR_BACK = 3
"""So many turns ago, an answer is no longer recent."""


def disobedience(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-1.1: writes another entity, amount or option than the task demands; one that was seen, or
    that the tool names.
    """
    choices = site.choices(site.writes(site.turn))

    return site.mistaken(
        random,
        choices,
        "{path} of {tool} is {new} where the task asks for {old}",
    )


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
    what = f"does {call.name} of turn {turn.index} again"

    return Mistake(AgentTurn(tool_calls=(site.fresh(call),)), what)


def forgetting(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-1.4: writes a value that was seen before the latest one; without such a value, asks a
    question of long ago again.
    """

    def place(value: object) -> int:
        return site.heard.find(written(value).casefold())

    for call in site.writes(site.turn):
        for argument in site.names(call):
            now = site.heard.rfind(written(argument.value).casefold())
            older = [value for value in site.others(argument) if 0 <= place(value) < now]

            if older:
                choices = [(call, argument, value) for value in older[:2]]
                what = "{path} of {tool} goes back to {new}, the state before {old}"

                return site.mistaken(random, choices, what)

    old = [
        turn
        for turn in site.before
        if site.index - turn.index >= FAR_BACK and turn.tool_calls and not site.writes(turn)
    ]

    if not old:
        return None

    turn = random.choice(old)

    return site.again(turn, f"asks again what turn {turn.index} had been answered")


def too_late(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-1.5: writes once more where the twin ends: the last write on something else, or the same
    again.
    """

    writes = [call for turn in site.before for call in site.writes(turn)]

    if site.turn is not closing(site.twin) or not writes:
        return None

    for call in reversed(writes):
        for argument in site.names(call):
            choices = [(call, argument, value) for value in site.others(argument)]
            what = "does not stop: {tool} once more, with {path} {new}"
            found = site.mistaken(random, choices, what, alone=True)

            if found is not None:
                return found

    what = f"does not stop: {writes[-1].name} once more"

    return Mistake(AgentTurn(tool_calls=(site.fresh(writes[-1]),)), what)


def reset(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-2.1: repeats the first turn."""
    if site.index < 2 or not site.before or site.before[0].index >= site.index - 1:
        return None

    first = site.before[0]

    if not (first.tool_calls or (first.content or "").strip()):
        return None

    return site.again(first, f"begins again with turn {first.index}")


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
        text = written(value).casefold()
        return not argument.schema.get("enum") and text not in touched and text not in goal

    offered = (turn.tool_calls for turn in site.affordances)
    possible = [
        alone[0]
        for alone in offered
        if len(alone) == 1 and any(strays(one, one.value) for one in site.names(alone[0]))
    ]

    if not possible:
        so_far = (call for turn in site.twin.turns[: site.index + 1] for call in turn.tool_calls)
        readable = [call for call in so_far if call.parse_error is None and not site.talks(call)]
        possible = [
            site.changed(call, argument, value)
            for call, argument, value in site.choices(readable)
            if strays(argument, value)
        ]

    drawn = [call for call in possible if site.changes(call)] or possible
    if not drawn:
        return None

    call = site.fresh(random.choice(drawn))
    what = f"leaves the goal: {call.name} {call.arguments}"

    return Mistake(AgentTurn(tool_calls=(call,)), what)


def mismatch(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-2.6: writes another value than the one that the agent has just named or thought of."""
    last = site.before[-1:]
    words = [text for turn in (site.turn, *last) for text in (turn.thought, turn.content)]
    words += [text for turn in last for text in site.said(turn)]
    said = "\n".join(text or "" for text in words).casefold()

    def named(value: object) -> bool:
        """Whether the agent named a value, or an option spelt with blanks."""
        text = written(value).casefold()
        return len(text) > 1 and (text in said or text.replace("_", " ") in said)

    choices = site.choices(site.writes(site.turn))
    against = [one for one in choices if named(one[1].value) and not named(one[2])]
    found = site.mistaken(
        random,
        against,
        "says {old} and does {tool} with {path} {new}",
    )

    if found is None:
        return None

    # what it says stays, since the act goes against that
    turn = AgentTurn(site.turn.content, found.turn.tool_calls, site.turn.thought)

    return Mistake(turn, found.what)


def too_early(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-3.1: ends with the twin's own last turn while something is still to be done or
    reported.
    """

    def writes_or_tells(turn: Turn) -> bool:
        tells = turn.content is not None or any(map(site.talks, turn.tool_calls))
        return tells or bool(site.writes(turn))

    last = closing(site.twin)

    if last is None or last is site.turn:
        return None

    if not any(map(writes_or_tells, (site.turn, *site.after[:-1]))):
        return None

    return site.again(last, f"ends {len(site.after)} turns before the work is done")


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
