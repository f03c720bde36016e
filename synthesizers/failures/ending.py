"""Modes about the end: FM-1.5 goes on where all is done, FM-3.1 ends while something is left."""

from random import Random

from synth.schemas.environment import AgentTurn
from synth.schemas.outcome import Termination
from synth.schemas.trajectory import Trajectory, Turn
from synth.synthesizers.failures.mistake import Mistake, instead
from synth.synthesizers.failures.site import InjectionPoint, written
from synth.text.provenance.effect import first_word

CLOSING_VERBS = frozenset(
    [
        "finish",
        "done",
        "submit",
        "end",
        "stop",
        "complete",
        "exit",
        "quit",
        "final",
        "close",
        "conclude",
        "hang",
    ]
)
"""First words of the names of tools that end an episode."""


def closing(twin: Trajectory) -> Turn | None:
    """The turn by which the agent itself ended the episode: by a tool that is there for it, or by
    speaking last.
    """
    last = twin.turns[-1] if twin.turns else None
    if last is None or twin.termination not in (
        Termination.DONE,
        Termination.AGENT_STOP,
        Termination.UNREPORTED,
    ):
        return None
    if not last.tool_calls:
        return last if last.content and twin.termination is not Termination.DONE else None
    return last if all(first_word(call.name) in CLOSING_VERBS for call in last.tool_calls) else None


def too_early(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-3.1: the twin's own last turn, with something still to be done or told."""
    last = closing(site.twin)
    if (
        last is None
        or last is site.turn
        or not any(
            site.writes(turn) or _tells(site, turn) for turn in (site.turn, *site.after[:-1])
        )
    ):
        return None
    turn = AgentTurn(last.content, tuple(site.fresh(call) for call in last.tool_calls))
    return Mistake(turn, f"ends {len(site.after)} turns before the work is done")


def too_late(site: InjectionPoint, random: Random) -> Mistake | None:
    """FM-1.5: where the twin ends, one more write: the last one on something else, or once more."""
    if site.turn is not closing(site.twin):
        return None
    writes = [call for turn in site.before for call in site.writes(turn)]
    for call in reversed(writes):
        for argument in site.names(call):
            others = site.others(argument)
            if others:
                value = random.choice(others)
                what = (
                    f"does not stop: {call.name} once more, with {argument.path} {written(value)}"
                )
                return instead(site.changed(call, argument, value), what)
    return (
        instead(site.fresh(writes[-1]), f"does not stop: {writes[-1].name} once more")
        if writes
        else None
    )


def _tells(site: InjectionPoint, turn: Turn) -> bool:
    return turn.content is not None or any(site.talks(call) for call in turn.tool_calls)
