"""Answers that are kept too long, and state that is shared where it should not be."""

from itertools import combinations
from random import Random

from synth.envs.repo.kinds.change import Found, TreeChange, breaking
from synth.envs.repo.kinds.hidden.partly import partly_hidden
from synth.envs.repo.kinds.states.kept import first_part_alone, past_a_change
from synth.envs.repo.kinds.states.shared import (
    default_made_once,
    not_forgotten,
    one_for_all_instances,
    still_the_callers,
)
from synth.envs.repo.source.tree import Tree

PATTERNS = (
    first_part_alone,
    past_a_change,
    default_made_once,
    one_for_all_instances,
    still_the_callers,
    not_forgotten,
)
_MOST_PAIRS = 200


@partly_hidden
@breaking("stale_state")
def stale_state(tree: Tree, random: Random) -> Found:
    """One pattern at one place, or at two of one file."""
    for pattern in PATTERNS:
        found = list(pattern(tree))
        yield from found
        pairs = [
            one for one in combinations(found, 2) if one[0].edits.keys() == one[1].edits.keys()
        ]
        random.shuffle(pairs)
        yield from (_both(*one) for one in pairs[:_MOST_PAIRS] if pattern is not past_a_change)


def _both(one: TreeChange, other: TreeChange) -> TreeChange:
    edits = {path: [*edits, *other.edits[path]] for path, edits in one.edits.items()}
    names = tuple(dict.fromkeys((*one.functions, *other.functions)))
    return TreeChange(edits=edits, functions=names, pattern=f"{one.pattern}, twice")
