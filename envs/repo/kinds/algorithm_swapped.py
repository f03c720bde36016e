"""An implementation swapped for a simpler one, in one function or by one idea in two neighbours."""

from collections.abc import Iterator
from itertools import combinations
from random import Random

from synth.envs.repo.kinds.algorithms import loops, narrow, order
from synth.envs.repo.kinds.algorithms.rewriting import Idea, Rewriting
from synth.envs.repo.kinds.change import Found, TreeChange, breaking, changed, changed_in
from synth.envs.repo.kinds.hidden.partly import partly_hidden
from synth.envs.repo.source.tree import Function, Tree

IDEAS: tuple[Idea, ...] = (
    loops.one_round,
    loops.first_is_best,
    loops.last_alone,
    loops.ended_by_skip,
    loops.never_noted,
    order.ties_turned,
    order.key_forgotten,
    order.left_unsorted,
    order.order_lost,
    loops.one_deep,
    narrow.first_type_alone,
    narrow.empty_is_none,
    narrow.first_occurrence_alone,
    narrow.near_namesake,
    narrow.cut_toward_zero,
)
_MOST_PAIRS = 400
"""Of one idea: neighbours are many in a large module."""


@partly_hidden
@breaking("algorithm_swapped")
def algorithm_swapped(tree: Tree, random: Random) -> Found:
    """One rewriting of one function, or two of the same idea in functions of one file."""
    for idea in IDEAS:
        found = [(one, made) for one in tree.functions for made in idea(one)]
        yield from (changed_in(one, made.idea, made.edits) for one, made in found)
        pairs = list(combinations(found, 2))
        random.shuffle(pairs)
        yield from list(_neighbours(pairs))[:_MOST_PAIRS]


def _neighbours(
    pairs: list[tuple[tuple[Function, Rewriting], tuple[Function, Rewriting]]],
) -> Iterator[TreeChange]:
    for (one, first), (other, second) in pairs:
        if one.source is other.source and one != other:
            placed = [(one, edit) for edit in first.edits] + [
                (other, edit) for edit in second.edits
            ]
            yield changed(f"{first.idea}, twice", placed)
