"""Which steps of a task's trials hold an act that is not tested there yet.

Trials of one policy fail by the same act again and again. A task's rows choose and reject an act
once, so a second test of it buys the same pair anew, while acts that nobody tested stay without.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from synth.schemas import Trajectory
from synth.text.transcript.acts import act_digest

Listed = Mapping[str, tuple[Trajectory, Iterable[int]]]
"""Trajectory -> the trial, and its turns in the order in which they are proposed."""


def first_acts(listed: Listed, most: int, per_act: int) -> Mapping[str, frozenset[int]]:
    """Trajectory -> at most `most` of its turns, such that no act is tested at more than `per_act`
    turns of its task; earlier trials come first. Outcomes of tests are never looked at.
    """
    seen: defaultdict[str, Counter[str]] = defaultdict(Counter)
    taken = dict[str, frozenset[int]]()

    for identity, (trial, turns) in listed.items():
        tested, chosen = seen[trial.task_id], list[int]()
        for turn in turns:
            act = act_digest(trial.turns[turn])
            if len(chosen) < most and tested[act] < per_act:
                tested[act] += 1
                chosen.append(turn)

        taken[identity] = frozenset(chosen)

    return taken
