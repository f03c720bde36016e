"""Modes about what one makes sure of first: FM-2.2 does not ask, FM-3.2 does not look, FM-3.3 looks
and gets it wrong.
"""

import re
from random import Random

from synth.schemas.environment import AgentTurn
from synth.schemas.trajectory import ToolCall, Turn
from synth.synthesizers.failures.ending import closing
from synth.synthesizers.failures.mistake import Mistake, with_call
from synth.synthesizers.failures.site import InjectionPoint, answered_by_user, written

VERIFYING_VERBS = frozenset(["verify", "validate", "confirm", "check", "test", "authenticate"])
_ASKING = re.compile(r"\?\s*$")
_VALUE = re.compile(r"(?<![\w.-])[$€£]?(?=[A-Za-z-]*\d)[A-Za-z]*[\d-][\w.,:-]*\w")
"""An amount, date, number or identifier in a text."""


def no_question(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-2.2: in place of a question to the user, the next write at once; what was not known is
    guessed among what was seen.
    """
    if not _asks(site, site.turn):
        return None
    return _next_write(site, random, "without asking")


def no_look(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-3.2: in place of looking something up or verifying it, the next write or statement at
    once.
    """
    calls = site.turn.tool_calls
    if (
        not calls
        or answered_by_user(site.turn)
        or any(site.changes(call) or site.talks(call) or call.parse_error for call in calls)
    ):
        return None
    return _next_write(site, random, f"without {calls[0].name}")


def wrong_look(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-3.3: tells a value that was seen elsewhere, verifies by a wrong one, or confirms at the
    end what was told before, wrongly.
    """
    if site.turn is closing(site.twin):
        return _confirmed_wrongly(site, random)
    for call in (
        call for call in site.turn.tool_calls if call.parse_error is None and not site.changes(call)
    ):
        if site.talks(call) and not _asks(site, site.turn):
            for text in site.texts(call):
                told = _misquoted(site, str(text.value), random)
                if told is not None:
                    return with_call(
                        site.turn,
                        call,
                        site.changed(call, text, told[0]),
                        f"tells {told[2]} where {told[1]} was seen",
                    )
        elif call.name.split("_")[0].lower() in VERIFYING_VERBS:
            found = site.choices((call,))
            if found:
                _, argument, value = random.choice(found)
                what = (
                    f"verifies {argument.path} {written(value)} in place of "
                    f"{written(argument.value)}"
                )
                return with_call(site.turn, call, site.changed(call, argument, value), what)
    if site.turn.content and not _asks(site, site.turn):
        told = _misquoted(site, site.turn.content, random)
        if told is not None:
            return Mistake(
                AgentTurn(told[0], site.turn.tool_calls),
                f"tells {told[2]} where {told[1]} was seen",
            )
    return None


def _confirmed_wrongly(site: InjectionPoint, random: Random) -> Mistake | None:
    """The last message says a former one again, with another value in it."""
    told = [
        t
        for turn in site.before
        if not _asks(site, turn)
        for c in turn.tool_calls
        if site.talks(c)
        for t in site.texts(c)
    ]
    wrongs = [
        found for text in told if (found := _misquoted(site, str(text.value), random)) is not None
    ]
    last = [(call, text) for call in site.turn.tool_calls for text in site.texts(call)]
    if not wrongs or not last:
        return None
    (said, right, wrong), (call, text) = random.choice(wrongs), last[0]
    return with_call(
        site.turn,
        call,
        site.changed(call, text, said),
        f"confirms {wrong} at the end where {right} was seen",
    )


def _asks(site: InjectionPoint, turn: Turn) -> bool:
    """A turn that only asks a user, and was answered."""
    if not answered_by_user(turn):
        return False
    said = [
        turn.content or "",
        *(str(text.value) for call in turn.tool_calls for text in site.texts(call)),
    ]
    only_talk = all(site.talks(call) for call in turn.tool_calls)
    return only_talk and (
        any(_ASKING.search(text) for text in said)
        or any(c.name.lower().startswith("ask") for c in turn.tool_calls)
    )


def _next_write(site: InjectionPoint, random: Random, without: str) -> Mistake | None:
    for turn in site.after:
        calls = site.writes(turn)
        if calls:
            guesses = [_guessed(site, call, random) for call in calls]
            done = [call for call in guesses if call is not None]
            if len(done) < len(calls):
                return None
            return Mistake(
                AgentTurn(tool_calls=tuple(done)),
                f"does {', '.join(call.name for call in done)} of turn {turn.index} {without}",
            )
    return None


def _guessed(site: InjectionPoint, call: ToolCall, random: Random) -> ToolCall | None:
    """The call as it could be made now; None where something that is not known yet cannot be
    guessed.
    """
    for argument in site.names(call):
        if not (
            site.seen(argument.value)
            or argument.schema.get("enum")
            or isinstance(argument.value, int | float)
        ):
            others = site.others(argument)
            if not others:
                return None
            call = site.changed(call, argument, random.choice(others))
    return site.fresh(call)


def _misquoted(site: InjectionPoint, text: str, random: Random) -> tuple[str, str, str] | None:
    """The text with one value exchanged for another of the same shape that was seen, else of
    another digit; (text, right, wrong).

    Amounts and dates come before identifiers: who takes an identifier for another only names
    something else.
    """
    known = [
        match
        for match in _VALUE.finditer(text)
        if site.seen(match[0].lstrip("$€£").removesuffix(".00"))
    ]
    if not known:
        return None
    amounts = [match for match in known if not any(character.isalpha() for character in match[0])]
    match = random.choice(amounts or known)
    right = match[0]
    alike = dict.fromkeys(
        m
        for m in _VALUE.findall(_shown(site))
        if _shape(m) == _shape(right) and m.casefold() != right.casefold()
    )
    wrong = random.choice([*alike]) if alike else _other_digit(right)
    return text[: match.start()] + wrong + text[match.end() :], right, wrong


def _shown(site: InjectionPoint) -> str:
    return "\n".join(o.content for turn in site.before for o in turn.observations)


def _shape(value: str) -> str:
    return re.sub(r"[A-Za-z]+", "A", re.sub(r"\d", "9", value))


def _other_digit(value: str) -> str:
    at = next(at for at, character in enumerate(value) if character.isdigit())
    return f"{value[:at]}{(int(value[at]) + 1) % 10}{value[at + 1 :]}"
