"""Turns that a trajectory could have done without: regressions, blind retries, redundant reads,
cycles.

After AgentLens (arXiv 2605.12925), whose rules speak of files and stages of coding agents;
generalised to any tool set by state and action keys, which is our definition. Whatever happens
between two looks resets them: a re-read after a change is no waste.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise

from synth.schemas import Trajectory
from synth.text.provenance.effect import effectful_by_name
from synth.topology.keys import TurnKeys

RETRIES = 3
LONGEST_CYCLE = 4


def wasted(trajectory: Trajectory, keys: Sequence[TurnKeys]) -> dict[str, list[int]]:
    """Kind -> indices of wasted turns, for the kinds that were found; a turn may be of several
    kinds.
    """
    states = _states(trajectory.opening_state_key, keys)

    # equal keys: the same action with the same answer
    turns = [key.turn for key in keys]
    calls = [[call.name for call in key.taken.tool_calls] for key in keys]
    reads = [bool(names) and not any(map(effectful_by_name, names)) for names in calls]
    found = {
        "regression": regressions(states),
        "blind_retry": _blind_retries(turns),
        "redundant_read": _redundant_reads(turns, reads, states),
        "cycle": _cycles(turns),
    }

    return {
        kind: sorted(keys[at].taken.index for at in places)
        for kind, places in found.items()
        if places
    }


def waste_share(found: Mapping[str, Sequence[int]], turns: int) -> float:
    """Distinct wasted turns over all turns: kinds that overlap are not summed."""
    return len({at for places in found.values() for at in places}) / turns if turns else 0.0


def _states(opening: str | None, keys: Sequence[TurnKeys]) -> list[str]:
    """The logical state of the environment before the first turn and after each, one more than
    turns.

    Without keys of the environment, a number that every effectful call that was not refused raises:
    then nothing can be undone, and no turn is a regression.
    """
    # keys count where the environment gives all of them: some alone cannot be compared
    given = [opening, *(key.taken.state_key for key in keys)]
    known = [state for state in given if state is not None]
    if len(known) == len(given):
        return known

    states, changes = ["0"], 0
    for turn in (key.taken for key in keys):
        failed = {o.call_id for o in turn.observations if o.error}
        done = [call.name for call in turn.tool_calls if call.call_id not in failed]
        changes += any(map(effectful_by_name, done))
        states.append(str(changes))

    return states


def regressions(states: Sequence[str]) -> set[int]:
    """Turns between leaving a state of the environment and being back in it: what they changed was
    undone.

    `states` has one more than there are turns. Those turns lead from one state to another of the
    same strongly connected component of the walk.
    """
    import networkx

    # between two looks at a state the walk is a cycle, and all it passes is one component
    walk = networkx.DiGraph(pairwise(states))
    component: dict[str, int] = {}
    for number, members in enumerate(networkx.strongly_connected_components(walk)):
        component |= dict.fromkeys(members, number)

    return {
        at
        for at, (one, other) in enumerate(pairwise(states))
        if one != other and component[one] == component[other]
    }


def _blind_retries(turns: Sequence[str]) -> set[int]:
    """Of three and more equal actions in a row, answered the same, all but two."""
    found: set[int] = set()
    began = 0

    for _, run in groupby(turns):
        ended = began + len(list(run))
        found.update(range(began + RETRIES - 1, ended))
        began = ended

    return found


def _redundant_reads(
    turns: Sequence[str], reads: Sequence[bool], states: Sequence[str]
) -> set[int]:
    """Reads that were made before, with the same answer, while nothing changed in between."""
    found: set[int] = set()
    seen: set[str] = set()

    for at, (turn, read) in enumerate(zip(turns, reads, strict=True)):
        if at and states[at] != states[at - 1]:
            seen.clear()  # the turn before changed something: what was read may be stale

        if read and turn in seen:
            found.add(at)
        elif read:
            seen.add(turn)

    return found


def _cycles(turns: Sequence[str]) -> set[int]:
    """Patterns of two to four turns that follow one another at least twice, answered the same: all
    but the first of them.
    """
    found: set[int] = set()
    for length in range(2, LONGEST_CYCLE + 1):
        for at in range(length, len(turns) - length + 1):
            pattern = turns[at : at + length]
            if pattern == turns[at - length : at] and len(set(pattern)) > 1:
                found.update(range(at, at + length))

    return found
