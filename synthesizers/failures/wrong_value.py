"""Modes that act on another value: FM-1.1 against the task, FM-2.3 off the goal, FM-2.6 against
one's own words.
"""

from random import Random

from synth.schemas.check import Scalar
from synth.synthesizers.failures.mistake import Mistake, instead, with_call
from synth.synthesizers.failures.site import InjectionPoint, written
from synth.text.provenance.arguments import Argument


def disobedience(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-1.1: a write on another entity, amount or option than the task constrains it to; one that
    was seen, or that the tool names.
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


def derailment(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-2.3: does something to what the goal does not name and the clean run never touches.

    Where the world says what could be done: one of those; else a call of the twin on an entity that
    it has seen and not used.
    """
    touched = {
        written(a.value).casefold()
        for turn in site.twin.turns
        for call in turn.tool_calls
        for a in site.names(call)
    }
    goal = "\n".join(o.content for o in site.twin.opening).casefold()
    possible = [
        (site.changes(call), call)
        for turn in site.affordances
        for call in turn.tool_calls[:1]
        if len(turn.tool_calls) == 1
        and (named := site.names(call))
        and _strays(named, touched, goal)
    ]
    if not possible:
        possible = [
            (site.changes(call), site.changed(call, argument, value))
            for turn in site.twin.turns[: site.index + 1]
            for call, argument, value in site.choices(
                [c for c in turn.tool_calls if c.parse_error is None and not site.talks(c)]
            )
            if not argument.schema.get("enum")
            and not {written(value).casefold()} & touched
            and written(value).casefold() not in goal
        ]
    writes = [call for writing, call in possible if writing]
    drawn = writes or [call for _, call in possible]
    if not drawn:
        return None
    call = site.fresh(random.choice(drawn))
    return instead(call, f"leaves the goal: {call.name} {call.arguments}")


def mismatch(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-2.6: a write on another value than the agent has just said or thought it would act on."""
    said = "\n".join(
        [site.turn.thought or "", site.turn.content or "", *_last_words(site)]
    ).casefold()
    choices = [
        (call, argument, value)
        for call, argument, value in site.choices(site.writes(site.turn))
        if _names(said, argument.value) and not _names(said, value)
    ]
    if not choices:
        return None
    call, argument, value = random.choice(choices)
    what = (
        f"says {written(argument.value)} and does {call.name} with {argument.path} {written(value)}"
    )
    return with_call(site.turn, call, site.changed(call, argument, value), what, words=True)


def _strays(named: list[Argument], touched: set[str], goal: str) -> bool:
    """Whether a call names something that neither goal nor clean run does, by an argument that
    could be anything.
    """
    free = [written(a.value).casefold() for a in named if not a.schema.get("enum")]
    return any(value not in touched and value not in goal for value in free)


def _last_words(site: InjectionPoint) -> list[str]:
    """What the agent wrote in the turn before."""
    if not site.before:
        return []
    last = site.before[-1]
    return [
        last.thought or "",
        last.content or "",
        *(str(text.value) for call in last.tool_calls for text in site.texts(call)),
    ]


def _names(said: str, value: Scalar) -> bool:
    """A value, or an option spelt with blanks, in a text."""
    text = written(value).casefold()
    return len(text) > 1 and (text in said or text.replace("_", " ") in said)
