"""Turns that a trajectory could have done without: regressions, blind retries, redundant reads,
cycles.

After AgentLens (arXiv 2605.12925), whose rules speak of files and stages of coding agents;
generalised to any tool set by state and action
keys, which is our definition. Whatever happens between two looks resets them: a re-read after a
change is no waste.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise

from synth.schemas.trajectory import Trajectory, Turn
from synth.topology.keys import TurnKeys

Detector = Callable[
    [Sequence[Turn], Sequence[TurnKeys], Sequence[str], Callable[[str], bool]], set[int]
]
"""(turns, keys, state before the first turn and after each, whether a tool changes something) ->
wasted turns.
"""
RETRIES = 3
LONGEST_CYCLE = 4


def wasted(
    trajectory: Trajectory, keys: Sequence[TurnKeys], effectful: Callable[[str], bool]
) -> dict[str, list[int]]:
    """Kind -> indices of wasted turns, for the kinds that were found; a turn may be of several
    kinds.
    """
    turns = [turn for turn in trajectory.turns if turn.sampled_by != "canned"]
    states = _world_states(trajectory.opening_state_key, turns, effectful)
    found = {kind: detect(turns, keys, states, effectful) for kind, detect in DETECTORS.items()}
    return {
        kind: sorted(turns[at].index for at in places) for kind, places in found.items() if places
    }


def waste_share(found: Mapping[str, Sequence[int]], turns: int) -> float:
    """Distinct wasted turns over all turns: kinds that overlap are not summed."""
    return len({at for places in found.values() for at in places}) / turns if turns else 0.0


def _world_states(
    opening: str | None, turns: Sequence[Turn], effectful: Callable[[str], bool]
) -> list[str]:
    """The world's logical state before the first turn and after each; without keys of the world, a
    number that every effectful call
    that was not refused raises.
    """
    if opening is not None and all(turn.state_key is not None for turn in turns):
        return [opening, *(str(turn.state_key) for turn in turns)]
    states, changes = ["0"], 0
    for turn in turns:
        failed = {o.call_id for o in turn.observations if o.error}
        changes += any(
            effectful(call.name) and call.call_id not in failed for call in turn.tool_calls
        )
        states.append(str(changes))
    return states


def regressions(
    turns: Sequence[Turn],
    keys: Sequence[TurnKeys],
    states: Sequence[str],
    effectful: Callable[[str], bool],
) -> set[int]:
    """Turns between leaving a state of the world and being back in it: what they changed was
    undone.
    """
    last: dict[str, int] = {}
    edges = [0] * (len(states) + 1)  # how many ways back begin less those that end at each turn
    for at, state in enumerate(states):
        if at - last.get(state, at) > 1:
            edges[last[state]] += 1
            edges[at] -= 1
        last[state] = at
    return {
        at
        for at, under_way in enumerate(accumulate(edges))
        if under_way and states[at + 1] != states[at]
    }


def blind_retries(
    turns: Sequence[Turn],
    keys: Sequence[TurnKeys],
    states: Sequence[str],
    effectful: Callable[[str], bool],
) -> set[int]:
    """Of three and more equal actions in a row, answered the same, all but two."""
    found: set[int] = set()
    run = 1
    for at in range(1, len(keys)):
        run = run + 1 if keys[at].turn == keys[at - 1].turn else 1
        if run >= RETRIES:
            found.add(at)
    return found


def redundant_reads(
    turns: Sequence[Turn],
    keys: Sequence[TurnKeys],
    states: Sequence[str],
    effectful: Callable[[str], bool],
) -> set[int]:
    """Reads that were made before, with the same answer, while nothing changed in between."""
    found: set[int] = set()
    seen: set[str] = set()
    for at, turn in enumerate(turns):
        if states[at] != states[at - 1] if at else False:
            seen.clear()
        if not turn.tool_calls or any(effectful(call.name) for call in turn.tool_calls):
            continue
        if keys[at].turn in seen:
            found.add(at)
        seen.add(keys[at].turn)
    return found


def cycles(
    turns: Sequence[Turn],
    keys: Sequence[TurnKeys],
    states: Sequence[str],
    effectful: Callable[[str], bool],
) -> set[int]:
    """Patterns of two to four turns that follow one another at least twice, answered the same: all
    but the first of them.
    """
    found: set[int] = set()
    actions = [key.turn for key in keys]
    for length in range(2, LONGEST_CYCLE + 1):
        for at in range(length, len(actions) - length + 1):
            pattern = actions[at : at + length]
            if pattern == actions[at - length : at] and any(
                one != other for one, other in pairwise(pattern)
            ):
                found.update(range(at, at + length))
    return found


DETECTORS: Mapping[str, Detector] = {
    "regression": regressions,
    "blind_retry": blind_retries,
    "redundant_read": redundant_reads,
    "cycle": cycles,
}
