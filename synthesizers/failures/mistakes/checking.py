"""Failure modes of skipped or wrong checks: FM-2.2 does not ask, FM-3.2 does not look, FM-3.3 looks
and gets it wrong.
"""

import re
from random import Random

from synth.schemas import AgentTurn, Source, ToolCall, Turn
from synth.synthesizers.failures.mistakes.point import InjectionPoint, Mistake, closing

VERIFYING_VERBS = frozenset(["verify", "validate", "confirm", "check", "test", "authenticate"])
_ASKING = re.compile(r"\?\s*$")
_VALUE = re.compile(r"(?<![\w.-])[$€£]?(?=[A-Za-z-]*\d)[A-Za-z]*[\d-][\w.,:-]*\w")
"""An amount, date, number or identifier in a text."""


def no_question(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-2.2: makes the next write at once in place of a question to the user, and guesses unknown
    values among those that were seen.
    """
    return (
        _next_write(
            site,
            random,
            "without asking",
        )
        if _asks(site, site.turn)
        else None
    )


def no_look(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-3.2: makes the next write or statement at once in place of a look-up or a verification."""
    calls = site.turn.tool_calls
    does = any(site.changes(call) or site.talks(call) or call.parse_error for call in calls)

    if not calls or does or _answered_by_user(site.turn):
        return None

    return _next_write(site, random, f"without {calls[0].name}")


def wrong_look(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-3.3: reports a value that was seen elsewhere, verifies by a wrong one, or confirms at the
    end a wrong form of an earlier statement.
    """

    if site.turn is closing(site.twin):
        return _confirmed_wrongly(site, random)

    asks = _asks(site, site.turn)

    for call in site.turn.tool_calls:
        if call.parse_error is not None or site.changes(call):
            continue
        if site.talks(call) and not asks:
            for text in site.texts(call):
                told = _misquoted(site, str(text.value), random)
                if told is not None:
                    said, what = told
                    return site.mistaken(random, [(call, text, said)], f"tells {what}")
        elif call.name.split("_")[0].lower() in VERIFYING_VERBS:
            what = "verifies {path} {new} in place of {old}"
            found = site.mistaken(random, site.choices((call,)), what)

            if found is not None:
                return found

    told = None if asks else _misquoted(site, site.turn.content or "", random)

    if told is None:
        return None

    return Mistake(AgentTurn(told[0], site.turn.tool_calls), f"tells {told[1]}")


def _confirmed_wrongly(site: InjectionPoint, random: Random) -> Mistake | None:
    """Repeats an earlier message at the end, with another value in it."""
    told = [
        str(text.value)
        for turn in site.before
        if not _asks(site, turn)
        for call in turn.tool_calls
        if site.talks(call)
        for text in site.texts(call)
    ]

    wrongs = [
        found
        for text in told
        if (
            found := _misquoted(
                site,
                text,
                random,
            )
        )
        is not None
    ]
    last = [(call, text) for call in site.turn.tool_calls for text in site.texts(call)]

    if not wrongs or not last:
        return None

    said, what = random.choice(wrongs)
    what = what.replace(" where ", " at the end where ")

    return site.mistaken(random, [(*last[0], said)], f"confirms {what}")


def _asks(site: InjectionPoint, turn: Turn) -> bool:
    """Whether a turn only asks a user, and was answered."""
    calls = turn.tool_calls

    if not _answered_by_user(turn) or not all(map(site.talks, calls)):
        return False

    by_name = any(call.name.lower().startswith("ask") for call in calls)

    return by_name or any(map(_ASKING.search, [turn.content or "", *site.said(turn)]))


def _answered_by_user(turn: Turn) -> bool:
    """Whether a user answered the turn."""
    return any(seen.source is Source.USER for seen in turn.observations)


def _next_write(
    site: InjectionPoint,
    random: Random,
    without: str,
) -> Mistake | None:
    """Makes the next write of the twin at once, with unknown values guessed."""
    writing = next((turn for turn in site.after if site.writes(turn)), None)

    if writing is None:
        return None

    made = list[ToolCall]()

    for call in site.writes(writing):
        for argument in site.names(call):
            number = isinstance(argument.value, int | float)
            if not (site.seen(argument.value) or argument.schema.get("enum") or number):
                others = site.others(argument)
                # an unknown value that cannot be guessed
                if not others:
                    return None

                call = site.changed(call, argument, random.choice(others))

        made.append(site.fresh(call))

    names = ", ".join(call.name for call in made)
    what = f"does {names} of turn {writing.index} {without}"

    return Mistake(AgentTurn(tool_calls=tuple(made)), what)


def _misquoted(
    site: InjectionPoint,
    text: str,
    random: Random,
) -> tuple[str, str] | None:
    """(text, what): replaces one value by another of the same shape that was seen, else by one with
    another digit.

    Amounts and dates come before identifiers: with a wrong identifier the agent only names
    something else.
    """

    known = [
        match
        for match in _VALUE.finditer(text)
        if site.seen(match[0].lstrip("$€£").removesuffix(".00"))
    ]

    if not known:
        return None

    amounts = [match for match in known if not any(map(str.isalpha, match[0]))]
    match = random.choice(amounts or known)
    right = match[0]
    shown = "\n".join(seen.content for turn in site.before for seen in turn.observations)
    alike = [
        value
        for value in dict.fromkeys(_VALUE.findall(shown))
        if _shape(value) == _shape(right) and value.casefold() != right.casefold()
    ]

    wrong = random.choice(alike) if alike else _other_digit(right)
    said = text[: match.start()] + wrong + text[match.end() :]

    return said, f"{wrong} where {right} was seen"


def _other_digit(value: str) -> str:
    """The value with its first digit raised by one."""
    at = next(at for at, character in enumerate(value) if character.isdigit())
    return f"{value[:at]}{(int(value[at]) + 1) % 10}{value[at + 1 :]}"


def _shape(value: str) -> str:
    """A value with letters and digits masked."""
    return re.sub(r"[A-Za-z]+", "A", re.sub(r"\d", "9", value))
