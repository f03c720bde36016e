"""What the graph of a task says about one of its trials: efficiency, strategy, excursions that it
came back from.
"""

import re
from collections.abc import Callable, Sequence

import msgspec

from synth.schemas.trajectory import Source, Trajectory, Turn
from synth.topology.keys import TurnKeys
from synth.topology.potential import Potential

DROP, RETURN, SUPPORT = 0.25, 0.05, 2
_CORRECTION = re.compile(
    r"\b(?:my mistake|i was wrong|that was wrong|i made an? "
    r"(?:error|mistake)|correction|apologi[sz]e for|instead of"
    r"|let me (?:fix|correct|undo|recheck))\b",
    re.IGNORECASE,
)
"""How a turn states a correction of its own."""


class Excursion(msgspec.Struct, frozen=True):
    """From the first turn of a fall of potential to the return; `back` is None where it never came
    back. `diagnosed` says how it was
    mended: re_read, undo or stated; empty for none of them (a blind retry).
    """

    turn: int
    back: int | None
    diagnosed: tuple[str, ...] = ()


def efficiency(turns: int, donors: Sequence[int]) -> float | None:
    """min(1, L* / turns): L* = fewest agent turns among the other successes of the task that met
    its process constraints (`donors`).

    None without such a success. Shortest paths of the graph are no yardstick: they splice trials
    together (rigor.md 8.3).
    """
    return min(1.0, min(donors) / turns) if donors and turns else None


def process_kept(trajectory: Trajectory) -> bool:
    """Whether the check found no process constraint broken; true where it has no such part."""
    parts = trajectory.check_result.parts if trajectory.check_result is not None else ()
    return all(part.passed for part in parts if part.name == "process")


def agent_turns(trajectory: Trajectory) -> int:
    """Turns that the agent took; a canned greeting is none."""
    return sum(turn.sampled_by != "canned" for turn in trajectory.turns)


def strategy(
    trajectory: Trajectory, effectful: Callable[[str], bool]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The signature of a strategy: effectful calls in order, and the tools that only read, sorted.
    Failed calls are neither.
    """
    writes: list[str] = []
    reads: set[str] = set()
    for turn in trajectory.turns:
        failed = {o.call_id for o in turn.observations if o.error}
        for call in turn.tool_calls:
            if call.call_id in failed:
                continue
            if effectful(call.name):
                writes.append(call.name)
            else:
                reads.add(call.name)
    return tuple(writes), tuple(sorted(reads))


def excursions(
    trajectory: Trajectory,
    keys: Sequence[TurnKeys],
    potential: Potential,
    effectful: Callable[[str], bool],
) -> list[Excursion]:
    """Falls of at least `DROP` below the highest potential so far, each up to the first return to
    within `RETURN` of it.

    Only turns that `SUPPORT` donors came by are looked at. Drop and return are correlation: whether
    the agent recovered is `recovered`.
    """
    turns = [turn for turn in trajectory.turns if turn.sampled_by != "canned"]
    known = [
        (at, value)
        for at, (value, n) in enumerate(zip(potential.by_turn, potential.support, strict=True))
        if value is not None and n >= SUPPORT
    ]
    found: list[Excursion] = []
    highest, began = 0.0, None
    for at, value in known:
        if began is None and value <= highest - DROP:
            began = at
        elif began is not None and value >= highest - RETURN:
            found.append(Excursion(began, at, _diagnosed(turns, keys, began, at, effectful)))
            began = None
        if began is None:
            highest = max(highest, value)
    return [*found, Excursion(began, None)] if began is not None else found


def recovered(trajectory: Trajectory, found: Sequence[Excursion]) -> bool:
    """Whether the check passed after an excursion that the agent came back from knowingly: blind
    retries do not count.
    """
    return trajectory.outcome == "success" and any(
        excursion.back is not None and excursion.diagnosed for excursion in found
    )


def _diagnosed(
    turns: Sequence[Turn],
    keys: Sequence[TurnKeys],
    began: int,
    back: int,
    effectful: Callable[[str], bool],
) -> tuple[str, ...]:
    """How the turns after the fall, up to the return, looked at what had gone wrong."""
    ways: dict[str, None] = {}
    before = {keys[at].action for at in range(began + 1) if _reads(turns[at], effectful)}
    states = {keys[at].state for at in range(began)}
    for at in range(began + 1, back + 1):
        if keys[at].action in before:
            ways["re_read"] = None
        if keys[at].state in states and keys[at].state != keys[at - 1].state:
            ways["undo"] = None
        if turns[at].content and _CORRECTION.search(str(turns[at].content)):
            ways["stated"] = None
    return tuple(ways)


def _reads(turn: Turn, effectful: Callable[[str], bool]) -> bool:
    answered = any(o.source is Source.TOOL for o in turn.observations)
    return (
        answered
        and bool(turn.tool_calls)
        and not any(effectful(call.name) for call in turn.tool_calls)
    )
