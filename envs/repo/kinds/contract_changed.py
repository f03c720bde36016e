"""A function's promise changed where it is defined and at most of its callers, or at some callers
alone.
"""

from collections.abc import Callable, Iterator
from itertools import combinations
from random import Random

from synth.envs.repo.kinds.algorithms.order import without_keyword
from synth.envs.repo.kinds.change import Found, TreeChange, breaking, changed
from synth.envs.repo.kinds.contracts.contract import Contract, Contracts
from synth.envs.repo.kinds.contracts.parameters import (
    counted_from_one,
    swapped_arguments,
    swapped_parameters,
)
from synth.envs.repo.kinds.contracts.values import changed_values, swapped_pair
from synth.envs.repo.kinds.hidden.partly import partly_hidden
from synth.envs.repo.source.text import Edit
from synth.envs.repo.source.tree import Call, Function, Tree

PROMISES: tuple[Callable[[Function], Contracts], ...] = (
    changed_values,
    swapped_pair,
    swapped_parameters,
    counted_from_one,
)


@partly_hidden
@breaking("contract_changed")
def contract_changed(tree: Tree, random: Random) -> Found:
    """The definition and all callers but one differ; or several callers of a function that stayed
    as it was.
    """
    for function in tree.functions:
        calls = tree.calls(function)
        for promise in PROMISES:
            for contract in promise(function):
                yield from _brought_along(function, contract, calls)
        yield from _callers_alone(function, calls)


def _brought_along(
    function: Function, contract: Contract, calls: tuple[Call, ...]
) -> Iterator[TreeChange]:
    """One caller forgotten where there are several; else the only one is brought along."""
    edits = [(call.caller, edit) for call in calls if (edit := contract.at_call(call))]
    callers = list(dict.fromkeys(caller for caller, _ in edits))
    forgotten: list[Function | None] = [*callers] if len(callers) > 1 else [None] * len(callers)
    if len(edits) < len(calls) or function.node.name.startswith("__"):
        return
    for left_out in forgotten:
        brought = [(caller, edit) for caller, edit in edits if caller != left_out]
        yield changed(
            contract.change, [*((function, one) for one in contract.definition), *brought]
        )


def _callers_alone(function: Function, calls: tuple[Call, ...]) -> Iterator[TreeChange]:
    swapped = [(one.caller, edit) for one in calls if (edit := swapped_arguments(one))]
    yield from _pairs("arguments turned round", swapped)
    names = sorted({key.arg for one in calls for key in one.node.keywords if key.arg})
    for name in names:
        dropped = [
            (one.caller, without_keyword(one.caller, one.node, key))
            for one in calls
            for key in one.node.keywords
            if key.arg == name
        ]
        yield from _pairs("an option not handed on", dropped)


def _pairs(pattern: str, edits: list[tuple[Function, Edit]]) -> Iterator[TreeChange]:
    """Two callers wrong in the same way."""
    for one, other in combinations(edits, 2):
        if one[0] != other[0]:
            yield changed(pattern, [one, other])
