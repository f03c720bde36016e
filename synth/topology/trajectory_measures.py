"""What the graph of a task says about one of its trials: efficiency, strategy, excursions that it
came back from.
"""

import re
from collections.abc import Callable, Sequence

import msgspec

from synth.schemas import SampledBy, Source, Trajectory, Turn
from synth.text.provenance.effect import effectful_by_name
from synth.topology.keys import TurnKeys
from synth.topology.potential import Potential

DROP, RETURN, SUPPORT = 0.25, 0.05, 2
"""How far a potential must fall, how near it must come back, and how many donors must have come by.
"""
_CORRECTION = re.compile(
    r"\b(?:my mistake|i was wrong|that was wrong|i made an? "
    r"(?:error|mistake)|correction|apologi[sz]e for|instead of"
    r"|let me (?:fix|correct|undo|recheck))\b",
    re.IGNORECASE,
)
"""How a turn states a correction of its own."""


class Excursion(msgspec.Struct, frozen=True):
    """From the first turn of a fall of potential to the return; `back` is None where it never came
    back. `diagnosed` says how it was mended: re_read, undo or stated; empty for none of them (a
    blind retry).
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
    return sum(turn.sampled_by is not SampledBy.CANNED for turn in trajectory.turns)


def strategy(
    trajectory: Trajectory, effectful: Callable[[str], bool]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The signature of a strategy: effectful calls in order, and the tools that only read, sorted.
    Failed calls are neither.
    """
    done: list[str] = []
    for turn in trajectory.turns:
        failed = {o.call_id for o in turn.observations if o.error}
        done += [call.name for call in turn.tool_calls if call.call_id not in failed]

    reads = {name for name in done if not effectful(name)}
    return tuple(name for name in done if name not in reads), tuple(sorted(reads))


def excursions(keys: Sequence[TurnKeys], potential: Potential) -> list[Excursion]:
    """Falls of at least `DROP` below the highest potential so far, each up to the first return to
    within `RETURN` of it.

    Only turns that `SUPPORT` donors came by are looked at. Drop and return are correlation: whether
    the agent recovered is `recovered`.
    """
    found: list[Excursion] = []
    highest, began = 0.0, None

    for at, (value, n) in enumerate(zip(potential.by_turn, potential.support, strict=True)):
        if value is None or n < SUPPORT:
            continue

        # a fall is measured from the highest so far, not from the turn before
        if began is None and value <= highest - DROP:
            began = at
        elif began is not None and value >= highest - RETURN:
            found.append(Excursion(began, at, _diagnosed(keys, began, at)))
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


def _diagnosed(keys: Sequence[TurnKeys], began: int, back: int) -> tuple[str, ...]:
    """How the turns after the fall, up to the return, looked at what had gone wrong.

    re_read: what was read before the fall is read again. undo: the state is one from before the
    fall. stated: a turn says that something was wrong. In the order in which they come.
    """
    ways: dict[str, None] = {}
    reads = {key.action for key in keys[: began + 1] if _reads(key.taken)}
    states = {key.state for key in keys[:began]}

    for at in range(began + 1, back + 1):
        key = keys[at]
        if key.action in reads:
            ways["re_read"] = None

        if key.state in states and key.state != keys[at - 1].state:
            ways["undo"] = None

        if _CORRECTION.search(key.taken.content or ""):
            ways["stated"] = None

    return tuple(ways)


def _reads(turn: Turn) -> bool:
    names = [call.name for call in turn.tool_calls]
    answered = any(o.source is Source.TOOL for o in turn.observations)
    return answered and bool(names) and not any(map(effectful_by_name, names))
