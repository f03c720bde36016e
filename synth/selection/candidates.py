"""What selection needs to know of a trajectory, from the trajectory and from what was found out
about it before.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from math import inf, log
from types import MappingProxyType

from synth.loss_turns import EVIDENCE, IMPORTED, characters, turns_without_loss
from synth.schemas import Task, Trajectory, content_hash
from synth.selection.choosing import Candidate
from synth.success_evidence import SECOND_EVIDENCE, evidence
from synth.topology.trajectory_measures import strategy

TURN_BUCKETS = (4, 8, 16, 32)
_DIGITS = 13
"""Hexadecimal ones of a hash: as many as a float holds."""
_NONE: Mapping[int, str] = MappingProxyType({})
Composition = Mapping[str, Mapping[str, int]]
"""How much of a size falls to each value of each trait."""


def draw_rank(seed: int, trajectory_id: str, reward: float | None) -> float:
    """log(u) / R with u uniform in (0, 1) by the seed: in the order of these, the greatest first,
    each next one is drawn with probability R over the sum of those left (Efraimidis and Spirakis
    2006). Without a reward -inf: never before one that has some.
    """
    if reward is None or reward <= 0:
        return -inf

    # by a hash: a trial keeps its place whatever else there is
    drawn = int(content_hash(["weighted_draw", seed, trajectory_id])[:_DIGITS], 16)
    return log((drawn + 0.5) / 16**_DIGITS) / reward


def composition(parts: Iterable[tuple[Mapping[str, Hashable], int]]) -> dict[str, dict[str, int]]:
    """How much of the size falls to each value of each trait, from (traits, size)."""
    found: dict[str, Counter[str]] = {}

    for traits, size in parts:
        for trait, value in traits.items():
            found.setdefault(trait, Counter())[str(value)] += size

    return {trait: dict(sorted(counts.items())) for trait, counts in found.items()}


def share(counts: Composition, trait: str) -> str:
    """How much has a trait, in words."""
    found = counts.get(trait, {})
    total = sum(found.values())
    return f"{found.get('True', 0) / total:.0%}" if total else "nothing"


def is_candidate(trajectory: Trajectory, *, tested: bool) -> bool:
    """A success that, unless `tested` ones are taken in, was not played to test an act."""
    return trajectory.outcome == "success" and (tested or trajectory.synthesizer not in EVIDENCE)


def candidate(
    trajectory: Trajectory,
    measures: Mapping[str, float],
    effectful: Callable[[str], bool],
    masks: Mapping[int, str] = _NONE,
) -> Candidate:
    """`measures`: what earlier stages found (efficiency, waste, recovered, second_evidence), as far
    as they ran; `masks`: turns that carry no loss beside those that say so themselves.

    What has evidence is better than what has none, whatever its length: the shortest success is
    often the lucky one (rigor.md 8.3).
    """
    found = evidence(trajectory, measures.get(SECOND_EVIDENCE))
    return Candidate(
        trajectory_id=trajectory.trajectory_id,
        task_id=trajectory.task_id,
        strategy=strategy(trajectory, effectful),
        loss=loss_characters(trajectory, masks),
        rank=(float(bool(found)), -measures.get("waste", 0.0), measures.get("efficiency", 0.0)),
        evidence=found,
        recovered=measures.get("recovered", 0.0) == 1.0,
        declared=trajectory.synthesizer == IMPORTED,
    )


def loss_characters(trajectory: Trajectory, masks: Mapping[int, str] = _NONE) -> int:
    """Characters of the turns that carry loss: texts, tool names and arguments."""
    return sum(size for _, size in loss_by_tool(trajectory, masks))


def loss_by_tool(
    trajectory: Trajectory, masks: Mapping[int, str] = _NONE
) -> Iterator[tuple[str, int]]:
    """(tool, characters) of each turn that carries loss; turns of several tools count for the
    first, those without calls for `says`.
    """
    # as in the rows that will be written
    without = turns_without_loss(trajectory, masks)

    for index, turn in enumerate(trajectory.turns):
        if index not in without:
            yield turn.tool_calls[0].name if turn.tool_calls else "says", characters(turn)


def traits(
    trajectory: Trajectory, task: Task | None, *, easy: bool, recovered: bool
) -> dict[str, Hashable]:
    """By what the composition of a selection is told: method, length, refusals, how easy the task
    is, whether it is a recovery.
    """
    count = len(trajectory.turns)
    turns = next((f"up to {most}" for most in TURN_BUCKETS if count <= most), None)

    return {
        "synthesizer": trajectory.synthesizer,
        "turns": turns or f"over {TURN_BUCKETS[-1]}",
        "refusal": None if task is None or task.check is None else bool(task.check.refusals),
        "easy task": easy,
        "recovery": recovered,
    }
