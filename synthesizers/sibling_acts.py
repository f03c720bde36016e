"""What other trials of a task did at a state that a failed trial was in, and passed: the steps that
a team's own logs suggest. Continuations decide; outcomes of trials are no label.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synth.engine.numbers import counted_noun
from synth.engine.study.alternatives import Proposal
from synth.ledger.ledger import StoredLedger
from synth.ledger.typed import read
from synth.rollout.start import recorded_act
from synth.schemas import GUIDED, Trajectory
from synth.synthesizers.relive import RELIVED, Unlived
from synth.topology.partings.states import shared_states
from synth.topology.partings.trials import mixed_groups

TRIALS = "trials"
"""As a source of alternatives: the other trials of the task."""
SIBLING = "sibling"
"""The rule that proposes such a step."""
Siblings = Mapping[str, Mapping[int, Sequence[str]]]
"""Failed trial -> turn -> the trials that did there what passed more often."""


def siblings(ledger: StoredLedger) -> Siblings:
    """One failed trial for each state at which acts passed unlike: the prefix is the same in all of
    them. The smallest ids stand for an act. Logs that were done again in their world stand there.
    """
    found: defaultdict[str, dict[int, Sequence[str]]] = defaultdict(dict)
    logs = {row.subject_id for row in read(ledger, Unlived, [RELIVED])}

    for group in mixed_groups(ledger).values():
        trials = [one for one in group if one.identity not in logs]
        passed = {trial.identity for trial in trials if trial.passed}
        for state in shared_states(trials):
            parting = state.parting(passed)
            if parting is not None:
                failed = min(one for one in parting.worse.trials if one not in passed)
                better = [one for one in parting.better.trials if one in passed]
                found[failed][parting.depth] = sorted(better)

    return {identity: dict(sorted(turns.items())) for identity, turns in sorted(found.items())}


def listed(found: Siblings) -> list[list[Any]]:
    """As inputs of a stage."""
    return [[one, *turn] for one, turns in found.items() for turn in turns.items()]


def sibling_act(trial: Trajectory, turn: int) -> Proposal:
    """What a trial did at a turn, by its own policy."""
    act = recorded_act(trial.turns[turn]).turn
    return Proposal(act, trial.model or trial.policy, trial.authorship)


def guided_act(retry: Trajectory, turn: int) -> Proposal:
    """What a retry did at its pivot, by guidance that a continuation does not have."""
    act = recorded_act(retry.turns[turn]).turn
    return Proposal(act, f"{retry.role}{GUIDED}", retry.authorship)


def price(tokens: int, confirmed: int) -> Iterator[str]:
    """What a confirmed act has cost; nothing where no model was asked."""
    if tokens:
        each = f"{tokens / confirmed:,.0f} per confirmed one" if confirmed else "none is confirmed"
        yield f"{counted_noun(tokens, 'token')} for tests of acts, {each}"
