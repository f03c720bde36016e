"""Walks: the same for the same seed, writes before talk, nothing done twice in vain, refusals
seen.
"""

import asyncio
from collections import Counter
from random import Random

from synth.schemas.trajectory import Observation
from synth.synthesizers.reverse.exploration import (
    CHANGING,
    OTHER,
    Experience,
    Walk,
    explored,
    signature_of,
    template,
    tool_of,
)
from tests.synthesizers.reverse.shelf_world import SPEC, Shelf, ShelfConfig, call


def walked(
    seed: int = 1, steps: int = 20, experience: Experience | None = None, **config: object
) -> Walk:
    shelf = Shelf(ShelfConfig(**config))  # type: ignore[arg-type]
    return asyncio.run(explored(shelf, SPEC.facts, steps, Random(seed), experience or Experience()))


def test_the_same_seed_walks_the_same_way_and_another_one_does_not() -> None:
    assert walked(1).turns == walked(1).turns
    assert walked(1).turns != walked(2).turns


def test_what_did_nothing_is_not_done_again() -> None:
    for seed in range(20):
        idle = Counter(signature_of(step.turn) for step in walked(seed).steps if not step.changed)
        assert not [deed for deed, count in idle.items() if count > 1]


def test_operations_are_changes_that_a_goal_can_be_about_and_refusals() -> None:
    kinds = Counter[str]()
    for seed in range(20):
        walk = walked(seed)
        for operation in walk.operations:
            assert operation.denied == "S1" or set(operation.changed) <= {
                p for p in walk.start if p.startswith("items/")
            }
            assert (operation.denied is None) == bool(operation.changed)
            kinds[operation.denied or tool_of(operation.turn)] += 1
        assert not [
            step for step in walk.steps if tool_of(step.turn) == "ring" and not step.changed
        ], "a bell changes what is free"
    assert kinds.keys() == {"move", "paint", "S1"}


def test_tools_that_change_the_world_are_drawn_ten_times_as_readily_as_talk() -> None:
    experience = Experience()
    for number in range(3):
        experience.note(call("paint"), (Observation(f"{number}"),), {"changed"})
        experience.note(call("look"), (Observation("abc" * number),), frozenset())
    assert (
        experience.weight("paint"),
        experience.weight("look"),
        experience.weight("never tried"),
    ) == (CHANGING, OTHER, CHANGING)


def test_a_tool_that_keeps_doing_nothing_sinks_to_a_tenth() -> None:
    experience = Experience()
    experience.note(call("paint"), (Observation("Done."),), {"changed"})
    for number in range(99):
        experience.note(call("paint"), (Observation(f"Order O-{number} is shipped."),), frozenset())
    assert experience.weight("paint") == 1.0, (
        "98 of 100 were no-ops: the first answer of its kind was none, and a tenth stays"
    )


def test_answers_that_differ_in_identifiers_alone_are_alike() -> None:
    assert template([Observation("order O-123 is  shipped, 4 items")]) == template(
        [Observation("order O-9 is shipped, 77 items")]
    )
    assert template([Observation("order is shipped")]) != template(
        [Observation("order is pending")]
    )


def test_what_only_ends_the_walk_is_learned_once() -> None:
    experience = Experience()
    ended = [
        any(tool_of(step.turn) == "finish" for step in walked(seed, experience=experience).steps)
        for seed in range(30)
    ]
    assert sum(ended) == 1
